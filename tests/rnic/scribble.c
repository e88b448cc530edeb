// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * scribble: an application that writes to its queues what it likes, while the
 * kernel reads them. libsiw maps the rings; this finds the mappings, and puts
 * work requests there that are random in part or as a whole, with the doorbell
 * rung in between. Each connection is given up when it has ended, at the latest
 * after a while, and a new one made.
 *
 * usage: scribble server|client ADDRESS PORT SECONDS SEED ENTRIES
 *
 * Ends after so many seconds, or so many entries and a few connections.
 * Prints how many connections and how many entries there were.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/siw-abi.h>

#define DEPTH		32
#define MEM_SIZE	65536
#define RINGS		8
#define TURN_MS		150	/* of one connection */
#define LONG_TURN_MS	1500	/* of one that goes on while it is flushed */
#define CONNECTIONS	25	/* at least: a few fail at the server */

struct ring {
	unsigned char *mem;
	size_t size;
};

static char mem[MEM_SIZE];
static unsigned long connections, entries;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static int find_rings(struct ring *rings)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t from, to;
	char line[512];
	int n = 0;

	while (maps && n < RINGS && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2)
			continue;
		rings[n++] = (struct ring){ (void *)from, to - from };
	}
	if (maps)
		fclose(maps);
	return n;
}

/* As libsiw rings it */
static void doorbell(struct ibv_qp *qp)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} req = {};
	struct ib_uverbs_post_send_resp resp;

	req.hdr.command = IB_USER_VERBS_CMD_POST_SEND;
	req.hdr.in_words = sizeof(req) / 4;
	req.hdr.out_words = sizeof(resp) / 4;
	req.cmd.response = (uintptr_t)&resp;
	req.cmd.qp_handle = qp->handle;
	req.cmd.wqe_size = sizeof(struct ibv_send_wr);
	if (write(qp->context->cmd_fd, &req, sizeof(req)) < 0)
		return;
}

static uint64_t wild(void)
{
	static const uint64_t values[] = { 0, 1, 80, 81, 4096, 65535, 65536,
		0x7fffffff, 0xffffffff, 0xffffffffffffffff };

	if (rand() & 1)
		return values[rand() % 10];
	return (uint64_t)rand() << 32 ^ rand();
}

/* Mostly a request that the device would take, with a field or two changed */
static void make_sqe(struct siw_sqe *sqe, const struct ibv_mr *mr)
{
	int i;

	memset(sqe, 0, sizeof(*sqe));
	sqe->id = rand();
	sqe->opcode = rand() % 4 ? rand() % 5 : rand();
	sqe->num_sge = rand() % 8 ? rand() % 4 : rand();
	sqe->rkey = rand() % 4 ? mr->rkey : wild();
	sqe->raddr = rand() % 4 ? (uintptr_t)mem : wild();
	for (i = 0; i < SIW_MAX_SGE; i++) {
		sqe->sge[i].laddr = (uintptr_t)mem + rand() % MEM_SIZE;
		sqe->sge[i].length = rand() % 8 ? rand() % 256U : wild();
		sqe->sge[i].lkey = rand() % 16 ? mr->lkey : wild();
	}
	sqe->flags = SIW_WQE_VALID | (rand() % 2 ? SIW_WQE_SIGNALLED : 0);
	if (!(rand() % 4))
		sqe->flags |= rand();
}

static void scribble(struct ring *ring, const struct ibv_mr *mr)
{
	struct siw_sqe sqe;
	size_t at;

	entries++;
	if (rand() % 4) {
		make_sqe(&sqe, mr);
		at = rand() % (ring->size / sizeof(sqe));
		memcpy(ring->mem + at * sizeof(sqe), &sqe, sizeof(sqe));
	} else if (rand() % 2) {
		/* A field, perhaps that of an entry being read */
		at = rand() % (ring->size / 4);
		((uint32_t *)ring->mem)[at] = wild();
	} else {
		at = rand() % ring->size;
		memset(ring->mem + at, rand(), rand() % (ring->size - at));
	}
}

static int in_error(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ||
	       attr.qp_state == IBV_QPS_ERR;
}

static void play(struct rdma_cm_id *id, const struct ibv_mr *mr)
{
	int n, stays = !(rand() % 4);
	struct ring rings[RINGS];
	uint64_t end;

	n = find_rings(rings);
	if (!n)
		exit(3);
	connections++;
	end = now_ms() + (stays ? LONG_TURN_MS : TURN_MS);
	while (now_ms() < end && (stays || !in_error(id->qp))) {
		int i;

		for (i = 0; i < 16; i++)
			scribble(&rings[rand() % n], mr);
		doorbell(id->qp);
	}
}

static struct ibv_mr *prepare(struct rdma_cm_id *id)
{
	struct ibv_mr *mr;
	int i;

	mr = ibv_reg_mr(id->pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	for (i = 0; mr && i < DEPTH; i++)
		rdma_post_recv(id, NULL, mem, 1024, mr);
	return mr;
}

static void set_up(struct rdma_addrinfo *hints, struct ibv_qp_init_attr *attr,
		   int server)
{
	memset(hints, 0, sizeof(*hints));
	hints->ai_port_space = RDMA_PS_TCP;
	hints->ai_flags = RAI_NUMERICHOST | (server ? RAI_PASSIVE : 0);
	memset(attr, 0, sizeof(*attr));
	attr->cap.max_send_wr = DEPTH;
	attr->cap.max_recv_wr = DEPTH;
	attr->cap.max_send_sge = 2;
	attr->cap.max_recv_sge = 2;
	attr->cap.max_inline_data = 64;
	attr->qp_type = IBV_QPT_RC;
}

/* Without waiting for the first: the kernel takes another until it is established. */
static int accept_twice(struct rdma_cm_id *id, struct rdma_conn_param *param,
			struct rdma_event_channel *channel)
{
	int err;

	if (!channel || rdma_migrate_id(id, channel))
		return -1;
	err = rdma_accept(id, param);
	rdma_accept(id, param);
	return err;
}

static void turn(struct rdma_cm_id *id, int server)
{
	struct rdma_conn_param param = {
		.initiator_depth = 4, .responder_resources = 4,
	};
	struct rdma_event_channel *channel = NULL;
	struct ibv_mr *mr = prepare(id);
	int err;

	if (!server) {
		err = rdma_connect(id, &param);
	} else if (rand() % 4) {
		err = rdma_accept(id, &param);
	} else {
		channel = rdma_create_event_channel();
		err = accept_twice(id, &param, channel);
	}
	if (mr && !err)
		play(id, mr);
	rdma_disconnect(id);
	if (mr)
		ibv_dereg_mr(mr);
	rdma_destroy_ep(id);
	if (channel)
		rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener = NULL, *id;
	struct rdma_addrinfo hints, *info;
	struct ibv_qp_init_attr attr;
	unsigned long count;
	uint64_t end;
	int server;

	if (argc != 7)
		return 2;
	server = !strcmp(argv[1], "server");
	end = now_ms() + atoi(argv[4]) * 1000ULL;
	srand(atoi(argv[5]));
	count = strtoul(argv[6], NULL, 10);
	set_up(&hints, &attr, server);
	if (rdma_getaddrinfo(argv[2], argv[3], &hints, &info))
		return 2;
	if (server && (rdma_create_ep(&listener, info, NULL, &attr) ||
		       rdma_listen(listener, 4)))
		return 2;
	while (now_ms() < end && (entries < count || connections < CONNECTIONS)) {
		/* librdmacm leaves the last connection's queues in it */
		struct ibv_qp_init_attr fresh = attr;

		if (server ? rdma_get_request(listener, &id) :
			     rdma_create_ep(&id, info, NULL, &fresh))
			continue;
		turn(id, server);
		printf("%lu connections, %lu entries\n", connections, entries);
		fflush(stdout);
	}
	return 0;
}
