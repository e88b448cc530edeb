// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Checks the order of callbacks that include/net/mpa.h promises. */
#include <linux/delay.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>

#include "races.h"

/* Initial fields of a kernel TCP socket */
static struct {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
	/* of IPv4 and IPv6 */
	const struct inet_connection_sock_af_ops *af_ops[2];
} untouched;

static int check_init_family(int family)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	err = sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;
	sk = sock->sk;
	untouched.data_ready = sk->sk_data_ready;
	untouched.state_change = sk->sk_state_change;
	untouched.write_space = sk->sk_write_space;
	untouched.error_report = sk->sk_error_report;
	untouched.af_ops[family == AF_INET6] = inet_csk(sk)->icsk_af_ops;
	sock_release(sock);
	return 0;
}

int race_check_init(void)
{
	int err = check_init_family(AF_INET);

	return err ?: check_init_family(AF_INET6);
}

/* In released(): the socket is as it was before mpa_attach(). */
void race_check_sock(const struct race_end *e)
{
	const struct sock *sk = e->sock->sk;

	if (sk->sk_user_data)
		race_found(e, "sk_user_data is left");
	if (sk->sk_data_ready != untouched.data_ready ||
	    sk->sk_state_change != untouched.state_change ||
	    sk->sk_write_space != untouched.write_space ||
	    sk->sk_error_report != untouched.error_report)
		race_found(e, "a callback of the socket is left");
	if (inet_csk(sk)->icsk_af_ops !=
	    untouched.af_ops[sk->sk_family == AF_INET6])
		race_found(e, "operations of the socket are left");
}

/* Looked at twice, it has not gone back. */
void race_check_info(struct race_end *e, struct mpa_conn *conn)
{
	struct mpa_info a, b;

	mpa_get_info(conn, &a);
	mpa_get_info(conn, &b);
	if (b.state < a.state || b.tx_pos < a.tx_pos || b.rx_pos < a.rx_pos ||
	    b.ulpdus_tx < a.ulpdus_tx || b.ulpdus_rx < a.ulpdus_rx)
		race_found(e, "mpa_get_info() goes back");
	if (a.mulpdu < MPA_MULPDU_MIN || a.mulpdu > MPA_MULPDU_MAX)
		race_found(e, "a MULPDU of %u", a.mulpdu);
}

#define SEEN(what)	BIT(RACE_##what)

static const struct {
	const char	*name;
	unsigned long	after;		/* has to have come */
	unsigned long	not_after;	/* must not have come */
} orders[] = {
	[RACE_REQUEST] = {
		.name = "request",
		.not_after = SEEN(ESTABLISHED) | SEEN(REJECTED) | SEEN(ENDED) |
			     SEEN(CLOSED) | SEEN(ANSWERED),
	},
	[RACE_ESTABLISHED] = {
		.name = "established",
		.not_after = SEEN(REJECTED) | SEEN(ENDED) | SEEN(CLOSED),
	},
	[RACE_REJECTED] = {
		.name = "rejected",
		.not_after = SEEN(ESTABLISHED) | SEEN(ENDED) | SEEN(CLOSED),
	},
	[RACE_ENDED] = {
		.name = "ended",
		.not_after = SEEN(CLOSED),
	},
	[RACE_CLOSED] = {
		.name = "closed",
		.after = SEEN(ENDED),
	},
	[RACE_RELEASED] = {
		.name = "released",
	},
	[RACE_RECV] = {
		.name = "recv",
		.after = SEEN(ESTABLISHED),
		.not_after = SEEN(REJECTED) | SEEN(ENDED) | SEEN(CLOSED),
	},
	[RACE_SENT] = {
		.name = "sent",
		.not_after = SEEN(REJECTED) | SEEN(CLOSED),
	},
	[RACE_MULPDU] = {
		.name = "mulpdu",
	},
	[RACE_RUN] = {
		.name = "run",
		.not_after = SEEN(REJECTED) | SEEN(CLOSED),
	},
};

static void check_order(struct race_end *e, enum race_seen what)
{
	unsigned long seen = READ_ONCE(e->seen);

	if ((seen & orders[what].after) != orders[what].after ||
	    seen & orders[what].not_after)
		race_found(e, "%s() out of order", orders[what].name);
	if (what < RACE_OFTEN && seen & BIT(what))
		race_found(e, "%s() twice", orders[what].name);
	if (what == RACE_REQUEST && e->initiator)
		race_found(e, "request() at the Initiator");
	if (what == RACE_ESTABLISHED && !e->initiator && !e->immediate &&
	    !(seen & SEEN(ANSWERED)))
		race_found(e, "established() before the answer");
}

/*
 * When mpa_detach() has returned none starts; but one that MPA has decided on
 * before may not have got here yet, unless it was a callback that detached.
 */
static void check_detached(struct race_end *e, enum race_seen what)
{
	int left = atomic_read(&e->left);

	if (!left)
		return;
	if (atomic_inc_return(&e->late) > left - 1)
		race_found(e, "%s() after mpa_detach()", orders[what].name);
}

/* The same of recv() and mpa_hold() */
static void check_held(struct race_end *e)
{
	if (atomic_read(&e->held) && atomic_inc_return(&e->held_recv) > 1)
		race_found(e, "recv() after mpa_hold()");
}

/* A callback has come; returns its end. */
struct race_end *race_check_enter(struct mpa_conn *conn, enum race_seen what)
{
	struct race_end *e = mpa_conn_ctx(conn);

	if (atomic_inc_return(&e->inside) != 1)
		race_found(e, "%s() during a callback", orders[what].name);
	if (test_bit(RACE_RELEASED, &e->seen))
		race_found(e, "%s() after released()", orders[what].name);
	check_order(e, what);
	if (what != RACE_RELEASED)
		check_detached(e, what);
	else if (!atomic_read(&e->detach))
		race_found(e, "released() without mpa_detach()");
	if (what == RACE_RECV)
		check_held(e);
	set_bit(what, &e->seen);
	return e;
}

void race_check_leave(struct race_end *e)
{
	atomic_dec(&e->inside);
}

/*
 * In closed(): all messages that MPA took were handed back. A message about to
 * be refused is counted for a moment, but none is handed back during closed().
 */
void race_check_out(struct race_end *e)
{
	u32 i;

	for (i = 0; atomic_read(&e->out) && i < 500; i++)
		msleep(20);
	if (atomic_read(&e->out))
		race_found(e, "closed() before all was handed back");
}

/* All messages were handed back; a polite peer's messages have all arrived. */
void race_check_released(struct race_end *e)
{
	/*
	 * Those of a thread that sends at once may yet be refused. Pairs with
	 * the release in race_msg_send(): without such a thread @out is final.
	 */
	bool exact = !atomic_read_acquire(&e->nows);
	int out = atomic_read(&e->out);

	race_check_sock(e);
	if (out && exact)
		race_found(e, "%d messages were not handed back", out);
	if (!race_end_polite(e) || !test_bit(RACE_ESTABLISHED, &e->seen))
		return;
	if (e->received != e->peer_quota ||
	    atomic_read(&e->accepted) != e->quota || e->status)
		race_found(e, "received %u of %u, sent %u of %u: %d",
			   e->received, e->peer_quota,
			   atomic_read(&e->accepted), e->quota, e->status);
	else
		race_count(RACE_N_POLITE);
}
