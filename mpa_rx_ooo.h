/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Passing ULPDUs out of order: FPDUs after holes in the stream. */
#ifndef _MPA_RX_OOO_H
#define _MPA_RX_OOO_H

#include "mpa_conn.h"
#include "mpa_ooo_map.h"

/* mpa_rx_ooo.c APIs: */
void mpa_rx_ooo_begin(struct mpa_conn *conn);
bool mpa_rx_ooo_search(struct mpa_conn *conn);
void mpa_rx_ooo_pass(struct mpa_conn *conn);
void mpa_rx_ooo_drop(struct mpa_conn *conn);

/* True if TCP has queued octets after a hole since the last search began. */
static inline bool mpa_rx_ooo_news(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);

	return READ_ONCE(tp->rcv_ooopack) != READ_ONCE(conn->ooo.seen) &&
	       !RB_EMPTY_ROOT(&tp->out_of_order_queue);
}

/* True unless on hold, or the consumer keeps more than the receive buffer. */
static inline bool mpa_rx_ooo_allowed(const struct mpa_conn *conn)
{
	return !mpa_conn_test(conn, MPA_CONN_HOLD) &&
	       READ_ONCE(conn->ooo.pinned) <= READ_ONCE(conn->sk->sk_rcvbuf);
}

/* Runner only. True if the FPDU at @pos was passed out of order. */
static inline bool mpa_rx_ooo_was_passed(const struct mpa_conn *conn, u64 pos)
{
	return conn->ooo.known && mpa_ooo_map_was_passed(conn->ooo.known, pos);
}

/* Runner only. As mpa_ooo_map_next_passed(). */
static inline u64 mpa_rx_ooo_next_passed(const struct mpa_conn *conn, u64 pos)
{
	return conn->ooo.known ? mpa_ooo_map_next_passed(conn->ooo.known, pos) :
				 MPA_POS_NONE;
}

/* Runner only. As mpa_ooo_map_forget(): the stream has reached @pos. */
static inline void mpa_rx_ooo_forget(const struct mpa_conn *conn, u64 pos)
{
	if (conn->ooo.known)
		mpa_ooo_map_forget(conn->ooo.known, pos);
}

#endif /* _MPA_RX_OOO_H */
