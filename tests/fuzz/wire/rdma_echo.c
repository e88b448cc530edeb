// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rdma_echo: a server over RDMA devices, for peers that attack it. It sends back
 * each message; each connection has a thread. It ends by a signal.
 *
 * usage: rdma_echo PORT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define DEPTH	4
#define SIZE	4096

static void echo(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_wc wc;

	while (rdma_get_recv_comp(id, &wc) > 0 && !wc.status) {
		char *mem = (char *)(uintptr_t)wc.wr_id;

		if (rdma_post_send(id, NULL, mem, wc.byte_len, mr, 0) ||
		    rdma_get_send_comp(id, &wc) < 1 || wc.status ||
		    rdma_post_recv(id, mem, mem, SIZE, mr))
			return;
	}
}

static void *serve(void *arg)
{
	struct rdma_conn_param param = {
		.responder_resources = 4, .initiator_depth = 4,
	};
	char *mem = calloc(DEPTH, SIZE);
	struct rdma_cm_id *id = arg;
	struct ibv_mr *mr = NULL;
	int i;

	if (mem)
		mr = ibv_reg_mr(id->pd, mem, DEPTH * SIZE,
				IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_WRITE);
	if (mr) {
		for (i = 0; i < DEPTH; i++)
			rdma_post_recv(id, mem + i * SIZE, mem + i * SIZE,
				       SIZE, mr);
		if (!rdma_accept(id, &param))
			echo(id, mr);
		rdma_disconnect(id);
		ibv_dereg_mr(mr);
	}
	rdma_destroy_ep(id);
	free(mem);
	return NULL;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE,
	}, *info;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_cm_id *listener, *id;
	pthread_t thread;

	if (argc != 2 || rdma_getaddrinfo(NULL, argv[1], &hints, &info) ||
	    rdma_create_ep(&listener, info, NULL, &attr) ||
	    rdma_listen(listener, 64))
		return 2;
	for (;;) {
		if (rdma_get_request(listener, &id))
			continue;
		if (pthread_create(&thread, NULL, serve, id))
			rdma_destroy_ep(id);
		else
			pthread_detach(thread);
	}
}
