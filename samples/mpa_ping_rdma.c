// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The messages of RDMAP (RFC 5040, on DDP, RFC 5041) that belong to enhanced
 * startup: those without octets, and Terminate. Each is a segment of its own.
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uio.h>

#include "mpa_ping.h"

/* The first octet of each segment; the rest of it is reserved */
#define DDP_TAGGED		0x80
#define DDP_LAST		0x40
#define DDP_VERSION		0x01
#define DDP_MASK		0xc3

/* The second */
#define RDMAP_VERSION		0x40
#define RDMAP_WRITE		0x0
#define RDMAP_READ_REQUEST	0x1
#define RDMAP_READ_RESPONSE	0x2
#define RDMAP_SEND		0x3
#define RDMAP_TERMINATE		0x7
#define RDMAP_MASK		0xcf

#define TERMINATE_LLP_MPA	0x20	/* layer and error type */

enum {
	QN_SEND,
	QN_READ_REQUEST,
	QN_TERMINATE,
};

/* RFC 5041 section 4.2 */
struct ddp_tagged {
	u8	ddp;
	u8	rdmap;
	__be32	stag;
	__be64	to;
} __packed;

/* Section 4.3; the first word is RDMAP's, which does not use it here */
struct ddp_untagged {
	u8	ddp;
	u8	rdmap;
	__be32	reserved;
	__be32	qn;
	__be32	msn;
	__be32	mo;
} __packed;

/* RFC 5040 section 4.4 */
struct rdmap_read_request {
	struct ddp_untagged	untagged;
	__be32			sink_stag;
	__be64			sink_to;
	__be32			size;
	__be32			source_stag;
	__be64			source_to;
} __packed;

/* Section 4.8, without a copy of what was wrong */
struct rdmap_terminate {
	struct ddp_untagged	untagged;
	u8			layer;
	u8			code;
	__be16			headers;
} __packed;

union rdma_message {
	struct ddp_tagged		tagged;
	struct ddp_untagged		untagged;
	struct rdmap_read_request	read;
	struct rdmap_terminate		terminate;
	u8				octets[PING_RDMA_MAX];
};

/* By the bits of MPA_RTR_* */
const char * const ping_rtr_names[PING_RTR_KINDS] = {
	"send", "write", "read",
};

/* Sending */

static union rdma_message *rdma_init(struct ping_rdma *msg, size_t len)
{
	static_assert(sizeof(union rdma_message) == PING_RDMA_MAX);

	memset(msg, 0, sizeof(*msg));
	msg->tx.hdr = msg->octets;
	msg->tx.hdr_len = len;
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, NULL, 0, 0);
	return (void *)msg->octets;
}

static void fill_tagged(struct ping_rdma *msg, u8 opcode, __be32 stag,
			__be64 to)
{
	union rdma_message *m = rdma_init(msg, sizeof(m->tagged));

	m->tagged.ddp = DDP_TAGGED | DDP_LAST | DDP_VERSION;
	m->tagged.rdmap = RDMAP_VERSION | opcode;
	m->tagged.stag = stag;
	m->tagged.to = to;
}

/* The first message of a queue */
static union rdma_message *fill_untagged(struct ping_rdma *msg, size_t len,
					 u8 opcode, u32 qn)
{
	union rdma_message *m = rdma_init(msg, len);

	m->untagged.ddp = DDP_LAST | DDP_VERSION;
	m->untagged.rdmap = RDMAP_VERSION | opcode;
	m->untagged.qn = cpu_to_be32(qn);
	m->untagged.msn = cpu_to_be32(1);
	return m;
}

/* The RTR of a kind. There are peers that take no STag of 0. */
void ping_rdma_rtr(struct ping_rdma *msg, u8 kind)
{
	union rdma_message *m;

	switch (kind) {
	case MPA_RTR_SEND:
		fill_untagged(msg, sizeof(m->untagged), RDMAP_SEND, QN_SEND);
		break;
	case MPA_RTR_WRITE:
		fill_tagged(msg, RDMAP_WRITE, cpu_to_be32(1), 0);
		break;
	case MPA_RTR_READ:
		m = fill_untagged(msg, sizeof(m->read), RDMAP_READ_REQUEST,
				  QN_READ_REQUEST);
		m->read.source_stag = cpu_to_be32(1);
		break;
	}
}

void ping_rdma_terminate(struct ping_rdma *msg, enum mpa_error error)
{
	union rdma_message *m;

	m = fill_untagged(msg, sizeof(m->terminate), RDMAP_TERMINATE,
			  QN_TERMINATE);
	m->terminate.layer = TERMINATE_LLP_MPA;
	m->terminate.code = error;
}

/* Receiving */

/* The octets of a ULPDU; false if it is too long for any of these messages. */
static bool rdma_get(const struct mpa_ulpdu *ulpdu, union rdma_message *m)
{
	size_t pos = 0;
	u32 i;

	memset(m, 0, sizeof(*m));
	if (ulpdu->len > sizeof(*m))
		return false;
	for (i = 0; i < ulpdu->nr_frags; i++) {
		memcpy(m->octets + pos, ulpdu->frag[i].iov_base,
		       ulpdu->frag[i].iov_len);
		pos += ulpdu->frag[i].iov_len;
	}
	return true;
}

/* Reserved bits may have any value. */
static bool is_control(const union rdma_message *m, u8 ddp, u8 opcode)
{
	return (m->tagged.ddp & DDP_MASK) == (ddp | DDP_LAST | DDP_VERSION) &&
	       (m->tagged.rdmap & RDMAP_MASK) == (RDMAP_VERSION | opcode);
}

static bool is_untagged(const union rdma_message *m, u8 opcode, u32 qn)
{
	return is_control(m, 0, opcode) && be32_to_cpu(m->untagged.qn) == qn &&
	       be32_to_cpu(m->untagged.msn) == 1 && !m->untagged.mo;
}

/*
 * Which kind of RTR is that: MPA_RTR_*, or 0 for none. The STag and offset of a
 * tagged message without octets must not be checked (RFC 5041 section 5.2).
 */
u8 ping_rdma_rtr_kind(const struct mpa_ulpdu *ulpdu)
{
	union rdma_message m;

	if (!rdma_get(ulpdu, &m))
		return 0;
	if (ulpdu->len == sizeof(m.untagged) &&
	    is_untagged(&m, RDMAP_SEND, QN_SEND))
		return MPA_RTR_SEND;
	if (ulpdu->len == sizeof(m.tagged) &&
	    is_control(&m, DDP_TAGGED, RDMAP_WRITE))
		return MPA_RTR_WRITE;
	if (ulpdu->len == sizeof(m.read) && !m.read.size &&
	    is_untagged(&m, RDMAP_READ_REQUEST, QN_READ_REQUEST))
		return MPA_RTR_READ;
	return 0;
}

/* The answer to an RTR by RDMA Read */
void ping_rdma_response(struct ping_rdma *msg, const struct mpa_ulpdu *request)
{
	union rdma_message m;

	rdma_get(request, &m);
	fill_tagged(msg, RDMAP_READ_RESPONSE, m.read.sink_stag,
		    m.read.sink_to);
}

/* Is that the answer to an RTR by RDMA Read? */
bool ping_rdma_is_response(const struct mpa_ulpdu *ulpdu)
{
	union rdma_message m;

	return rdma_get(ulpdu, &m) && ulpdu->len == sizeof(m.tagged) &&
	       is_control(&m, DDP_TAGGED, RDMAP_READ_RESPONSE);
}

/* The code of MPA with which the peer ends the connection, if this does */
enum mpa_error ping_rdma_terminated(const struct mpa_ulpdu *ulpdu)
{
	union rdma_message m;

	if (!rdma_get(ulpdu, &m) || ulpdu->len < sizeof(m.terminate) ||
	    !is_untagged(&m, RDMAP_TERMINATE, QN_TERMINATE) ||
	    m.terminate.layer != TERMINATE_LLP_MPA)
		return MPA_ERR_NONE;
	return m.terminate.code;
}
