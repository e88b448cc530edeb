// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What iw_cm is told of a connection, in each order in which MPA and iw_cm can
 * call: one after the other, and MPA's calls inside iw_cm's and the other way
 * round, at each lock that is taken.
 *
 * iw_cm has a BUG() for CLOSE before CONNECT_REPLY or ESTABLISHED, and for any
 * event after its call has failed.
 */
#include <linux/net.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "rnic_kunit.h"

#define STEPS	12

/*
 * MPA's steps: D done() with an error, d done(), l accepted(); q request(),
 * e established(), j rejected(), f ended() by a FIN, m ended() by a wrong
 * marker or Reply, n run(), c closed(), z released().
 *
 * Those of iw_cm and of consumers: U iw_connect, u one that fails, A iw_accept,
 * a one in which MPA notices the end late, B iw_accept once more, with another
 * QP, J iw_reject, L listener destroyed, K modify_qp(ERR), G modify_qp(SQD),
 * W the QP is destroyed, or loses patience; X the device goes; N the next event
 * with private data finds no memory.
 *
 * Events: Q CONNECT_REQUEST, R CONNECT_REPLY, r one with an error,
 * E ESTABLISHED, C CLOSE.
 */
struct cm {
	struct rdma_cm_id	rdma;		/* as for rdma_cm, the first */
	struct rnic_kunit	*rk;
	struct iw_cm_id		id;
	struct iw_cm_id		listen;
	int			refs;		/* of both */
	bool			listening;
	bool			done;
	bool			established;
	bool			released;
	bool			killed;		/* by K, while bound */
	bool			accepted;
	bool			connected;
	struct rnic_qp		*held;		/* by iw_cm */
	bool			refused;	/* no accept any longer */
	bool			deaf;		/* no event may come */
	bool			muted;		/* accepted, then rejected */
	bool			nomem;
	bool			stuck;		/* the next step cannot come */
	char			said[STEPS];
	char			did[4 * STEPS];
	const char		*inner;		/* steps at a lock */
	int			nr_inner;
};

struct row {
	const char	*desc;
	const char	*mpa;
	const char	*iw;
};

static struct rnic_qp other_qp;

static const struct row rows[] = {
	{ "no connection",			"D",	"U" },
	{ "no connection, to error",		"D",	"UK" },
	{ "no connection, no device",		"D",	"UX" },
	{ "no attempt",				"",	"u" },
	{ "no attempt, to error",		"",	"uK" },
	{ "established",			"defcz", "U" },
	{ "established, to error",		"defcz", "UK" },
	{ "established, to SQD",		"defcz", "UG" },
	{ "established, to SQD and error",	"defcz", "UGK" },
	{ "marker error",			"demcz", "UK" },
	{ "wrong Reply, to error",		"dmcz",	"UK" },
	{ "wrong Reply, left",			"dmnncz", "UW" },
	{ "lost",				"decz",	"UK" },
	{ "rejected by the peer",		"djz",	"UK" },
	{ "ER-09: startup fails",		"dfcz",	"UK" },
	{ "no memory for the Reply",		"decz",	"NU" },
	{ "no memory for a rejection",		"djz",	"NU" },
	{ "no memory for the Request",		"lqjz",	"N" },
	{ "accept",				"lqefcz", "A" },
	{ "accept, to error",			"lqefcz", "AK" },
	{ "to error, accept",			"lqecz", "KA" },
	{ "accept, to SQD",			"lqefcz", "AG" },
	{ "accept, marker error",		"lqemcz", "A" },
	{ "accept, startup fails",		"lqfcz", "A" },
	{ "accept, startup fails, to error",	"lqcz",	"AK" },
	{ "accept, startup fails in it",	"lqfcz", "a" },
	{ "reject",				"lqjz",	"J" },
	{ "reject, startup fails",		"lqfcz", "J" },
	{ "accept, then reject",		"lqefcz", "AJ" },
	{ "accept, then reject, lost",		"lqcz",	"AJ" },
	{ "accept twice",			"lqefcz", "AA" },
	{ "accept twice, lost, to error",	"lqecz", "AAK" },
	{ "accept twice, then reject",		"lqecz", "AAJ" },
	{ "accept three times",			"lqecz", "AAA" },
	{ "accept twice, another QP",		"lqefcz", "AB" },
	{ "accept twice, another QP, reject",	"lqecz", "ABJ" },
	{ "accept, another QP, and again",	"lqecz", "ABA" },
	{ "reject, then accept",		"lqjz",	"JA" },
	{ "no answer",				"lqfcz", "" },
	{ "no Request",				"lfcz",	"L" },
	{ "no listener, accept",		"lqecz", "LA" },
	{ "no listener, reject",		"lqjz",	"LJ" },
	{ "no listener, lost, accept",		"lqcz", "LA" },
	{ "no listener, lost, reject",		"lqcz",	"LJ" },
	{ "no listener, no answer",		"lqcz",	"L" },
	{ "no listener, no device",		"lqcz",	"LX" },
	{ "no device, no listener",		"lqcz",	"XL" },
	{ "no listener, no device, accept",	"lqcz",	"LXA" },
	{ "no listener, no device, reject",	"lqjz",	"LXJ" },
	{ "accept, no listener",		"lqecz", "AL" },
	{ "accept, no listener, no device",	"lqecz", "ALX" },
};

MPA_ROWS(row, rows);

static void say(struct cm *cm, char event)
{
	size_t len = strlen(cm->said);

	if (len < sizeof(cm->said) - 1)
		cm->said[len] = event;
}

static void did(struct cm *cm, char step)
{
	size_t len = strlen(cm->did);

	if (len < sizeof(cm->did) - 1)
		cm->did[len] = step;
}

static void cm_add_ref(struct iw_cm_id *id)
{
	struct cm *cm = id->context;

	cm->refs++;
}

static void cm_rem_ref(struct iw_cm_id *id)
{
	struct cm *cm = id->context;

	cm->refs--;
}

static int cm_event(struct iw_cm_id *id, struct iw_cm_event *event)
{
	struct cm *cm = id->context;

	KUNIT_EXPECT_FALSE_MSG(cm->rk->test, cm->deaf && id == &cm->id,
			       "event %d after %s", event->event, cm->did);
	if (cm->nomem && event->private_data_len) {
		cm->nomem = false;
		return -ENOMEM;
	}
	switch (event->event) {
	case IW_CM_EVENT_CONNECT_REQUEST:
		cm->id.provider_data = event->provider_data;
		say(cm, 'Q');
		break;
	case IW_CM_EVENT_CONNECT_REPLY:
		/* The program may destroy its QP, which would reset TCP. */
		if (event->status)
			KUNIT_EXPECT_FALSE_MSG(cm->rk->test, cm->rk->conn.live,
					       "%s", cm->did);
		say(cm, event->status ? 'r' : 'R');
		break;
	case IW_CM_EVENT_ESTABLISHED:
		say(cm, 'E');
		break;
	case IW_CM_EVENT_CLOSE:
		say(cm, 'C');
		break;
	default:
		say(cm, '?');
	}
	return 0;
}

static void cm_modify(struct cm *cm, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	rnic_modify_qp(&cm->rk->qp->ib, &attr, IB_QP_STATE, NULL);
}

/* iw_cm takes a reference, and loses one that it may still have. */
static void cm_accept(struct cm *cm, struct rnic_qp *qp)
{
	struct iw_cm_conn_param param = {
		.qpn = qp->ib.qp_num, .ird = 1, .ord = 1,
	};
	int err;

	refcount_inc(&qp->refs);
	cm->held = qp;
	err = rnic_iw_accept(&cm->id, &param);
	if (err) {
		/* It comes too late, unless the QP is to blame. */
		if (qp->state < IB_QPS_RTS && !cm->rk->dev->going)
			KUNIT_EXPECT_EQ_MSG(cm->rk->test, -ECONNRESET, err,
					    "%s", cm->did);
		rnic_qp_put(qp);
		cm->held = NULL;
	}
	KUNIT_EXPECT_FALSE_MSG(cm->rk->test, cm->accepted && !cm->held,
			       "%s fails", cm->did);
	cm->accepted = cm->held;
	cm->refused = !cm->held;
	cm->deaf = !cm->accepted;
}

static int cm_connect(struct cm *cm)
{
	struct iw_cm_conn_param param = {
		.qpn = cm->rk->qp->ib.qp_num, .ird = 1, .ord = 1,
	};
	int err = rnic_iw_connect(&cm->id, &param);

	cm->connected = !err;
	cm->deaf = err;
	return err;
}

static void iw_step(struct cm *cm, char c)
{
	bool bound;
	int err;

	switch (c) {
	case 'u':
		cm->rk->conn.err = -EADDRINUSE;
		fallthrough;
	case 'U':
		cm_connect(cm);
		break;
	case 'a':
		cm->rk->conn.ends_late = true;
		fallthrough;
	case 'A':
		cm_accept(cm, cm->rk->qp);
		break;
	case 'B':
		bound = cm->rk->qp->ep;
		cm_accept(cm, &other_qp);
		cm->killed = bound && cm->rk->qp->ep && !cm->rk->qp->failed;
		break;
	case 'J':
		err = rnic_iw_reject(&cm->id, NULL, 0);
		if (err)
			KUNIT_EXPECT_EQ_MSG(cm->rk->test, -ECONNRESET, err,
					    "%s", cm->did);
		cm->muted = cm->accepted;
		cm->deaf = true;
		break;
	case 'L':
		cm->listening = false;
		rnic_iw_destroy_listen(&cm->listen);
		break;
	case 'K':
		bound = cm->rk->qp->ep;
		cm_modify(cm, IB_QPS_ERR);
		cm->killed = bound && cm->rk->qp->ep && !cm->rk->qp->failed;
		break;
	case 'G':
		cm_modify(cm, IB_QPS_SQD);
		break;
	case 'W':
		rnic_qp_leave(cm->rk->qp);
		break;
	case 'X':
		rnic_cm_give_up(cm->rk->dev);
		rnic_listen_give_up(cm->rk->dev);
		break;
	case 'N':
		cm->nomem = true;
		break;
	}
}

static void cm_sock(struct cm *cm, struct socket **sock)
{
	KUNIT_ASSERT_EQ(cm->rk->test, 0,
			sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
					 IPPROTO_TCP, sock));
}

static void mpa_end(struct cm *cm, enum mpa_error error)
{
	struct mpa_conn *conn = &cm->rk->conn;
	struct mpa_end end = {
		.error	= error,
		.err	= error == MPA_ERR_TCP ? 0 : -EPROTO,
	};

	if (!conn->ended) {
		conn->ended = true;
		conn->ops->ended(conn, &end);
	}
}

static void expect_timer(struct cm *cm)
{
	struct delayed_work *timeout = &cm->rk->qp->timeout;

	KUNIT_EXPECT_TRUE_MSG(cm->rk->test, delayed_work_pending(timeout), "%s",
			      cm->did);
}

static void mpa_step(struct cm *cm, char c)
{
	struct mpa_conn *conn = &cm->rk->conn;
	struct mpa_startup startup = { .pd = "", .pd_len = 1 };
	struct socket *sock;

	switch (c) {
	case 'D':
		cm->done = true;
		conn->done(conn->ctx, NULL, NULL, -ECONNREFUSED);
		break;
	case 'd':
		cm_sock(cm, &conn->sock);
		KUNIT_EXPECT_EQ(cm->rk->test, 0,
				conn->setup(conn->sock, conn->ctx));
		cm->done = true;
		conn->live = true;
		conn->info.initiator = true;
		conn->done(conn->ctx, conn->sock, conn, 0);
		break;
	case 'l':
		cm_sock(cm, &sock);
		conn->listen(conn->listen_ctx, sock);
		break;
	case 'q':
		conn->ops->request(conn, &startup);
		/* The device alone answers it. */
		if (!cm->id.provider_data && !conn->ended)
			KUNIT_EXPECT_TRUE_MSG(cm->rk->test, conn->rejected,
					      "%s", cm->did);
		break;
	case 'e':
		cm->established = true;
		conn->info.state = MPA_STATE_FULL;
		conn->ops->established(conn, &startup);
		break;
	case 'j':
		conn->ops->rejected(conn, &startup);
		break;
	case 'f':
		if (conn->info.state == MPA_STATE_FULL) {
			mpa_end(cm, MPA_ERR_TCP);
			/* The peer may keep its window shut from now on. */
			expect_timer(cm);
			break;
		}
		/* A frame that is wrong is answered by nothing. */
		mpa_end(cm, MPA_ERR_FRAME);
		KUNIT_EXPECT_EQ_MSG(cm->rk->test, 0, conn->posted, "%s",
				    cm->did);
		break;
	case 'm':
		conn->info.state = MPA_STATE_FULL;
		mpa_end(cm, MPA_ERR_MARKER);
		/* A Terminate */
		KUNIT_EXPECT_EQ_MSG(cm->rk->test, 1, conn->posted, "%s",
				    cm->did);
		break;
	case 'n':
		conn->ops->run(conn);
		break;
	case 'c':
		mpa_end(cm, MPA_ERR_TCP);
		conn->ops->closed(conn, -ECONNRESET);
		break;
	case 'z':
		cm->released = true;
		conn->ops->released(conn, &conn->tx);
		INIT_LIST_HEAD(&conn->tx);
		break;
	}
}

/* True if MPA, or iw_cm, can make this call now */
static bool can(struct cm *cm, char c)
{
	const struct mpa_conn *conn = &cm->rk->conn;
	bool starts = conn->live && !conn->ended && !cm->established;

	switch (c) {
	case 'D':
	case 'd':
		return conn->done && !cm->done;
	case 'l':
		return cm->listening;
	case 'q':
		return starts;
	case 'e':
		return starts && (conn->done || conn->accepted);
	case 'j':
		return starts && (conn->done || conn->rejected);
	case 'f':
		return conn->live && !conn->ended;
	case 'm':
		return conn->live && !conn->ended &&
		       (cm->established || conn->done);
	case 'n':
		return conn->live && conn->info.state == MPA_STATE_FULL;
	case 'c':
		return conn->live;
	case 'z':
		return conn->detached && !cm->released;
	case 'A':
	case 'a':
		return cm->id.provider_data && !cm->refused;
	case 'B':
		return cm->accepted && !cm->muted;
	case 'J':
		return cm->id.provider_data;
	case 'W':
		return cm->rk->qp->ep;
	default:
		return true;
	}
}

static bool is_mpa(char c)
{
	return strchr("Ddlqejfmncz", c);
}

static void step(struct cm *cm, char c)
{
	cm->stuck = cm->stuck || !can(cm, c);
	if (cm->stuck)
		return;
	did(cm, c);
	if (is_mpa(c))
		mpa_step(cm, c);
	else
		iw_step(cm, c);
}

/* The address that a peer has connected to */
static struct sockaddr_in *cm_local(struct rnic_kunit *rk)
{
	return (struct sockaddr_in *)&rk->conn.info.local;
}

static void cm_begin(struct cm *cm, struct rnic_kunit *rk, bool listens)
{
	struct iw_cm_id id = {
		.device		= &rk->dev->ib,
		.context	= cm,
		.event_handler	= cm_event,
		.add_ref	= cm_add_ref,
		.rem_ref	= cm_rem_ref,
		.m_local_addr	= { .ss_family = AF_INET },
		.m_remote_addr	= { .ss_family = AF_INET },
	};

	*cm = (struct cm) { .rk = rk, .id = id, .listen = id };
	cm->rdma.route.addr.dev_addr.net = &init_net;
	memset(&rk->conn, 0, sizeof(rk->conn));
	cm_local(rk)->sin_family = AF_INET;
	cm_local(rk)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	INIT_LIST_HEAD(&rk->conn.tx);
	rk->dev->going = false;
	rk->qp->state = IB_QPS_INIT;
	rk->qp->failed = false;
	rk->qp->sq.q.flushes = false;
	rk->qp->sq.closing = false;
	rk->qp->sq.leave = false;
	rk->qp->sq.leaving = false;
	rk->qp->rq.flushes = false;
	if (listens)
		cm->listening = !rnic_iw_create_listen(&cm->listen, 1);
}

static int count(const struct cm *cm, char event)
{
	const char *c;
	int n = 0;

	for (c = cm->said; *c; c++)
		n += *c == event;
	return n;
}

/* MPA comes to its end; then all is as before. */
static void cm_end(struct cm *cm)
{
	struct kunit *test = cm->rk->test;
	struct rnic_kunit *rk = cm->rk;
	int up;

	if (rk->conn.done && !cm->done)
		mpa_step(cm, 'D');
	if (rk->conn.live)
		mpa_step(cm, 'c');
	if (rk->conn.detached && !cm->released)
		mpa_step(cm, 'z');
	if (cm->listening)
		iw_step(cm, 'L');
	if (cm->held)
		rnic_qp_put(cm->held);
	up = count(cm, 'R') + count(cm, 'E');
	if (rk->qp->state == IB_QPS_ERR)
		KUNIT_EXPECT_TRUE_MSG(test, rk->qp->sq.q.flushes, "%s",
				      cm->did);
	if (!cm->muted)
		KUNIT_EXPECT_EQ_MSG(test, up + count(cm, 'r'),
				    cm->connected || cm->accepted,
				    "%s gives %s", cm->did, cm->said);
	KUNIT_EXPECT_LE_MSG(test, up + count(cm, 'r'), 1, "%s gives %s",
			    cm->did, cm->said);
	KUNIT_EXPECT_EQ_MSG(test, up && !(cm->muted && !count(cm, 'C')),
			    count(cm, 'C'), "%s gives %s", cm->did, cm->said);
	if (count(cm, 'C'))
		KUNIT_EXPECT_TRUE_MSG(test, cm->said[strlen(cm->said) - 1] ==
				      'C', "%s gives %s", cm->did, cm->said);
	rk_settle(rk);
	KUNIT_EXPECT_EQ_MSG(test, 0, cm->refs, "%s", cm->did);
	KUNIT_EXPECT_EQ_MSG(test, 0, rk->conn.handles, "%s", cm->did);
	KUNIT_EXPECT_NULL_MSG(test, rk->qp->ep, "%s", cm->did);
	KUNIT_EXPECT_EQ_MSG(test, 1, refcount_read(&rk->qp->refs), "%s",
			    cm->did);
	KUNIT_EXPECT_EQ_MSG(test, 1, refcount_read(&other_qp.refs), "%s",
			    cm->did);
	KUNIT_EXPECT_EQ_MSG(test, 1, refcount_read(&rk->dev->ib.refcount), "%s",
			    cm->did);
	KUNIT_EXPECT_TRUE_MSG(test, xa_empty(&rk->dev->eps), "%s", cm->did);
}

static void inner(void *arg)
{
	struct cm *cm = arg;

	did(cm, '(');
	for (; cm->nr_inner; cm->nr_inner--)
		step(cm, *cm->inner++);
	did(cm, ')');
}

/*
 * The steps in @order; those from @at + 1 on, @nr of them, at the lock @lock of
 * the step @at. False if that step takes fewer locks.
 */
static bool run(struct rnic_kunit *rk, const char *order, int at, int nr,
		int lock)
{
	bool listens = strchr(order, 'l') || strchr(order, 'L');
	bool reached = true;
	struct cm cm;
	int i;

	cm_begin(&cm, rk, listens);
	for (i = 0; order[i]; i++) {
		if (nr && i == at) {
			cm.inner = order + at + 1;
			cm.nr_inner = nr;
			rk_race.arg = &cm;
			rk_race.after = lock;
			rk_race.other = inner;
		}
		step(&cm, order[i]);
		if (nr && i == at) {
			reached = !rk_race.other;
			rk_race.other = NULL;
			i += nr;
		}
		if (cm.killed && rk->conn.live)
			KUNIT_EXPECT_TRUE_MSG(rk->test, rk->conn.aborts ||
					      rk->qp->sq.leave, "%s", cm.did);
		/* The device does not wait for a silent peer. */
		if ((cm.killed || rk->dev->going) && rk->conn.done && !cm.done)
			KUNIT_EXPECT_EQ_MSG(rk->test, 0, rk->conn.handles, "%s",
					    cm.did);
		/* Nor for an answer that may never come. */
		if (rk->dev->going && listens && !cm.listening &&
		    rk->conn.live && !cm.accepted)
			KUNIT_EXPECT_GT_MSG(rk->test, rk->conn.aborts, 0, "%s",
					    cm.did);
	}
	if (cm.killed && !rk->qp->ep)
		KUNIT_EXPECT_TRUE_MSG(rk->test, rk->qp->sq.q.flushes, "%s",
				      cm.did);
	cm_end(&cm);
	return reached;
}

/* This order of all steps, and the other side's steps inside each step */
static void run_order(struct rnic_kunit *rk, const char *order)
{
	int at, nr, lock;

	run(rk, order, 0, 0, 0);
	for (at = 0; order[at]; at++) {
		bool mpa = is_mpa(order[at]);

		for (nr = 1; order[at + nr] &&
		     (is_mpa(order[at + nr]) != mpa ||
		      strchr("KLX", order[at + nr])); nr++)
			for (lock = 0; rk->test->status == KUNIT_SUCCESS &&
			     run(rk, order, at, nr, lock); lock++)
				;
	}
}

static void events_test(struct kunit *test)
{
	const struct row *row = test->param_value;
	u32 len = strlen(row->mpa) + strlen(row->iw), mask, i;
	struct rnic_kunit *rk = test->priv;

	rk_qp(rk, 4);
	for (mask = 0; mask < BIT(len); mask++) {
		const char *mpa = row->mpa, *iw = row->iw;
		char order[STEPS] = "";

		if (hweight32(mask) != strlen(iw))
			continue;
		for (i = 0; i < len; i++)
			order[i] = mask & BIT(i) ? *iw++ : *mpa++;
		run_order(rk, order);
		if (test->status != KUNIT_SUCCESS)
			return;
	}
}

/* As iw_cm calls it, for an application or for the kernel */
static bool can_name(struct rnic_kunit *rk, bool application)
{
	struct ib_qp *found;

	local_irq_disable();
	if (application)
		current->flags &= ~PF_KTHREAD;
	found = rnic_iw_get_qp(&rk->dev->ib, rk->qp->ib.qp_num);
	current->flags |= PF_KTHREAD;
	local_irq_enable();
	if (found)
		rnic_qp_put(to_qp(found));
	return found;
}

/* One of the kernel is connected by its workers, or by who has created it. */
static void kernel_qp_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct pid *owner;

	rk_qp(rk, 4);
	owner = rk->qp->owner;
	KUNIT_EXPECT_TRUE(test, can_name(rk, true));
	rk->qp->owner = find_get_pid(1);
	KUNIT_EXPECT_TRUE(test, can_name(rk, false));
	KUNIT_EXPECT_FALSE(test, can_name(rk, true));
	put_pid(rk->qp->owner);
	rk->qp->owner = owner;
	rk->qp->dead = true;
	KUNIT_EXPECT_FALSE(test, can_name(rk, false));
	rk->qp->dead = false;
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&rk->qp->refs));
}

/* An application may name any QP, but not connect that of another. */
static void stranger_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct pid *owner;
	struct cm cm;

	rk_qp(rk, 4);
	rk->qp->kernel = false;
	owner = rk->qp->owner;
	rk->qp->owner = find_get_pid(1);
	cm_begin(&cm, rk, false);
	step(&cm, 'U');
	KUNIT_EXPECT_FALSE(test, cm.connected);
	put_pid(rk->qp->owner);
	rk->qp->owner = owner;
	cm_end(&cm);
	cm_begin(&cm, rk, false);
	step(&cm, 'U');
	KUNIT_EXPECT_TRUE(test, cm.connected);
	step(&cm, 'D');
	cm_end(&cm);
	rk->qp->kernel = true;
}

static const struct reserves {
	const char	*desc;
	bool		kernel;
	u32		peer;
	const char	*order;
	bool		set;
} reserves[] = {
	{ "Initiator, kernel",		true,  INADDR_ANY,	"Ude",	true },
	{ "Initiator, application",	false, INADDR_LOOPBACK,	"Ude",	false },
	{ "Responder, peer here",	true,  INADDR_LOOPBACK,	"lqAe",	true },
	{ "Responder, peer elsewhere",	true,  INADDR_ANY,	"lqAe",	false },
	{ "Responder, application",	false, INADDR_LOOPBACK,	"lqAe",	false },
};

MPA_ROWS(reserves, reserves);

/* Which sockets get packets, and which connections memory, from the reserves */
static void reserves_test(struct kunit *test)
{
	const struct reserves *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	struct sockaddr_in *peer;
	struct sock *sk;
	const char *c;
	struct cm cm;

	rk_qp(rk, 4);
	rk->qp->kernel = row->kernel;
	cm_begin(&cm, rk, strchr(row->order, 'l'));
	peer = (struct sockaddr_in *)&cm.id.m_remote_addr;
	peer->sin_addr.s_addr = htonl(row->peer);
	for (c = row->order; *c; c++)
		step(&cm, *c);
	KUNIT_EXPECT_FALSE(test, cm.stuck);
	sk = rk->conn.sock->sk;
	KUNIT_EXPECT_EQ(test, row->set, sock_flag(sk, SOCK_MEMALLOC));
	KUNIT_EXPECT_EQ(test, !row->kernel,
			!!(sk->sk_allocation & __GFP_NOMEMALLOC));
	cm_end(&cm);
	rk->qp->kernel = true;
}

static const struct tos {
	const char	*desc;
	int		family;
	bool		listens;
} toses[] = {
	{ "IPv4, connects",	AF_INET,	false },
	{ "IPv4, listens",	AF_INET,	true },
	{ "IPv6, connects",	AF_INET6,	false },
	{ "IPv6, listens",	AF_INET6,	true },
};

MPA_ROWS(tos, toses);

/* Both ends send with the type of service that rdma_cm was told. */
static void tos_test(struct kunit *test)
{
	const struct tos *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	struct iw_cm_id *id;
	struct socket *sock;
	struct cm cm;

	if (sock_create_kern(&init_net, row->family, SOCK_STREAM, IPPROTO_TCP,
			     &sock))
		kunit_skip(test, "no IPv6");
	rk_qp(rk, 4);
	cm_begin(&cm, rk, false);
	id = row->listens ? &cm.listen : &cm.id;
	id->tos_set = true;
	id->tos = 0x2b;
	if (row->listens)
		cm.listening = !rnic_iw_create_listen(id, 1);
	else
		step(&cm, 'U');
	KUNIT_EXPECT_EQ(test, 0, rk->conn.setup(sock, row->listens ?
						rk->conn.listen_ctx :
						rk->conn.ctx));
	KUNIT_EXPECT_TRUE(test, sock_flag(sock->sk, SOCK_KEEPOPEN));
	KUNIT_EXPECT_EQ(test, 0x28, inet_sk(sock->sk)->tos);
	if (row->family == AF_INET6)
		KUNIT_EXPECT_EQ(test, 0x28, inet6_sk(sock->sk)->tclass);
	sock_release(sock);
	cm_end(&cm);
}

/*
 * A listener of another namespace opens no socket in that of the netdev, nor
 * does one whose namespace may not use the device; and no connection begins
 * there: the netdev has moved since rdma_cm looked.
 */
static void elsewhere_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct cm cm;

	rk_qp(rk, 4);
	cm_begin(&cm, rk, false);
	cm.rdma.route.addr.dev_addr.net = NULL;
	cm.listening = !rnic_iw_create_listen(&cm.listen, 1);
	KUNIT_EXPECT_TRUE(test, cm.listening);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.handles);
	cm_end(&cm);
	rk_no_access = true;
	cm_begin(&cm, rk, true);
	rk_no_access = false;
	KUNIT_EXPECT_TRUE(test, cm.listening);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.handles);
	cm_end(&cm);
	cm_begin(&cm, rk, false);
	cm.rdma.route.addr.dev_addr.net = NULL;
	KUNIT_EXPECT_EQ(test, -ENODEV, cm_connect(&cm));
	KUNIT_EXPECT_TRUE(test, !rk->conn.done);
	cm_end(&cm);
}

/*
 * TCP has the port: that fails a program's listener, but not a device that is
 * added, for which rdma_cm would not use it at all.
 */
static void port_taken_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct sockaddr_in *sin;
	struct cm cm;

	rk_qp(rk, 4);
	cm_begin(&cm, rk, false);
	sin = (struct sockaddr_in *)&cm.listen.m_local_addr;
	rk->conn.err = -EADDRINUSE;
	rk->dev->added = true;
	KUNIT_EXPECT_EQ(test, -EADDRINUSE,
			rnic_iw_create_listen(&cm.listen, 1));
	KUNIT_EXPECT_EQ(test, 0, cm.refs);
	rk->dev->added = false;
	/* On one address only a program listens, which is told. */
	sin->sin_addr.s_addr = htonl(0xc0000201);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE,
			rnic_iw_create_listen(&cm.listen, 1));
	sin->sin_addr.s_addr = htonl(INADDR_ANY);
	cm.listening = !rnic_iw_create_listen(&cm.listen, 1);
	KUNIT_EXPECT_TRUE(test, cm.listening);
	KUNIT_EXPECT_EQ(test, 1, cm.refs);
	cm_end(&cm);
}

/* A Request for an address that our netdev does not have, or no longer */
static void astray_test(struct kunit *test)
{
	static const u32 addrs[] = { INADDR_LOOPBACK, 0xc0000201 };
	struct rnic_kunit *rk = test->priv;
	struct cm cm;
	int i;

	rk_qp(rk, 4);
	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		cm_begin(&cm, rk, true);
		cm_local(rk)->sin_addr.s_addr = htonl(addrs[i]);
		step(&cm, 'l');
		step(&cm, 'q');
		KUNIT_EXPECT_FALSE(test, cm.stuck);
		KUNIT_EXPECT_EQ(test, i, rk->conn.rejected);
		KUNIT_EXPECT_EQ(test, !i, !!cm.id.provider_data);
		cm_end(&cm);
	}
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE_PARAM(events_test, row_gen_params),
	KUNIT_CASE(kernel_qp_test),
	KUNIT_CASE(stranger_test),
	KUNIT_CASE_PARAM(reserves_test, reserves_gen_params),
	KUNIT_CASE_PARAM(tos_test, tos_gen_params),
	KUNIT_CASE(elsewhere_test),
	KUNIT_CASE(port_taken_test),
	KUNIT_CASE(astray_test),
	{}
};

static int cm_init(struct kunit *test)
{
	struct rnic_kunit *rk;
	int err = rk_init(test);

	if (err)
		return err;
	rk = test->priv;
	memset(&other_qp, 0, sizeof(other_qp));
	rnic_qp_init(&other_qp);
	spin_lock_init(&other_qp.sq.q.lock);
	return rnic_number(&rk->dev->qps, &other_qp.ib.qp_num, &other_qp);
}

static void cm_exit(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	xa_erase(&rk->dev->qps, other_qp.ib.qp_num);
	rk_exit(test);
}

static struct kunit_suite cm_suite = {
	.name = "mpa_rnic_cm",
	.init = cm_init,
	.exit = cm_exit,
	.test_cases = cm_cases,
};

kunit_test_suite(cm_suite);
