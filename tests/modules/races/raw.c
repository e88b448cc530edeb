// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Peers that speak TCP only, and seldom valid MPA. */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/kthread.h>
#include <net/net_namespace.h>

#include "races.h"

#define RAW_WAIT	(HZ / 10)
#define RAW_FRAME	20
#define RAW_FPDU	48

/* A ULPDU of 42 octets, without markers; its CRC was computed by others. */
static const u8 raw_fpdu[RAW_FPDU] = {
	0x00, 0x2a, 0x41, 0x43, [44] = 0x92, 0xef, 0xe5, 0x34,
};

static struct socket *raw_socket(struct race_world *w)
{
	struct socket *sock;

	if (sock_create_kern(w->net, w->peer.ss_family, SOCK_STREAM,
			     IPPROTO_TCP, &sock))
		return NULL;
	if (race_noref(w))
		sock_no_linger(sock->sk);
	else
		mpa_net_refcnt_upgrade(sock->sk);
	sock->sk->sk_rcvtimeo = RAW_WAIT;
	/* One that is given up may have been accepted. */
	if (!race_calm(w))
		sock->sk->sk_sndtimeo = RAW_WAIT * 10;
	return sock;
}

/* A socket that is connected, or NULL */
struct socket *race_raw_connect(struct race_world *w,
				enum race_port_kind port)
{
	struct socket *sock = raw_socket(w);
	struct sockaddr_storage addr;

	if (!sock)
		return NULL;
	race_peer(w, port, &addr);
	if (!kernel_connect(sock, mpa_sockaddr(&addr), sizeof(addr), 0))
		return sock;
	sock_release(sock);
	return NULL;
}

static void raw_send(struct socket *sock, const void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };

	kernel_sendmsg(sock, &msg, &iov, 1, len);
}

static void raw_read(struct socket *sock, size_t len)
{
	struct msghdr msg = {};
	u8 buf[256];
	struct kvec iov = { .iov_base = buf, .iov_len = sizeof(buf) };

	kernel_recvmsg(sock, &msg, &iov, 1, min(len, sizeof(buf)), 0);
}

/* A startup frame, now and then with one octet that is wrong */
static void raw_frame(struct socket *sock, struct rnd_state *rnd, bool reply)
{
	u8 frame[RAW_FRAME] = "MPA ID Req Frame";
	size_t part = RAW_FRAME;

	if (reply)
		memcpy(frame, "MPA ID Rep Frame", 16);
	frame[16] = race_chance(rnd, 10) ? 0x60 : 0x40;
	frame[17] = race_pick(rnd, 3);
	if (race_chance(rnd, 10))
		frame[race_pick(rnd, RAW_FRAME)] ^= 1 << race_pick(rnd, 8);
	if (race_chance(rnd, 20))
		part = race_pick(rnd, RAW_FRAME);
	raw_send(sock, frame, part);
	if (part == RAW_FRAME || race_chance(rnd, 30))
		return;
	msleep(race_pick(rnd, 10));
	raw_send(sock, frame + part, RAW_FRAME - part);
}

static void raw_fpdus(struct socket *sock, struct rnd_state *rnd)
{
	u32 nr = race_pick(rnd, 8);

	while (nr--)
		raw_send(sock, raw_fpdu, race_chance(rnd, 5) ?
			 race_pick(rnd, RAW_FPDU) : RAW_FPDU);
}

/* Let it go by FIN or RST, now or when others do. */
static void raw_close(struct race_world *w, struct socket *sock,
		      struct rnd_state *rnd)
{
	u32 pick = race_pick(rnd, 100);

	if (pick < 40) {
		spin_lock_bh(&w->lock);
		if (w->nr_parked < RACE_PARKED) {
			w->parked[w->nr_parked++] = sock;
			sock = NULL;
		}
		spin_unlock_bh(&w->lock);
	}
	if (!sock)
		return;
	if (pick < 70)
		sock_no_linger(sock->sk);
	sock_release(sock);
}

/* Close one of the sockets left open; returns false if there is none. */
bool race_raw_unpark(struct race_world *w, bool reset)
{
	struct socket *sock = NULL;

	spin_lock_bh(&w->lock);
	if (w->nr_parked)
		sock = w->parked[--w->nr_parked];
	spin_unlock_bh(&w->lock);
	if (!sock)
		return false;
	if (reset)
		sock_no_linger(sock->sk);
	sock_release(sock);
	return true;
}

static void raw_play(struct race_world *w, struct socket *sock,
		     struct rnd_state *rnd, bool reply)
{
	u32 steps = race_pick(rnd, 5);

	race_count(RACE_N_RAW);
	if (reply && race_chance(rnd, 90))
		raw_read(sock, 256);
	if (race_chance(rnd, 85))
		raw_frame(sock, rnd, reply);
	if (!reply && race_chance(rnd, 85))
		raw_read(sock, 256);
	while (steps--) {
		raw_fpdus(sock, rnd);
		if (race_chance(rnd, 30))
			raw_read(sock, 256);
		if (race_chance(rnd, 20))
			kernel_sock_shutdown(sock, SHUT_WR);
		msleep(race_pick(rnd, 5));
	}
	raw_close(w, sock, rnd);
}

/* A raw Initiator, and all that it does; race_world_enter() was called. */
void race_raw_client(struct race_world *w, struct rnd_state *rnd)
{
	struct socket *sock = race_raw_connect(w, RACE_PORT_HOSTILE);

	if (sock)
		raw_play(w, sock, rnd, false);
}

static void raw_accepted(struct race_world *w, struct socket *sock,
			 struct rnd_state *rnd)
{
	sock->sk->sk_rcvtimeo = RAW_WAIT;
	sock->sk->sk_sndtimeo = RAW_WAIT * 10;
	if (race_own(w))
		race_accept(w, RACE_PORT_RAW, sock, rnd);
	else
		raw_play(w, sock, rnd, true);
}

static int raw_run(void *arg)
{
	struct race_world *w = arg;
	struct rnd_state rnd;
	struct socket *sock;

	prandom_seed_state(&rnd, w->seed + 200);
	while (!kthread_should_stop()) {
		if (!kernel_accept(w->raw, &sock, 0))
			raw_accepted(w, sock, &rnd);
	}
	return 0;
}

static int raw_bind(struct race_world *w)
{
	struct sockaddr_storage addr;
	int err;

	race_local(w, RACE_PORT_RAW, &addr);
	sock_set_reuseaddr(w->raw->sk);
	err = kernel_bind(w->raw, mpa_sockaddr(&addr), sizeof(addr));
	return err ?: kernel_listen(w->raw, SOMAXCONN);
}

int race_raw_listen(struct race_world *w)
{
	struct task_struct *task;
	int err;

	w->raw = raw_socket(w);
	if (!w->raw)
		return -ENOMEM;
	err = raw_bind(w);
	if (err)
		return err;
	task = kthread_run(raw_run, w, "mpa_races_raw");
	if (IS_ERR(task))
		return PTR_ERR(task);
	w->raw_thread = task;
	return 0;
}

void race_raw_unlisten(struct race_world *w)
{
	if (w->raw_thread)
		kthread_stop(w->raw_thread);
	if (w->raw)
		sock_release(w->raw);
	while (race_raw_unpark(w, w->nr_parked % 2))
		;
}
