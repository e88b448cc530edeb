// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* More half-open startups than net.mpa.startup_max. */
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* Set the limit to @max; the peer of the other connection, b, sends nothing. */
static void overflow_init_flags(struct kunit *test, int max, u32 flags)
{
	struct conn_test *t = test->priv;
	struct mpa_conn *conn;
	int err;

	conn_attach(test, flags);
	t->startup_max = t->mn->startup_max;
	WRITE_ONCE(t->mn->startup_max, max);
	err = mpa_peer_pair(&t->opts, &t->sock[1], &t->helper.client);
	KUNIT_ASSERT_EQ(test, err, 0);
	conn = mpa_attach(t->sock[1], &t->b.params);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, conn);
	t->b.conn = conn;
}

static void overflow_init(struct kunit *test, int max)
{
	overflow_init_flags(test, max, 0);
}

static void overflow_start_b(struct kunit *test)
{
	struct conn_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, mpa_start_responder(t->b.conn, NULL, 0), 0);
	conn_settle(&t->b);
}

static void overflow_start_a(struct kunit *test, enum conn_role role)
{
	struct conn_test *t = test->priv;

	conn_start(test, role);
	conn_settle(&t->a);
}

/* Finish the startup of a, a Responder. */
static void overflow_establish(struct kunit *test)
{
	struct conn_test *t = test->priv;

	if (!mpa_consumer_count(&t->a, EV_REQUEST))
		conn_peer_frame(test, false, PEER_C, 1, NULL, 0);
	CONN_WAIT(test, &t->a, EV_REQUEST, 1);
	KUNIT_ASSERT_EQ(test, mpa_accept(t->a.conn, NULL, 0), 0);
	CONN_WAIT(test, &t->a, EV_ESTABLISHED, 1);
}

/* The oldest startup ends, with the reason; the later one is established. */
static void overflow_oldest(struct kunit *test, struct conn_test *t)
{
	const u32 mib = MPA_MIB_REASON + MPA_REASON_STARTUP_OVERFLOW;
	unsigned long before;

	overflow_init(test, 1);
	before = conn_counter(t, mib);
	overflow_start_b(test);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
	overflow_start_a(test, CONN_RESPONDER);
	conn_expect_end(test, &t->b, MPA_ERR_FRAME,
			MPA_REASON_STARTUP_OVERFLOW);
	KUNIT_EXPECT_EQ(test, t->b.end.err, -ECONNABORTED);
	CONN_WAIT(test, &t->b, EV_CLOSED, 1);
	KUNIT_EXPECT_EQ(test, t->helper.client->sk->sk_err, ECONNRESET);
	KUNIT_EXPECT_EQ(test, before + 1, conn_counter(t, mib));
	overflow_establish(test);
	CONN_COUNT(test, &t->a, EV_ENDED, 0);
}

/* With two startups and a limit of two, none is ended. */
static void overflow_room(struct kunit *test, struct conn_test *t)
{
	overflow_init(test, 2);
	overflow_start_b(test);
	overflow_start_a(test, CONN_RESPONDER);
	KUNIT_EXPECT_EQ(test, t->mn->nr_startups, 2);
	overflow_establish(test);
	KUNIT_EXPECT_EQ(test, t->mn->nr_startups, 1);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
}

/* The limit is lowered: the next startup ends those above it. */
static void overflow_lowered(struct kunit *test, struct conn_test *t)
{
	overflow_init(test, 2);
	overflow_start_b(test);
	WRITE_ONCE(t->mn->startup_max, 1);
	conn_settle(&t->b);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
	overflow_start_a(test, CONN_RESPONDER);
	conn_expect_end(test, &t->b, MPA_ERR_FRAME,
			MPA_REASON_STARTUP_OVERFLOW);
	KUNIT_EXPECT_EQ(test, t->mn->nr_startups, 1);
	overflow_establish(test);
}

/* A startup with a complete Request does not count, whatever happens next. */
static void overflow_decide(struct kunit *test, struct conn_test *t)
{
	overflow_init(test, 1);
	conn_peer_frame(test, false, PEER_C, 1, NULL, 0);
	conn_start(test, CONN_RESPONDER);
	CONN_WAIT(test, &t->a, EV_REQUEST, 1);
	overflow_start_b(test);
	conn_settle(&t->a);
	overflow_establish(test);
	CONN_COUNT(test, &t->a, EV_ENDED, 0);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
}

/* An Initiator does not count. */
static void overflow_initiator(struct kunit *test, struct conn_test *t)
{
	overflow_init(test, 1);
	overflow_start_a(test, CONN_INITIATOR);
	overflow_start_b(test);
	conn_settle(&t->a);
	conn_expect_frame(test, false, PEER_C, 1, NULL, 0);
	conn_peer_frame(test, true, PEER_C, 1, NULL, 0);
	CONN_WAIT(test, &t->a, EV_ESTABLISHED, 1);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
}

/* A startup is chosen to be ended, but its Request is complete first. */
static void overflow_late(struct kunit *test, struct conn_test *t)
{
	overflow_init(test, 1);
	overflow_start_a(test, CONN_RESPONDER);
	set_bit(MPA_CONN_STARTUP_OVERFLOW, &t->a.conn->flags);
	overflow_establish(test);
	CONN_COUNT(test, &t->a, EV_ENDED, 0);
}

/* A refused peer that does not close counts; the reason stays REVISION. */
static void overflow_refused(struct kunit *test, struct conn_test *t)
{
	overflow_init_flags(test, 1, MPA_F_STRICT);
	overflow_start_a(test, CONN_RESPONDER);
	conn_peer_frame(test, false, PEER_C, 0, NULL, 0);
	conn_expect_frame(test, true, PEER_C | PEER_R, 1, NULL, 0);
	conn_settle(&t->a);
	/* No timeout ends it. */
	mod_timer(&t->a.conn->timer, jiffies + 60 * HZ);
	overflow_start_b(test);
	conn_expect_end(test, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
}

/* A refused peer is ended before TCP takes the refusal: the buffer is full. */
static void overflow_refusal_unsent(struct kunit *test, struct conn_test *t)
{
	struct sock *sk;

	conn_buffers(t, 4096, 200000);
	overflow_init_flags(test, 1, MPA_F_STRICT);
	KUNIT_ASSERT_EQ(test, mpa_start_responder(t->a.conn, t->pool, 60000),
			0);
	conn_settle(&t->a);
	sk = t->sock[0]->sk;
	WRITE_ONCE(sk->sk_sndbuf, 1);
	KUNIT_ASSERT_FALSE(test, sk_stream_memory_free(sk));
	conn_peer_frame(test, false, PEER_C, 0, NULL, 0);
	conn_settle(&t->a);
	overflow_start_b(test);
	conn_expect_end(test, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
}

/* A startup that ends by a reset, mpa_abort() or mpa_detach() makes room. */
static void overflow_makes_room(struct kunit *test, struct conn_test *t)
{
	overflow_init(test, 1);
	overflow_start_a(test, CONN_RESPONDER);
	KUNIT_EXPECT_EQ(test, t->mn->nr_startups, 1);
	switch (conn_arg(test)) {
	case 0:
		mpa_peer_reset(&t->peer);
		CONN_WAIT(test, &t->a, EV_ENDED, 1);
		break;
	case 1:
		mpa_abort(t->a.conn);
		CONN_WAIT(test, &t->a, EV_ENDED, 1);
		break;
	default:
		conn_detach(test, &t->a);
		break;
	}
	KUNIT_EXPECT_EQ(test, t->mn->nr_startups, 0);
	overflow_start_b(test);
	CONN_COUNT(test, &t->b, EV_ENDED, 0);
}

static const struct conn_row overflow_rows[] = {
	{ "the oldest startup is ended", overflow_oldest },
	{ "as many startups as net.mpa.startup_max", overflow_room },
	{ "net.mpa.startup_max lowered below the startups", overflow_lowered },
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
