// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The messages of RDMAP that enhanced startup uses: those without payload, and
 * Terminate. Each is one DDP segment, and the first of its queue.
 */
#include "../rnic/ddp_wire.c"	/* an object file can be in one module only */

#include <linux/uio.h>

#include "mpa_ping.h"

/* Of DDP and RDMAP, with MPA Rev 1 and Rev 2 */
#define VERSION		1

/**
 * struct rdma_message - a received RDMAP message
 * @hdr: its header
 * @len: number of octets after the header
 * @octets: the whole message
 * @rest: the octets after the header
 */
struct rdma_message {
	struct rdmap_hdr	hdr;
	u32			len;
	u8			octets[PING_RDMA_MAX];
	const u8		*rest;
};

/* Sending */

static struct rdmap_hdr header(u8 opcode)
{
	return (struct rdmap_hdr) {
		.last		= true,
		.tagged		= ops[opcode].tagged,
		.ddp_version	= VERSION,
		.version	= VERSION,
		.opcode		= opcode,
		.qn		= ops[opcode].qn,
		.msn		= 1,
	};
}

static void rdma_init(struct ping_rdma *msg, const struct rdmap_hdr *hdr)
{
	memset(msg, 0, sizeof(*msg));
	msg->tx.hdr = msg->octets;
	msg->tx.hdr_len = rdmap_hdr_write(msg->octets, hdr);
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, NULL, 0, 0);
}

/* Build an RTR of @kind. Some peers do not accept an STag of 0. */
void ping_rdma_rtr(struct ping_rdma *msg, u8 kind)
{
	const struct rdmap_read read = { .source_stag = 1 };
	struct rdmap_hdr hdr = header(kind == MPA_RTR_READ ? RDMAP_OP_READ :
				      kind == MPA_RTR_WRITE ? RDMAP_OP_WRITE :
							      RDMAP_OP_SEND);

	if (kind == MPA_RTR_WRITE)
		hdr.stag = 1;
	rdma_init(msg, &hdr);
	if (kind == MPA_RTR_READ)
		msg->tx.hdr_len +=
			rdmap_read_req_write(msg->octets + msg->tx.hdr_len,
					     &read);
}

void ping_rdma_terminate(struct ping_rdma *msg, enum mpa_error error)
{
	const struct rdmap_hdr hdr = header(RDMAP_OP_TERMINATE);

	rdma_init(msg, &hdr);
	msg->tx.hdr_len += rdmap_term_write(msg->octets + msg->tx.hdr_len,
					    RDMAP_ERR_MPA(error), 0, NULL, 0);
}

/* Receiving */

/* False if the ULPDU is longer than any of these messages, or malformed */
static bool rdma_get(struct rdma_message *m, const struct mpa_ulpdu *ulpdu)
{
	u32 i, hdr_len, pos = 0;

	if (ulpdu->len > sizeof(m->octets))
		return false;
	for (i = 0; i < ulpdu->nr_frags; i++) {
		memcpy(m->octets + pos, ulpdu->frag[i].iov_base,
		       ulpdu->frag[i].iov_len);
		pos += ulpdu->frag[i].iov_len;
	}
	hdr_len = rdmap_hdr_read(&m->hdr, m->octets, ulpdu->len);
	m->len = ulpdu->len - hdr_len;
	m->rest = m->octets + hdr_len;
	if (!hdr_len || rdmap_hdr_check(&m->hdr, VERSION) || !m->hdr.last)
		return false;
	return m->hdr.tagged || (m->hdr.msn == 1 && !m->hdr.mo);
}

static bool is_empty_read(const struct rdma_message *m)
{
	struct rdmap_read read;

	if (m->len != RDMAP_READ_LEN)
		return false;
	rdmap_read_req_read(&read, m->rest);
	return !read.size;
}

/*
 * Kind of RTR, MPA_RTR_*, or 0 if the ULPDU is none. The STag and offset of a
 * tagged message without payload must not be checked (RFC 5041 section 5.2).
 */
u8 ping_rdma_rtr_kind(const struct mpa_ulpdu *ulpdu)
{
	struct rdma_message m;

	if (!rdma_get(&m, ulpdu))
		return 0;
	if (m.hdr.opcode == RDMAP_OP_READ && is_empty_read(&m))
		return MPA_RTR_READ;
	if (m.hdr.opcode == RDMAP_OP_WRITE && !m.len)
		return MPA_RTR_WRITE;
	if (m.hdr.opcode == RDMAP_OP_SEND && !m.len)
		return MPA_RTR_SEND;
	return 0;
}

/* Build the Response to the RTR by RDMA Read at @request. */
void ping_rdma_response(struct ping_rdma *msg, const struct mpa_ulpdu *request)
{
	struct rdmap_hdr hdr = header(RDMAP_OP_RESPONSE);
	struct rdma_message m;
	struct rdmap_read read;

	if (!rdma_get(&m, request))
		return;
	rdmap_read_req_read(&read, m.rest);
	hdr.stag = read.sink_stag;
	hdr.to = read.sink_to;
	rdma_init(msg, &hdr);
}

/* True if the ULPDU is the Response to an RTR by RDMA Read */
bool ping_rdma_is_response(const struct mpa_ulpdu *ulpdu)
{
	struct rdma_message m;

	return rdma_get(&m, ulpdu) && m.hdr.opcode == RDMAP_OP_RESPONSE &&
	       !m.len;
}

/* MPA error code of a Terminate from the peer, or 0 if the ULPDU is none */
enum mpa_error ping_rdma_terminated(const struct mpa_ulpdu *ulpdu)
{
	struct rdma_message m;
	bool swapped;
	u32 err;

	if (!rdma_get(&m, ulpdu) || m.hdr.opcode != RDMAP_OP_TERMINATE)
		return MPA_ERR_NONE;
	err = rdmap_term_read(m.rest, m.len, &swapped);
	if (err != RDMAP_ERR_MPA(rdmap_err_code(err)))
		return MPA_ERR_NONE;
	return rdmap_err_code(err);
}
