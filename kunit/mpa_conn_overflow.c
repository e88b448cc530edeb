// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* More half-open startups than net.mpa.startup_max. */
#include "mpa_conn_test.h"

/* Set the limit to @max; the peer of the other connection, b, sends nothing. */
static void overflow_init_flags(struct conn_test *t, int max, u32 flags)
{
	struct mpa_conn *conn;
	int err;

	conn_attach(t, flags);
	t->startup_max = t->mn->startup_max;
	WRITE_ONCE(t->mn->startup_max, max);
	err = mpa_peer_pair(&t->opts, &t->sock[1], &t->helper.client);
	ASSERT_EQ(t, err, 0);
	conn = mpa_attach(t->sock[1], &t->b.params);
	ASSERT_OK(t, conn);
	t->b.conn = conn;
}

static void overflow_init(struct conn_test *t, int max)
{
	overflow_init_flags(t, max, 0);
}

static void overflow_start_b(struct conn_test *t)
{
	ASSERT_EQ(t, mpa_start_responder(t->b.conn, NULL, 0), 0);
	conn_settle(&t->b);
}

static void overflow_start_a(struct conn_test *t, enum conn_role role)
{
	conn_start(t, role);
	conn_settle(&t->a);
}

/* Finish the startup of a, a Responder. */
static void overflow_establish(struct conn_test *t)
{
	if (!mpa_consumer_count(&t->a, EV_REQUEST))
		conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
}

/* The oldest startup ends, with the reason; the later one is established. */
static void overflow_oldest(struct conn_test *t)
{
	const u32 mib = MPA_MIB_REASON + MPA_REASON_STARTUP_OVERFLOW;
	unsigned long before;

	overflow_init(t, 1);
	before = conn_counter(t, mib);
	overflow_start_b(t);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
	overflow_start_a(t, CONN_RESPONDER);
	conn_expect_end(t, &t->b, MPA_ERR_FRAME, MPA_REASON_STARTUP_OVERFLOW);
	EXPECT_EQ(t, t->b.end.err, -ECONNABORTED);
	CONN_WAIT(t, &t->b, EV_CLOSED, 1);
	EXPECT_EQ(t, t->helper.client->sk->sk_err, ECONNRESET);
	EXPECT_EQ(t, before + 1, conn_counter(t, mib));
	overflow_establish(t);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

/* With two startups and a limit of two, none is ended. */
static void overflow_room(struct conn_test *t)
{
	overflow_init(t, 2);
	overflow_start_b(t);
	overflow_start_a(t, CONN_RESPONDER);
	EXPECT_EQ(t, t->mn->nr_startups, 2);
	overflow_establish(t);
	EXPECT_EQ(t, t->mn->nr_startups, 1);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
}

/*
 * The limit is lowered to @arg: the next startup ends those above it. With 0,
 * which administrators cannot set, these are two, itself among them.
 */
static void overflow_lowered(struct conn_test *t)
{
	overflow_init(t, 2);
	overflow_start_b(t);
	WRITE_ONCE(t->mn->startup_max, conn_arg(t));
	conn_settle(&t->b);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
	overflow_start_a(t, CONN_RESPONDER);
	conn_expect_end(t, &t->b, MPA_ERR_FRAME, MPA_REASON_STARTUP_OVERFLOW);
	EXPECT_EQ(t, t->mn->nr_startups, conn_arg(t));
	if (conn_arg(t))
		overflow_establish(t);
	else
		conn_expect_end(t, &t->a, MPA_ERR_FRAME,
				MPA_REASON_STARTUP_OVERFLOW);
}

/* A startup with a complete Request does not count, whatever happens next. */
static void overflow_decide(struct conn_test *t)
{
	overflow_init(t, 1);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	conn_start(t, CONN_RESPONDER);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	overflow_start_b(t);
	conn_settle(&t->a);
	overflow_establish(t);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
}

/* An Initiator does not count. */
static void overflow_initiator(struct conn_test *t)
{
	overflow_init(t, 1);
	overflow_start_a(t, CONN_INITIATOR);
	overflow_start_b(t);
	conn_settle(&t->a);
	conn_expect_frame(t, false, PEER_C, 1, NULL, 0);
	conn_peer_frame(t, true, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
}

/* A startup is chosen to be ended, but its Request is complete first. */
static void overflow_late(struct conn_test *t)
{
	overflow_init(t, 1);
	overflow_start_a(t, CONN_RESPONDER);
	set_bit(MPA_CONN_STARTUP_OVERFLOW, &t->a.conn->flags);
	overflow_establish(t);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

/* A refused peer that does not close counts; the reason stays REVISION. */
static void overflow_refused(struct conn_test *t)
{
	overflow_init_flags(t, 1, MPA_F_STRICT);
	overflow_start_a(t, CONN_RESPONDER);
	conn_peer_frame(t, false, PEER_C, 0, NULL, 0);
	conn_expect_frame(t, true, PEER_C | PEER_R, 1, NULL, 0);
	conn_settle(&t->a);
	/* No timeout ends it. */
	mod_timer(&t->a.conn->timer, jiffies + 60 * HZ);
	overflow_start_b(t);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
}

/* A refused peer is ended before TCP takes the refusal: the buffer is full. */
static void overflow_refusal_unsent(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	overflow_init_flags(t, 1, MPA_F_STRICT);
	conn_start_full(t);
	conn_peer_frame(t, false, PEER_C, 0, NULL, 0);
	conn_settle(&t->a);
	overflow_start_b(t);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
}

/* A startup that ends by a reset, mpa_abort() or mpa_detach() makes room. */
static void overflow_makes_room(struct conn_test *t)
{
	overflow_init(t, 1);
	overflow_start_a(t, CONN_RESPONDER);
	EXPECT_EQ(t, t->mn->nr_startups, 1);
	switch (conn_arg(t)) {
	case 0:
		mpa_peer_reset(&t->peer);
		CONN_WAIT(t, &t->a, EV_ENDED, 1);
		break;
	case 1:
		mpa_abort(t->a.conn);
		CONN_WAIT(t, &t->a, EV_ENDED, 1);
		break;
	default:
		conn_detach(t, &t->a);
		break;
	}
	EXPECT_EQ(t, t->mn->nr_startups, 0);
	overflow_start_b(t);
	CONN_COUNT(t, &t->b, EV_ENDED, 0);
}

static const struct conn_row overflow_rows[] = {
	{ "the oldest startup is ended", overflow_oldest },
	{ "as many startups as net.mpa.startup_max", overflow_room },
	{ "net.mpa.startup_max lowered below the startups",
	  overflow_lowered, 1 },
	{ "net.mpa.startup_max lowered by two", overflow_lowered, 0 },
	{ "a startup with a complete Request is not ended", overflow_decide },
	{ "an Initiator is not ended", overflow_initiator },
	{ "a Request completes before its startup is ended", overflow_late },
	{ "a refused startup is ended", overflow_refused },
	{ "VN-09: a refused startup is ended, refusal unsent",
	  overflow_refusal_unsent },
	{ "room after a reset", overflow_makes_room, 0 },
	{ "room after mpa_abort()", overflow_makes_room, 1 },
	{ "room after mpa_detach()", overflow_makes_room, 2 },
};

CONN_ROWS(overflow);
