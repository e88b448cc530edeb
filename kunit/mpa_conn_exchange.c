// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Request and Reply of each role and revision, and the terms agreed on. */
#include <linux/unaligned.h>
#include "mpa_conn_test.h"

enum {
	EXCHANGE_PD	= 512,		/* most private data from Rev 1 on */
	EXCHANGE_ANY	= MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
};

/* A Request or Reply */
struct exchange_frame {
	u8	flags;		/* PEER_* */
	u8	rev;
	u32	len;		/* of the ULP's private data */
	u32	word;		/* enhanced data, in Rev 2 with S */
};

/* A startup */
struct exchange {
	bool			responder;	/* the connection's role */
	bool			dribble;	/* octet by octet */
	bool			no_crc;		/* net.mpa.crc is 0 */
	u32			flags;		/* besides those of frames */
	/* what the connection asks for; no RTR: not MPA_F_ENHANCED */
	struct mpa_enhanced	enhanced;
	struct exchange_frame	request;
	struct exchange_frame	reply;
	struct mpa_enhanced	terms;		/* agreed on */
};

static const struct exchange_frame *exchange_own(const struct exchange *e)
{
	return e->responder ? &e->reply : &e->request;
}

static const struct exchange_frame *exchange_peers(const struct exchange *e)
{
	return e->responder ? &e->request : &e->reply;
}

static bool exchange_enhanced(const struct exchange_frame *f)
{
	return f->rev == 2 && f->flags & PEER_S;
}

/* Private data of a frame; @pd: the ULP's. Returns its length. */
static u32 exchange_pd(u8 *to, const struct exchange_frame *f, const u8 *pd)
{
	u32 len = 0;

	if (exchange_enhanced(f)) {
		put_unaligned_be32(f->word, to);
		len = 4;
	}
	memcpy(to + len, pd, f->len);
	return len + f->len;
}

static u8 *exchange_buf(struct conn_test *t)
{
	u8 *buf = kunit_kmalloc(t->test, PEER_FRAME + MPA_PD_MAX_REV0,
				GFP_KERNEL);

	ASSERT_NOT_NULL(t, buf);
	return buf;
}

/* The peer sends its frame: in one piece, or octet by octet. */
static void exchange_send(struct conn_test *t, const struct exchange *e)
{
	const struct exchange_frame *f = exchange_peers(e);
	u8 *pd = exchange_buf(t);
	u32 len = exchange_pd(pd, f, t->pool + 1);

	len = mpa_peer_frame(t->buf, !e->responder, f->flags, f->rev, pd, len);
	if (e->dribble) {
		ASSERT_EQ(t, 0, mpa_peer_write_split(&t->peer, t->buf, len - 1,
						     1));
		conn_settle(&t->a);
		CONN_COUNT(t, &t->a, EV_REQUEST, 0);
		CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
		conn_write(t, t->buf + len - 1, 1);
	} else {
		conn_write(t, t->buf, len);
	}
}

/* The peer receives the connection's frame, in one segment. */
static void exchange_expect(struct conn_test *t, const struct exchange *e)
{
	const struct exchange_frame *f = exchange_own(e);
	u8 *pd = exchange_buf(t);
	u32 len = exchange_pd(pd, f, t->pool);

	conn_expect_frame(t, e->responder, f->flags, f->rev, pd, len);
	if (f->len <= EXCHANGE_PD)
		EXPECT_EQ(t, conn_segments(t), 1);
}

/* Expect the peer's frame in the callback. */
static void exchange_told(struct conn_test *t, const struct exchange *e)
{
	const struct exchange_frame *f = exchange_peers(e);
	const struct mpa_startup *s = &t->a.startup;
	u8 rtr = (f->word & BIT(30) ? MPA_RTR_SEND : 0) |
		 (f->word & BIT(15) ? MPA_RTR_WRITE : 0) |
		 (f->word & BIT(14) ? MPA_RTR_READ : 0);

	EXPECT_EQ(t, s->rev, f->rev);
	if (f->rev)
		EXPECT_EQ(t, s->markers, !!(f->flags & PEER_M));
	ASSERT_EQ(t, s->pd_len, f->len);
	EXPECT_EQ(t, memcmp(s->pd, t->pool + 1, f->len), 0);
	ASSERT_EQ(t, !!s->enhanced, exchange_enhanced(f));
	if (!s->enhanced)
		return;
	EXPECT_EQ(t, s->enhanced->ird, f->word >> 16 & 0x3fff);
	EXPECT_EQ(t, s->enhanced->ord, f->word & 0x3fff);
	EXPECT_EQ(t, s->enhanced->rtr, rtr);
}

static void exchange_attach(struct conn_test *t, const struct exchange *e)
{
	const struct exchange_frame *own = exchange_own(e);
	u32 flags = e->flags;

	if (own->rev && own->flags & PEER_M)
		flags |= MPA_F_MARKERS;
	if (e->enhanced.rtr)
		flags |= MPA_F_ENHANCED;
	if (e->enhanced.rtr || own->rev == 2)
		t->a.params.rev = MPA_REV_2;
	t->a.params.enhanced = e->enhanced;
	if (flags & MPA_F_REV0)
		t->a.params.pd_max = own->len;
	conn_attach(t, flags);
	if (e->no_crc)
		WRITE_ONCE(t->mn->crc, 0);
}

static void exchange_initiator(struct conn_test *t, const struct exchange *e)
{
	u32 max = EXCHANGE_PD - 4 * exchange_enhanced(&e->request);

	if (e->flags & MPA_F_REV0)
		max = e->request.len;
	if (max < MPA_PD_MAX_REV0)
		EXPECT_EQ(t, -EMSGSIZE, mpa_start_initiator(t->a.conn, t->pool,
							    max + 1));
	ASSERT_EQ(t, 0, mpa_start_initiator(t->a.conn, t->pool,
					    e->request.len));
	exchange_expect(t, e);
	conn_expect_silence(t);
	exchange_send(t, e);
	CONN_WAIT(t, &t->a,
		  e->reply.flags & PEER_R ? EV_REJECTED : EV_ESTABLISHED, 1);
	exchange_told(t, e);
	conn_expect_silence(t);
}

static void exchange_responder(struct conn_test *t, const struct exchange *e)
{
	u32 max = EXCHANGE_PD - 4 * exchange_enhanced(&e->reply);
	struct mpa_conn *conn = t->a.conn;

	EXPECT_EQ(t, mpa_start_responder(conn, t->pool, 65536), -EMSGSIZE);
	conn_start(t, CONN_RESPONDER);
	conn_expect_silence(t);
	exchange_send(t, e);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	exchange_told(t, e);
	if (e->reply.rev) {
		EXPECT_EQ(t, mpa_accept(conn, t->pool, max + 1), -EMSGSIZE);
		EXPECT_EQ(t, mpa_reject(conn, t->pool, max + 1), -EMSGSIZE);
	}
	/* More than kmalloc() can allocate, and more than can be added to. */
	EXPECT_EQ(t, mpa_accept(conn, t->pool, SZ_16M), -EMSGSIZE);
	EXPECT_EQ(t, mpa_reject(conn, t->pool, SIZE_MAX - 8), -EMSGSIZE);
	conn_expect_silence(t);

	ASSERT_EQ(t, mpa_accept(conn, t->pool, e->reply.len), 0);
	EXPECT_EQ(t, mpa_accept(conn, NULL, 0), -ENOTCONN);
	exchange_expect(t, e);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	conn_expect_silence(t);
}

/* Derive the terms from the frames, and expect them. */
static void exchange_terms(struct conn_test *t, const struct exchange *e)
{
	const struct exchange_frame *own = exchange_own(e);
	const struct exchange_frame *peers = exchange_peers(e);
	u8 rev = min(own->rev, peers->rev);
	struct mpa_info info;

	/* Rev 0 has CRC and markers; but an rddp peer may do without them. */
	t->crc = !rev || (own->flags | peers->flags) & PEER_C;
	t->rx_markers = !rev || own->flags & PEER_M;
	t->tx_markers = peers->flags & PEER_M || peers->rev > rev;

	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.rev, rev);
	EXPECT_EQ(t, info.peer_rev, peers->rev);
	EXPECT_EQ(t, info.markers_rx, t->rx_markers);
	EXPECT_EQ(t, info.markers_tx, t->tx_markers);
	EXPECT_EQ(t, t->a.conn->terms.crc, t->crc);
	EXPECT_EQ(t, info.enhanced, exchange_enhanced(own) &&
		  exchange_enhanced(peers));
	EXPECT_EQ(t, info.ird, e->terms.ird);
	EXPECT_EQ(t, info.ord, e->terms.ord);
	EXPECT_EQ(t, info.rtr, e->terms.rtr);
}

/* The Initiator sends the first FPDU, which markers cut, then the Responder. */
static void exchange_fpdus(struct conn_test *t, const struct exchange *e)
{
	int i;

	mpa_resume(t->a.conn);
	for (i = 0; i < 2; i++) {
		if (e->responder == i) {
			conn_post(t, 1200);
			conn_expect_tx(t, 1200);
		} else {
			conn_peer_send(t, 1200);
			conn_expect_rx(t, &t->a, 1);
		}
	}
	conn_expect_alive(t, &t->a);

	/* A wrong value of the CRC field matters only if CRCs are on. */
	conn_fpdu(t, 60);
	t->buf[t->buf_len - 1] ^= 1;
	conn_flush(t);
	if (!t->crc) {
		conn_expect_rx(t, &t->a, 3);
		return;
	}
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 2);
}

static void exchange(struct conn_test *t)
{
	const struct exchange *e = conn_data(t);
	unsigned long no_crc, rev0;

	exchange_attach(t, e);
	no_crc = conn_counter(t, MPA_MIB_NO_CRC);
	rev0 = conn_counter(t, MPA_MIB_REV0);
	if (e->responder)
		exchange_responder(t, e);
	else
		exchange_initiator(t, e);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	if (e->reply.flags & PEER_R) {
		CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
		return;
	}
	exchange_terms(t, e);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_NO_CRC), no_crc + !t->crc);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_REV0),
		  rev0 + !min(e->request.rev, e->reply.rev));
	exchange_fpdus(t, e);
}

#define ROW(title, ...)							\
	{ title, exchange, .data = &(const struct exchange){ __VA_ARGS__ } }

static const struct conn_row exchange_rows[] = {
	ROW("CS-06 CS-13 RF-01 RF-02 RF-11 RF-14 RF-16 RF-20 MK-21: Request",
	    .request = { PEER_M | PEER_C, 1 }, .reply = { PEER_C, 1 }),
	ROW("CS-14 CS-24 CS-28 RF-21 RF-23 RF-25 RF-27: Request, 512 octets",
	    .request = { PEER_M | PEER_C, 1, 512 },
	    .reply = { PEER_C, 1, 512 }),
	ROW("CS-02 CS-10 CS-15 CS-21 RF-01 RF-04 RF-08 RF-16 MK-07: Reply",
	    .responder = true, .request = { PEER_M | PEER_C, 1 },
	    .reply = { PEER_M | PEER_C, 1 }),
	ROW("CS-09 CS-22 CS-35 DD-10 DD-11 MK-20: Reply, 512 octets",
	    .responder = true, .request = { PEER_M | PEER_C, 1, 512 },
	    .reply = { PEER_M | PEER_C, 1, 512 }),
	ROW("RF-21 RF-25 VN-01 VN-16: Rev 0, 512 octets",
	    .no_crc = true, .flags = MPA_F_REV0,
	    .request = { PEER_M | PEER_C, 0, 512 },
	    .reply = { PEER_M | PEER_C, 0, 512 }),
	ROW("RF-21 RF-25: Rev 0, 65535 octets",
	    .flags = MPA_F_REV0, .request = { PEER_M | PEER_C, 0, 65535 },
	    .reply = { PEER_M | PEER_C, 0, 65535 }),
	ROW("CS-43: Reply, octet by octet",
	    .dribble = true, .request = { PEER_C, 1 },
	    .reply = { PEER_C, 1, 40 }),
	ROW("CS-43: Request, octet by octet",
	    .dribble = true, .responder = true, .request = { PEER_C, 1, 40 },
	    .reply = { PEER_C, 1 }),

	ROW("RF-09 CR-02 CR-03 CR-11 CR-13 CR-21 CR-22: Initiator, C 0 and 0",
	    .no_crc = true, .request = { 0, 1 }, .reply = { 0, 1 }),
	ROW("RF-10 CR-05: Initiator, C 1 and 0",
	    .request = { PEER_C, 1 }, .reply = { 0, 1 }),
	ROW("RF-10 CR-05 CR-10: Initiator, C 0 and 1",
	    .no_crc = true, .request = { 0, 1 }, .reply = { PEER_C, 1 }),
	ROW("CR-01 CR-04 RF-06 RF-07 MK-19: Initiator, C 1 and 1, M 0 and 0",
	    .request = { PEER_C, 1 }, .reply = { PEER_C, 1 }),
	ROW("RF-09 CR-11 CR-13 CR-21 CR-22: Responder, C 0 and 0",
	    .responder = true, .no_crc = true, .request = { 0, 1 },
	    .reply = { 0, 1 }),
	ROW("RF-10 CR-05: Responder, C 1 and 0",
	    .responder = true, .request = { 0, 1 }, .reply = { PEER_C, 1 }),
	ROW("RF-10 CR-05 CR-10: Responder, C 0 and 1",
	    .responder = true, .no_crc = true, .request = { PEER_C, 1 },
	    .reply = { PEER_C, 1 }),
	ROW("CR-01 CR-04 RF-06 RF-07 MK-08: Responder, C 1 and 1, M 0 and 0",
	    .responder = true, .request = { PEER_C, 1 },
	    .reply = { PEER_C, 1 }),

	ROW("RF-06 RF-08 MK-21: Initiator, M 0 and 1",
	    .request = { PEER_C, 1 }, .reply = { PEER_M | PEER_C, 1 }),
	ROW("CS-02 RF-06 RF-08 MK-07: Initiator, M 1 and 1",
	    .request = { PEER_M | PEER_C, 1 }, .reply = { PEER_M | PEER_C, 1 }),
	ROW("RF-06 RF-07 MK-21: Responder, M 1 and 0",
	    .responder = true, .request = { PEER_C, 1 },
	    .reply = { PEER_M | PEER_C, 1 }),
	ROW("RF-06 RF-08 MK-21: Responder, M 0 and 1",
	    .responder = true, .request = { PEER_M | PEER_C, 1 },
	    .reply = { PEER_C, 1 }),

	/* Figure 17, C.2.2, C.2.4, C.2.5 of RFC 5044 */
	ROW("VN-02 VN-07 VN-11 VN-12 VN-13 RF-19 DD-05: Request, Rev 0",
	    .responder = true, .no_crc = true,
	    .request = { PEER_M | PEER_C, 0 }, .reply = { PEER_M | PEER_C, 0 }),
	ROW("VN-11 VN-13: Request, Rev 0, of an rddp peer with M 0",
	    .responder = true, .no_crc = true, .request = { 0, 0 },
	    .reply = { PEER_M | PEER_C, 0 }),
	ROW("VN-05 VN-06 VN-14 RF-19 DD-05: Reply, Rev 0, M was 0",
	    .request = { PEER_C, 1 }, .reply = { PEER_M | PEER_C, 0 }),
	ROW("VN-05 VN-06 VN-14: Reply, Rev 0, M was 1",
	    .request = { PEER_M | PEER_C, 1 }, .reply = { PEER_M | PEER_C, 0 }),
	ROW("VN-15: Rev 0 Responder, Request, Rev 1",
	    .responder = true, .flags = MPA_F_REV0, .request = { 0, 1 },
	    .reply = { PEER_M | PEER_C, 0 }),

	ROW("E-01 E-02 E-05 E-07 E-09 E-22 E-23 E-37: enhanced Request",
	    .enhanced = { 5, 7, EXCHANGE_ANY },
	    .request = { PEER_C | PEER_S, 2, 0, 0xc005c007 },
	    .reply = { PEER_C | PEER_S, 2, 0, 0x80048003 },
	    .terms = { 5, 4, MPA_RTR_WRITE }),
	ROW("E-08 E-11 E-15 E-17: enhanced Request, 508 octets",
	    .enhanced = { 5, 7, EXCHANGE_ANY },
	    .request = { PEER_C | PEER_S, 2, 508, 0xc005c007 },
	    .reply = { PEER_C | PEER_S, 2, 508, 0x80048003 },
	    .terms = { 5, 4, MPA_RTR_WRITE }),
	ROW("E-01 E-02 E-05 E-07 E-12 E-25 E-26 E-27 E-37: enhanced Reply",
	    .responder = true,
	    .enhanced = { 4, 9, MPA_RTR_WRITE | MPA_RTR_READ },
	    .request = { PEER_C | PEER_S, 2, 0, 0xc005c007 },
	    .reply = { PEER_C | PEER_S, 2, 0, 0x8004c005 },
	    .terms = { 4, 5, MPA_RTR_WRITE | MPA_RTR_READ }),
	ROW("E-08 E-11 E-17: enhanced Reply, 508 octets",
	    .responder = true,
	    .enhanced = { 4, 9, MPA_RTR_WRITE | MPA_RTR_READ },
	    .request = { PEER_C | PEER_S, 2, 508, 0xc005c007 },
	    .reply = { PEER_C | PEER_S, 2, 508, 0x8004c005 },
	    .terms = { 4, 5, MPA_RTR_WRITE | MPA_RTR_READ }),
	ROW("CS-43: enhanced Reply, octet by octet",
	    .dribble = true, .enhanced = { 5, 7, MPA_RTR_SEND },
	    .request = { PEER_C | PEER_S, 2, 0, 0xc0050007 },
	    .reply = { PEER_C | PEER_S, 2, 3, 0xc0060004 },
	    .terms = { 5, 6, MPA_RTR_SEND }),
	ROW("CS-43: enhanced Request, octet by octet",
	    .dribble = true, .responder = true,
	    .enhanced = { 5, 7, MPA_RTR_SEND },
	    .request = { PEER_C | PEER_S, 2, 3, 0xc0060004 },
	    .reply = { PEER_C | PEER_S, 2, 0, 0xc0040006 },
	    .terms = { 4, 6, MPA_RTR_SEND }),

	/* One end without enhanced data */
	ROW("E-04 E-38 RF-15: enhanced Responder, Rev 1, all reserved bits set",
	    .responder = true, .enhanced = { 5, 7, EXCHANGE_ANY },
	    .request = { PEER_C | 0x1f, 1, 512 }, .reply = { PEER_C, 1, 512 }),
	ROW("E-38 E-39: enhanced Responder, Request, Rev 2 without S",
	    .responder = true, .enhanced = { 5, 7, EXCHANGE_ANY },
	    .request = { PEER_C, 2, 512 }, .reply = { PEER_C, 2, 512 }),
	ROW("E-38 VN-11: enhanced Responder, Request, Rev 0",
	    .responder = true, .enhanced = { 5, 7, EXCHANGE_ANY },
	    .request = { PEER_M | PEER_C, 0, 512 },
	    .reply = { PEER_M | PEER_C, 0, 512 }),
	ROW("E-03 E-39: Request without S, Reply, Rev 2",
	    .request = { PEER_C, 2, 512 }, .reply = { PEER_C, 2, 4 }),
	ROW("E-39: Request without S, Reply, Rev 1",
	    .request = { PEER_C, 2, 512 }, .reply = { PEER_C, 1, 4 }),
	ROW("E-39 VN-14: Request without S, Reply, Rev 0",
	    .request = { PEER_C, 2, 512 }, .reply = { PEER_M | PEER_C, 0, 4 }),
	ROW("E-02 RF-15: Rev 1, Reply, S is reserved",
	    .request = { PEER_C, 1 }, .reply = { PEER_C | PEER_S, 1, 3 }),
	ROW("E-02 RF-15: Rev 1, Request, S is reserved",
	    .responder = true, .request = { PEER_C | PEER_S, 1, 3 },
	    .reply = { PEER_C, 1 }),

	ROW("E-17 CS-27: enhanced Reply with R 1",
	    .enhanced = { 5, 7, MPA_RTR_WRITE },
	    .request = { PEER_C | PEER_S, 2, 0, 0x80058007 },
	    .reply = { PEER_C | PEER_R | PEER_S, 2, 9, 0xc0020014 }),
	ROW("E-42 CS-27: Reply with R 1, without S",
	    .enhanced = { 5, 7, MPA_RTR_WRITE },
	    .request = { PEER_C | PEER_S, 2, 0, 0x80058007 },
	    .reply = { PEER_C | PEER_R, 2, 9 }),
	ROW("E-42 CS-27: Reply with R 1, Rev 1, S is reserved",
	    .enhanced = { 5, 7, MPA_RTR_WRITE },
	    .request = { PEER_C | PEER_S, 2, 0, 0x80058007 },
	    .reply = { PEER_C | PEER_R | PEER_S, 1, 9 }),
	ROW("E-42 CS-27: Reply with R 1, Rev 0",
	    .enhanced = { 5, 7, MPA_RTR_WRITE },
	    .request = { PEER_C | PEER_S, 2, 0, 0x80058007 },
	    .reply = { PEER_M | PEER_C | PEER_R, 0, 9 }),
};

CONN_ROWS(exchange);
