// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Enhanced startup, RFC 6581, against a raw peer. */
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

enum {
	ENH_ANY		= MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
	ENH_PD		= 512,
};

static void enh_attach(struct conn_test *t, u16 ird, u16 ord, u8 rtr)
{
	t->a.params.rev = MPA_REV_2;
	t->a.params.enhanced = (struct mpa_enhanced) { ird, ord, rtr };
	conn_attach(t, MPA_F_ENHANCED);
}

/* Write enhanced data in wire format, then the ULP's private data. */
static u32 enh_pd(u8 *to, u32 word, const u8 *pd, u32 len)
{
	put_unaligned_be32(word, to);
	if (len)
		memcpy(to + 4, pd, len);
	return len + 4;
}

static void enh_peer_frame(struct conn_test *t, bool reply, u8 flags, u32 word,
			   const u8 *pd, u32 len)
{
	u8 octets[ENH_PD];

	ASSERT_LE(t, len + 4, sizeof(octets));
	len = enh_pd(octets, word, pd, len);
	conn_peer_frame(t, reply, flags | PEER_S, 2, octets, len);
}

static void enh_expect_frame(struct conn_test *t, bool reply, u8 flags,
			     u32 word, const u8 *pd, u32 len)
{
	u8 octets[ENH_PD];

	ASSERT_LE(t, len + 4, sizeof(octets));
	len = enh_pd(octets, word, pd, len);
	conn_expect_frame(t, reply, flags | PEER_S, 2, octets, len);
}

static void enh_expect_info(struct conn_test *t, u16 ird, u16 ord, u8 rtr)
{
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.rev, 2);
	EXPECT_EQ(t, info.peer_rev, 2);
	EXPECT_TRUE(t, info.enhanced);
	EXPECT_EQ(t, info.ird, ird);
	EXPECT_EQ(t, info.ord, ord);
	EXPECT_EQ(t, info.rtr, rtr);
}

/**
 * struct enh_early - mpa_accept() while the Request arrives
 * @work: calls mpa_accept() repeatedly
 * @t: the case
 * @err: last result of mpa_accept()
 */
struct enh_early {
	struct work_struct	work;
	struct conn_test	*t;
	int			err;
};

static void enh_accept_early(struct work_struct *work)
{
	struct enh_early *early = container_of(work, struct enh_early, work);
	unsigned long end = jiffies + 20 * HZ;

	do {
		early->err = mpa_accept(early->t->a.conn, early->t->pool, 9);
		cond_resched();
	} while (early->err == -ENOTCONN && time_before(jiffies, end));
}

/* At any moment of mpa_accept() the Reply has enhanced data, as the Request. */
static void enh_accept_at_once(struct conn_test *t)
{
	static const u8 pd[] = { 0xc0, 0x05, 0xc0, 0x07 };
	struct enh_early early = { .t = t };
	u8 frame[PEER_FRAME + sizeof(pd)];
	u32 i, len;
	int err;

	len = mpa_peer_frame(frame, false, PEER_C | PEER_S, 2, pd, sizeof(pd));
	for (i = 0; i < 20; i++) {
		enh_attach(t, 4, 9, MPA_RTR_WRITE | MPA_RTR_READ);
		conn_start(t, CONN_RESPONDER);
		INIT_WORK_ONSTACK(&early.work, enh_accept_early);
		queue_work(mpa_unbound_wq, &early.work);
		err = mpa_peer_write(&t->peer, frame, len);
		flush_work(&early.work);
		destroy_work_on_stack(&early.work);
		ASSERT_EQ(t, err, 0);
		ASSERT_EQ(t, early.err, 0);
		enh_expect_frame(t, true, PEER_C, 0x8004c005, t->pool, 9);
		conn_reopen(t);
	}
}

/* Frames that close the connection */

/* S with PD_Length below 4: only the 20 octets of the header are read. */
static void enh_short(struct conn_test *t)
{
	bool initiator = conn_arg(t) == CONN_INITIATOR;
	const struct tcp_sock *tp;
	u8 frame[PEER_FRAME + 8];
	u32 pd_len, seq;

	for (pd_len = 0; pd_len < 4; pd_len++) {
		enh_attach(t, 5, 7, ENH_ANY);
		conn_start(t, conn_arg(t));
		if (initiator)
			enh_expect_frame(t, false, PEER_C, 0xc005c007, NULL, 0);
		tp = tcp_sk(t->sock[0]->sk);
		seq = READ_ONCE(tp->copied_seq);
		memset(frame, 0x3f, sizeof(frame));
		mpa_peer_frame(frame, initiator, PEER_C | PEER_S, 2, NULL,
			       pd_len);
		conn_write(t, frame, sizeof(frame));
		conn_expect_bad_frame(t, MPA_REASON_PD_LENGTH);
		EXPECT_EQ(t, READ_ONCE(tp->copied_seq) - seq, PEER_FRAME);
		conn_reopen(t);
	}
}

/* Negotiation that fails: codes 6 and 7 */

/* A Reply that is refused */
struct enh_error {
	u8		rtr;		/* of the connection */
	u32		reply;
	enum mpa_error	error;
	enum mpa_reason	reason;
};

/* As a consumer after failed negotiation: send Terminate, and shut down. */
static void enh_hook_terminate(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev != EV_ENDED)
		return;
	mpa_send(c->conn, &t->msg[0].tx);
	mpa_shutdown(c->conn);
}

static void enh_negotiation_error(struct conn_test *t)
{
	const struct enh_error *e = conn_data(t);
	struct mpa_info info;

	t->a.params.ird_max = 5;
	enh_attach(t, 5, 7, e->rtr);
	conn_start(t, CONN_INITIATOR);
	ASSERT_EQ(t, mpa_peer_read(&t->peer, 24), 0);
	t->peer.used = 24;
	conn_msg(t, 40);
	t->a.hook = enh_hook_terminate;
	enh_peer_frame(t, true, PEER_C, e->reply, t->pool, 5);

	conn_expect_end(t, &t->a, e->error, e->reason);
	EXPECT_EQ(t, t->a.end.err, -EPROTO);
	t->crc = true;
	conn_expect_tx(t, 40);
	conn_expect_done(t, &t->a, 1, 0);
	conn_expect_fin(t);

	/* ULPDUs of the peer are not passed; its FIN is processed. */
	mpa_resume(t->a.conn);
	conn_peer_send(t, 100);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, 0);
	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.state, MPA_STATE_CLOSED);
	EXPECT_TRUE(t, info.enhanced);
	EXPECT_EQ(t, info.theirs.ird, e->reply >> 16 & 0x3fff);
	EXPECT_EQ(t, info.theirs.ord, e->reply & 0x3fff);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
}

/* The RTR */

/* The Responder sends nothing until the RTR has arrived. */
static void enh_may_send(struct conn_test *t)
{
	enh_attach(t, 5, 7, MPA_RTR_WRITE);
	conn_start(t, CONN_RESPONDER);
	enh_peer_frame(t, false, PEER_C, 0x80058007, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	enh_expect_frame(t, true, PEER_C, 0x80058005, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	t->crc = true;
	mpa_resume(t->a.conn);
	conn_post(t, 100);
	conn_expect_silence(t);
	CONN_COUNT(t, &t->a, EV_DONE, 0);

	conn_peer_send(t, 14);
	conn_expect_rx(t, &t->a, 1);
	conn_expect_tx(t, 100);
	conn_expect_alive(t, &t->a);
}

/* MPA on both ends. */
static void enh_two(struct conn_test *t)
{
	unsigned long before;
	struct mpa_info info;

	conn_attach(t, 0);
	conn_reopen(t);
	before = conn_counter(t, MPA_MIB_ENHANCED);
	t->a.params.rev = MPA_REV_2;
	t->a.params.enhanced = (struct mpa_enhanced) { 5, 7, ENH_ANY };
	t->b.params.rev = MPA_REV_2;
	t->b.params.enhanced = (struct mpa_enhanced) { 9, 3, MPA_RTR_SEND };
	conn_two(t, MPA_F_ENHANCED | MPA_F_MARKERS, MPA_F_ENHANCED);
	enh_expect_info(t, 5, 7, MPA_RTR_SEND);
	mpa_get_info(t->b.conn, &info);
	EXPECT_TRUE(t, info.enhanced);
	EXPECT_EQ(t, info.ird, 7);
	EXPECT_EQ(t, info.ord, 3);
	EXPECT_EQ(t, info.rtr, MPA_RTR_SEND);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_ENHANCED), before + 2);
	conn_post(t, 18);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 1);
	EXPECT_EQ(t, mpa_send(t->b.conn, &conn_msg(t, 20)->tx), 0);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 1);
}

/* mpa_set_enhanced() */

static int enh_set(struct mpa_consumer *c, u16 ird, u16 ord, u8 rtr,
		   u16 ird_max)
{
	const struct mpa_enhanced erd = { ird, ord, rtr };

	return mpa_set_enhanced(c->conn, &erd, ird_max);
}

static void enh_expect_invalid(struct conn_test *t)
{
	EXPECT_EQ(t, enh_set(&t->a, 0x4000, 0, 1, 0), -EINVAL);
	EXPECT_EQ(t, enh_set(&t->a, 0, 0x4000, 1, 0), -EINVAL);
	EXPECT_EQ(t, enh_set(&t->a, 0, 0, 1, 0x4000), -EINVAL);
	EXPECT_EQ(t, enh_set(&t->a, 0, 0, ENH_ANY + 1, 0), -EINVAL);
}

static void enh_set_initiator(struct conn_test *t)
{
	enh_attach(t, 5, 7, ENH_ANY);
	enh_expect_invalid(t);
	EXPECT_EQ(t, enh_set(&t->a, 2, 3, MPA_RTR_SEND, 4), 0);
	conn_start(t, CONN_INITIATOR);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, 0, 9), -EALREADY);
	enh_expect_frame(t, false, PEER_C, 0xc0020003, NULL, 0);
	enh_peer_frame(t, true, PEER_C, 0xc0030004, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	enh_expect_info(t, 4, 3, MPA_RTR_SEND);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, 0, 9), -EALREADY);
	conn_reopen(t);

	conn_attach(t, 0);
	EXPECT_EQ(t, enh_set(&t->a, 2, 3, MPA_RTR_SEND, 4), -EINVAL);
}

static void enh_hook_set(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_REQUEST)
		return;
	c->hook_err = enh_set(c, 2, 3, MPA_RTR_READ, 0);
	if (!c->hook_err)
		c->hook_err = mpa_accept(c->conn, NULL, 0);
}

static void enh_set_responder(struct conn_test *t)
{
	enh_attach(t, 5, 7, MPA_RTR_WRITE);
	t->a.hook = enh_hook_set;
	conn_start(t, CONN_RESPONDER);
	enh_peer_frame(t, false, PEER_C, 0xc005c007, NULL, 0);
	enh_expect_frame(t, true, PEER_C, 0x80024003, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	EXPECT_EQ(t, t->a.hook_err, 0);
	enh_expect_info(t, 2, 3, MPA_RTR_READ);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, 1, 0), -EALREADY);
}

/* mpa_set_enhanced() before the Request, and after request() has returned. */
static void enh_set_late(struct conn_test *t)
{
	enh_attach(t, 5, 7, MPA_RTR_WRITE);
	conn_start(t, CONN_RESPONDER);
	conn_settle(&t->a);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, 0, 0), -EINVAL);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, MPA_RTR_READ, 0), 0);
	enh_peer_frame(t, false, PEER_C, 0xc005c007, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	conn_settle(&t->a);
	enh_expect_invalid(t);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, 0, 0), -EINVAL);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, MPA_RTR_SEND, 0), 0);
	EXPECT_EQ(t, enh_set(&t->a, 3, 2, MPA_RTR_WRITE, 0), 0);
	EXPECT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	EXPECT_EQ(t, enh_set(&t->a, 9, 9, 1, 0), -EALREADY);
	enh_expect_frame(t, true, PEER_C, 0x80038002, NULL, 0);
}

/* Rejecting */

/* A rejecting Reply has the depths set by mpa_set_enhanced(). */
static void enh_reject(struct conn_test *t)
{
	enh_attach(t, 5, 7, MPA_RTR_WRITE);
	conn_start(t, CONN_RESPONDER);
	enh_peer_frame(t, false, PEER_C, 0xc005c007, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	EXPECT_EQ(t, enh_set(&t->a, 2, 20, MPA_RTR_READ, 0), 0);
	ASSERT_EQ(t, mpa_reject(t->a.conn, t->pool, 508), 0);
	EXPECT_EQ(t, enh_set(&t->a, 2, 20, MPA_RTR_READ, 0), -EALREADY);
	enh_expect_frame(t, true, PEER_C | PEER_R, 0x80024014, t->pool, 508);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	conn_expect_silence(t);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

/* mpa_attach(), mpa_start_responder() */

static void enh_params(struct conn_test *t)
{
	static const struct {
		u8			rev;
		struct mpa_enhanced	enhanced;
		u16			ird_max;
	} bad[] = {
		{ MPA_REV_1 },
		{ MPA_REV_2, { .ird = 0x4000 } },
		{ MPA_REV_2, { .ord = 0x4000 } },
		{ MPA_REV_2, { .rtr = ENH_ANY + 1 } },
		{ MPA_REV_2, { }, MPA_DEPTH_ULP },
	};
	struct mpa_params good = t->a.params;
	u32 i;

	conn_pair(t);
	good.flags = MPA_F_ENHANCED;
	good.rev = MPA_REV_2;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		t->a.params = good;
		t->a.params.rev = bad[i].rev;
		t->a.params.enhanced = bad[i].enhanced;
		t->a.params.ird_max = bad[i].ird_max;
		EXPECT_EQ(t, -EINVAL,
			  PTR_ERR_OR_ZERO(mpa_attach(t->sock[0],
						     &t->a.params)));
	}

	/* A Responder must support at least one kind of RTR. */
	t->a.params = good;
	conn_attach(t, MPA_F_ENHANCED);
	EXPECT_EQ(t, mpa_start_responder(t->a.conn, NULL, 0), -EINVAL);
	EXPECT_EQ(t, enh_set(&t->a, 0, 0, MPA_RTR_SEND, 0), 0);
	conn_start(t, CONN_RESPONDER);
}

/* A row of a connection of Rev 2 */
#define ENH_BAD(title, ...) CONN_BAD(title, __VA_ARGS__, .rev = MPA_REV_2)

#define ENH_ERROR(title, ...)						\
	{ title, enh_negotiation_error,					\
	  .data = &(const struct enh_error){ __VA_ARGS__ } }

static const struct conn_row enhanced_rows[] = {
	{ "E-05 E-06 E-43: Request, PD_Length below 4",
	  enh_short, CONN_RESPONDER },
	{ "E-05 E-06 E-43: Reply, PD_Length below 4",
	  enh_short, CONN_INITIATOR },
	ENH_BAD("E-37 E-42: Reply without S",
		CONN_INITIATOR, PEER_C, 2, 4, MPA_REASON_ENHANCED,
		.flags = MPA_F_ENHANCED),
	ENH_BAD("E-02 E-42: Reply, Rev 1",
		CONN_INITIATOR, PEER_C, 1, 4, MPA_REASON_REVISION,
		.flags = MPA_F_ENHANCED),
	ENH_BAD("E-02 E-42: Reply, Rev 1, S is reserved",
		CONN_INITIATOR, PEER_C | PEER_S, 1, 4, MPA_REASON_REVISION,
		.flags = MPA_F_ENHANCED),
	ENH_BAD("E-02 RF-18: Reply, Rev 3",
		CONN_INITIATOR, PEER_C | PEER_S, 3, 4, MPA_REASON_REVISION,
		.flags = MPA_F_ENHANCED),
	ENH_BAD("E-38: Reply with S to a Request without",
		CONN_INITIATOR, PEER_C | PEER_S, 2, 4, MPA_REASON_ENHANCED),
	ENH_BAD("E-40: Request with S, not supported",
		CONN_RESPONDER, PEER_C | PEER_S, 2, 4, MPA_REASON_ENHANCED),
	ENH_BAD("E-08 RF-22: Request, 513 octets in all",
		CONN_RESPONDER, PEER_C | PEER_S, 2, 513, MPA_REASON_PD_LENGTH,
		.flags = MPA_F_ENHANCED),
	ENH_BAD("E-08 RF-22: Reply, 513 octets in all",
		CONN_INITIATOR, PEER_C | PEER_S, 2, 513, MPA_REASON_PD_LENGTH,
		.flags = MPA_F_ENHANCED),
	CONN_BAD("E-40 RF-18: Request, Rev 2 with S, Responder of Rev 1",
		 CONN_RESPONDER, PEER_C | PEER_S, 2, 10, MPA_REASON_REVISION,
		 .rev = MPA_REV_1),
	ENH_BAD("E-02 RF-18: Request, Rev 3",
		CONN_RESPONDER, PEER_C | PEER_S, 3, 10, MPA_REASON_REVISION,
		.flags = MPA_F_ENHANCED),
	ENH_ERROR("E-16 E-44 ER-11: insufficient IRD",
		  MPA_RTR_WRITE, 0x80078006, MPA_ERR_IRD, MPA_REASON_IRD),
	ENH_ERROR("E-31 E-44 ER-11: no RTR in common",
		  MPA_RTR_SEND, 0x8007c005, MPA_ERR_RTR, MPA_REASON_RTR),
	ENH_ERROR("E-31 E-42 E-44: A is not answered",
		  ENH_ANY, 0x00070005, MPA_ERR_RTR, MPA_REASON_RTR),
	ENH_ERROR("E-33 E-44: A was not asked for",
		  0, 0x80078005, MPA_ERR_RTR, MPA_REASON_RTR),
	{ "CS-29 E-30: the Responder waits for the RTR", enh_may_send },
	{ "E-11 E-12 E-15 E-30: two connections", enh_two },
	{ "E-10: mpa_set_enhanced(), Initiator", enh_set_initiator },
	{ "E-10: mpa_set_enhanced() from request()", enh_set_responder },
	{ "E-10 E-24: mpa_set_enhanced() before the answer", enh_set_late },
	{ "E-05: mpa_accept() while the Request arrives", enh_accept_at_once },
	{ "E-08 E-14: mpa_reject()", enh_reject },
	{ "E-02 E-24 E-43: parameters", enh_params },
};

CONN_ROWS(enhanced);
