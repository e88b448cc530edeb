/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Passing ULPDUs out of order: FPDUs after holes in the stream. */
#ifndef _MPA_RX_OOO_H
#define _MPA_RX_OOO_H

#include "mpa_conn.h"
#include "mpa_ooo_map.h"

/* mpa_rx_ooo.c APIs: */
void mpa_rx_ooo_begin(struct mpa_conn *conn);
void mpa_rx_ooo_end(struct mpa_conn *conn);
void mpa_rx_ooo_hear(struct sock *sk);
bool mpa_rx_ooo_look(struct mpa_conn *conn);
void mpa_rx_ooo_pass(struct mpa_conn *conn);
void mpa_rx_ooo_drop(struct mpa_conn *conn);

/* mpa_af.c APIs: */
void mpa_af_on(struct sock *sk);
void mpa_af_off(struct sock *sk);
bool mpa_af_is_on(const struct sock *sk);
void mpa_af_exit(void);

/* Work item only. True if the FPDU at @pos was passed out of order. */
static inline bool mpa_rx_ooo_was_passed(const struct mpa_conn *conn, u64 pos)
{
	return conn->ooo.known && mpa_ooo_map_was_passed(conn->ooo.known, pos);
}

/* Work item only. As mpa_ooo_map_next_passed(). */
static inline u64 mpa_rx_ooo_limit(const struct mpa_conn *conn, u64 pos)
{
	return conn->ooo.known ? mpa_ooo_map_next_passed(conn->ooo.known, pos) :
				 MPA_POS_NONE;
}

/* Work item only. As mpa_ooo_map_forget(): the stream has reached @pos. */
static inline void mpa_rx_ooo_forget(const struct mpa_conn *conn, u64 pos)
{
	if (conn->ooo.known)
		mpa_ooo_map_forget(conn->ooo.known, pos);
}

#endif /* _MPA_RX_OOO_H */
