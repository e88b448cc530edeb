// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resources that connections share: workqueues, memory that consumers keep, and
 * the wait of the module's exit.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/vmalloc.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "mpa_rx_batch.h"
#include "mpa_conn_test.h"

#define SHARED_PATIENCE	(60 * HZ)

enum {
	BLOCKED		= WQ_DFL_ACTIVE,
	BLOCKED_LEN	= 10,
	BLOCKED_BUF	= 64,
};

struct blocked;

/* A connection whose recv() blocks */
struct blocked_conn {
	struct blocked	*all;
	struct mpa_conn	*conn;
	struct socket	*sock;
	struct socket	*far;	/* of its peer */
};

/* Connections whose recv() waits for an echo */
struct blocked {
	wait_queue_head_t	wait;		/* woken by each callback */
	struct completion	echoed;		/* the echo has arrived */
	atomic_t		inside;		/* calls of recv() begun */
	atomic_t		released;	/* connections released */
	struct completion	connected;	/* done() without an error */
	struct completion	accepted;
	u32			nr;		/* connections made */
	struct blocked_conn	c[BLOCKED];
};

static void blocked_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct blocked_conn *c = mpa_conn_ctx(conn);

	atomic_inc(&c->all->inside);
	wake_up(&c->all->wait);
	/* No timeout: blocked_close() completes it, and setup is slow. */
	wait_for_completion_state(&c->all->echoed, TASK_IDLE);
}

static void blocked_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
}

static void blocked_released(struct mpa_conn *conn, struct list_head *left)
{
	struct blocked_conn *c = mpa_conn_ctx(conn);

	atomic_inc(&c->all->released);
	wake_up(&c->all->wait);
}

static const struct mpa_ops blocked_ops = {
	.recv		= blocked_recv,
	.ended		= blocked_ended,
	.released	= blocked_released,
};

/*
 * Wait until the octets have arrived and the work item is idle. It should not
 * be queued again while it is in recv(): the workqueue would count it twice. If
 * it does not become idle, the workqueue already runs as many items as it may.
 */
static int blocked_settle(struct blocked_conn *c, u32 octets)
{
	const struct tcp_sock *tp = tcp_sk(c->sock->sk);

	return CONN_UNTIL(READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq) >=
			  octets && !work_busy(&c->conn->work)) ?
	       0 : -ETIMEDOUT;
}

/* Open a connection without startup frames, with one ULPDU to deliver. */
static int blocked_open(struct blocked *all)
{
	const struct mpa_peer_opts opts = { .rcvbuf = 4096, .sndbuf = 4096 };
	struct blocked_conn *c = &all->c[all->nr];
	struct mpa_params params = {
		.ops = &blocked_ops, .ctx = c, .rev = MPA_REV_1,
	};
	const u8 ulpdu[BLOCKED_LEN] = {};
	struct mpa_peer peer = {};
	u8 buf[BLOCKED_BUF];
	u32 size;
	int err;

	c->all = all;
	err = mpa_peer_pair(&opts, &c->sock, &c->far);
	if (err)
		return err;
	c->conn = mpa_attach(c->sock, &params);
	if (IS_ERR(c->conn)) {
		mpa_peer_close(c->sock);
		mpa_peer_close(c->far);
		return PTR_ERR(c->conn);
	}
	all->nr++;
	err = mpa_start_immediate(c->conn);
	if (err)
		return err;
	size = mpa_ref_encode(buf, 0, ulpdu, sizeof(ulpdu), true, true);
	peer.sock = c->far;
	err = mpa_peer_write(&peer, buf, size) ?: blocked_settle(c, size);
	if (!err)
		mpa_resume(c->conn);
	return err;
}

static void blocked_close(struct conn_test *t, struct blocked *all)
{
	bool released;
	u32 i;

	complete_all(&all->echoed);
	for (i = 0; i < all->nr; i++)
		mpa_detach(all->c[i].conn);
	released = wait_event_timeout(all->wait,
				      atomic_read(&all->released) == all->nr,
				      SHARED_PATIENCE);
	EXPECT_TRUE(t, released);
	mpa_barrier();
	for (i = 0; i < all->nr; i++) {
		mpa_peer_close(all->c[i].sock);
		mpa_peer_close(all->c[i].far);
	}
}

static void blocked_done(void *ctx, struct socket *sock, struct mpa_conn *conn,
			 int err)
{
	struct blocked *all = ctx;

	if (err)
		return;
	sock_release(sock);
	complete(&all->connected);
}

static void blocked_accepted(void *ctx, struct socket *sock)
{
	struct blocked *all = ctx;

	sock_release(sock);
	complete(&all->accepted);
}

/* True if a connection is made and accepted, both with MPA_F_MEMALLOC. */
static bool blocked_connect(struct blocked *all)
{
	struct mpa_sock_params params = {
		.net = &init_net, .flags = MPA_F_MEMALLOC, .ctx = all,
	};
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.local;
	struct mpa_listener *listener;
	struct mpa_connector *connector;
	u16 port = 15044;
	bool both;

	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	do {
		sin->sin_port = htons(port++);
		listener = mpa_listen(&params, blocked_accepted);
	} while (listener == ERR_PTR(-EADDRINUSE) && port < 15144);
	if (IS_ERR(listener))
		return false;
	params.peer = params.local;
	params.local.ss_family = AF_UNSPEC;
	connector = mpa_connect(&params, blocked_done);
	both = !IS_ERR(connector) &&
	       wait_for_completion_timeout(&all->connected, 20 * HZ) &&
	       wait_for_completion_timeout(&all->accepted, 20 * HZ);
	if (!IS_ERR(connector))
		mpa_connect_close(connector);
	mpa_listen_close(listener);
	return both;
}

/* The callbacks of all other connections wait for the echo on this one. */
static void blocked_hook(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV)
		complete_all(&t->shared->echoed);
}

/* True if the connection sends a message and the peer's answer is received. */
static bool blocked_echo(struct conn_test *t, struct conn_msg *msg, u32 size)
{
	t->a.hook = blocked_hook;
	if (mpa_send(t->a.conn, &msg->tx) ||
	    mpa_peer_read(&t->peer, t->peer.used + size) ||
	    mpa_peer_write(&t->peer, t->buf, t->buf_len))
		return false;
	return mpa_consumer_wait(&t->a, EV_ULPDUS, 1);
}

/*
 * As many callbacks as a workqueue runs at the same time on a CPU wait for an
 * echo over a reclaim-safe connection. Neither that connection nor the making
 * of another one waits for these callbacks.
 */
static void shared_blocked(struct conn_test *t)
{
	struct conn_msg *msg;
	struct blocked *all;
	bool inside = false, connected = false, echoed = false;
	int err = 0, blocked;

	all = kunit_kzalloc(t->test, sizeof(*all), GFP_KERNEL);
	ASSERT_NOT_NULL(t, all);
	init_waitqueue_head(&all->wait);
	init_completion(&all->echoed);
	init_completion(&all->connected);
	init_completion(&all->accepted);
	t->shared = all;

	/* The loopback device, and so the callbacks, run on this CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	conn_open(t, CONN_INITIATOR, MPA_F_MARKERS | MPA_F_MEMALLOC,
		  PEER_M | PEER_C);
	msg = conn_msg(t, 100);
	conn_fpdu(t, 100);
	while (!err && all->nr < BLOCKED)
		err = blocked_open(all);
	blocked = all->nr;
	/* Some were queued twice, so that fewer fill the workqueue. */
	if (err == -ETIMEDOUT && blocked > BLOCKED / 2) {
		err = 0;
		blocked--;
	}
	if (!err)
		inside = wait_event_timeout(all->wait, blocked ==
					    atomic_read(&all->inside),
					    SHARED_PATIENCE / 2);
	if (inside) {
		connected = blocked_connect(all);
		echoed = blocked_echo(t, msg, mpa_ref_size(0, 100, true));
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);

	blocked_close(t, all);
	EXPECT_EQ(t, err, 0);
	EXPECT_TRUE(t, inside);
	EXPECT_TRUE(t, connected);
	EXPECT_TRUE(t, echoed);
}

/* Keep a batch after released(), with a copy made by vmalloc(). */
static u8 *shared_kept_copy(struct conn_test *t)
{
	struct mpa_batch *b;
	u8 *copy;

	conn_default(t);
	t->a.keep = true;
	conn_peer_send(t, 1000);
	conn_expect_rx(t, &t->a, 1);
	t->a.keep = false;
	b = container_of(t->a.kept[0], struct mpa_batch, rx);
	ASSERT_NULL(t, b->copy);
	copy = vmalloc(PAGE_SIZE);
	ASSERT_NOT_NULL(t, copy);
	b->copy = copy;
	conn_detach(t, &t->a);
	mpa_barrier();
	return copy;
}

static DEFINE_SPINLOCK(shared_lock);

/*
 * The last mpa_rx_put() comes after released(), with a spinlock held. vfree()
 * may sleep, so a work item frees the memory later.
 */
static void shared_put_atomic(struct conn_test *t)
{
	u8 *copy = shared_kept_copy(t);
	bool mapped;

	spin_lock(&shared_lock);
	mpa_consumer_put(&t->a, 0);
	mapped = vmalloc_to_page(copy);
	spin_unlock(&shared_lock);
	EXPECT_TRUE(t, mapped);
	EXPECT_TRUE(t, CONN_UNTIL(!vmalloc_to_page(copy)));
}

/*
 * TCP builds an MTU probe from queued pages, without a reference on the message
 * that they belong to, which could be handed back while the probe is still on
 * its way. So MPA copies messages if TCP may probe.
 */
static void shared_mtu_probe(struct conn_test *t)
{
	unsigned long pages, copied;
	struct conn_msg *msg;

	conn_default(t);
	pages = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	copied = conn_counter(t, MPA_MIB_TX_COPIED);
	if (conn_arg(t))
		inet_csk(t->sock[0]->sk)->icsk_mtup.enabled = 1;
	else
		WRITE_ONCE(init_net.ipv4.sysctl_tcp_mtu_probing, 1);
	msg = conn_page_msg(t, 1000);
	conn_send(t, msg);
	EXPECT_TRUE(t, mpa_consumer_wait(&t->a, EV_DONE, 1));
	WRITE_ONCE(init_net.ipv4.sysctl_tcp_mtu_probing, 0);
	inet_csk(t->sock[0]->sk)->icsk_mtup.enabled = 0;
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_ZEROCOPY), pages);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_COPIED), copied + 1);
	conn_expect_tx(t, 1000);
}

static int shared_exit(void *data)
{
	struct completion *left = data;

	mpa_conn_wait_none();
	complete(left);
	return 0;
}

/*
 * A reference on a connection is left after released() and mpa_barrier(): that
 * of a batch which the consumer keeps, or (@arg) that of the network stack,
 * preempted between dropping its last reference on zero-copy pages and
 * queueing the work item. The module's exit waits until the reference is put.
 */
static void shared_late_put(struct conn_test *t)
{
	DECLARE_COMPLETION_ONSTACK(left);
	struct task_struct *task;
	struct mpa_conn *conn;

	conn_default(t);
	conn = t->a.conn;
	t->a.keep = !conn_arg(t);
	conn_peer_send(t, 10);
	conn_expect_rx(t, &t->a, 1);
	if (conn_arg(t))
		kref_get(&conn->ref);
	conn_detach(t, &t->a);
	mpa_barrier();

	task = kthread_run(shared_exit, &left, "mpa_exit");
	if (!IS_ERR(task))
		EXPECT_EQ(t, 0, wait_for_completion_timeout(&left, HZ / 10));
	if (conn_arg(t))
		mpa_conn_kick_put(conn);
	else
		mpa_consumer_put(&t->a, 0);
	ASSERT_FALSE(t, IS_ERR(task));
	wait_for_completion(&left);
}

static s64 shared_rx_mem(const struct conn_test *t)
{
	return percpu_counter_sum(&t->mn->rx_mem);
}

/* The peer sends @nr ULPDUs; the consumer keeps each one that is passed. */
static void shared_keep(struct conn_test *t, u32 nr)
{
	u32 i;

	t->a.keep = true;
	for (i = 0; i < nr; i++) {
		conn_peer_send(t, 1000);
		conn_settle(&t->a);
	}
}

static void shared_put(struct conn_test *t)
{
	t->a.keep = false;
	mpa_consumer_put_all(&t->a);
}

/*
 * At the namespace's limit for memory in kept batches one more batch at most is
 * passed. Everything is delivered once the limit is raised.
 */
static void shared_rx_mem_limit(struct conn_test *t)
{
	unsigned long limited;
	s64 one;

	conn_default(t);
	limited = conn_counter(t, MPA_MIB_RX_LIMITED);
	ASSERT_EQ(t, shared_rx_mem(t), 0);
	shared_keep(t, 1);
	one = shared_rx_mem(t);
	EXPECT_GE(t, one, 1000);
	WRITE_ONCE(t->mn->rx_mem_max, 3 * one);
	shared_keep(t, 6);
	EXPECT_EQ(t, t->a.nr_kept, 4);
	EXPECT_LE(t, shared_rx_mem(t), 4 * one);
	EXPECT_GT(t, conn_counter(t, MPA_MIB_RX_LIMITED), limited);

	t->a.keep = false;
	WRITE_ONCE(t->mn->rx_mem_max, t->rx_mem_max);
	conn_expect_rx(t, &t->a, 7);
	shared_put(t);
	conn_settle(&t->a);
	EXPECT_EQ(t, shared_rx_mem(t), 0);
	conn_expect_alive(t, &t->a);
}

/*
 * Other connections use up the limit. A connection that keeps no batch goes on.
 * One that keeps batches goes on once the others put theirs, without a
 * mpa_rx_put() of its own; with MPA_F_MEMALLOC (@arg) it does not wait for
 * them.
 */
static void shared_rx_mem_others(struct conn_test *t)
{
	conn_open(t, CONN_INITIATOR, MPA_F_MARKERS | conn_arg(t),
		  PEER_M | PEER_C);
	conn_use_up(t);
	conn_peer_send(t, 1000);
	conn_peer_send(t, 1000);
	conn_expect_rx(t, &t->a, 2);
	shared_keep(t, 2);
	EXPECT_EQ(t, t->a.nr_kept, conn_arg(t) ? 2 : 1);
	conn_give_back(t);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 4);
	shared_put(t);
	conn_settle(&t->a);
	EXPECT_EQ(t, shared_rx_mem(t), 0);
}

/* Batches kept after released() do not count: the namespace may be gone. */
static void shared_rx_mem_released(struct conn_test *t)
{
	conn_default(t);
	shared_keep(t, 1);
	EXPECT_GT(t, shared_rx_mem(t), 0);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, shared_rx_mem(t), 0);
	shared_put(t);
	mpa_conn_wait_none();
	EXPECT_EQ(t, shared_rx_mem(t), 0);
}

/* A connection on hold does not wait for the limit: it would pass nothing. */
static void shared_rx_mem_held(struct conn_test *t)
{
	unsigned long limited;

	conn_default(t);
	limited = conn_counter(t, MPA_MIB_RX_LIMITED);
	shared_keep(t, 1);
	conn_expect_rx(t, &t->a, 1);
	mpa_hold(t->a.conn);
	WRITE_ONCE(t->mn->rx_mem_max, 0);
	conn_peer_send(t, 1000);
	conn_settle(&t->a);
	WRITE_ONCE(t->mn->rx_mem_max, t->rx_mem_max);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RX_LIMITED), limited);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 2);
	shared_put(t);
}

static const struct conn_row shared_rows[] = {
	{ "256 blocked callbacks do not delay MPA_F_MEMALLOC",
	  shared_blocked, .slow = true },
	{ "last mpa_rx_put() in atomic context, after released()",
	  shared_put_atomic },
	{ "the module's exit waits for kept batches", shared_late_put, 0 },
	{ "the module's exit waits for a late last reference",
	  shared_late_put, 1 },
	{ "no zero copy with net.ipv4.tcp_mtu_probing", shared_mtu_probe, 0 },
	{ "no zero copy once TCP probes the MTU", shared_mtu_probe, 1 },
	{ "net.mpa.rx_mem_max bounds kept batches", shared_rx_mem_limit },
	{ "net.mpa.rx_mem_max used up by other connections",
	  shared_rx_mem_others, 0 },
	{ "net.mpa.rx_mem_max does not stop MPA_F_MEMALLOC",
	  shared_rx_mem_others, MPA_F_MEMALLOC },
	{ "rx_mem after released()", shared_rx_mem_released },
	{ "rx_mem on hold", shared_rx_mem_held },
};

CONN_ROWS(shared);
