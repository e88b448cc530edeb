/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Passing ULPDUs out of order: none are, yet. */
#ifndef _MPA_RX_OOO_H
#define _MPA_RX_OOO_H

#include "mpa_conn.h"

static inline void mpa_rx_ooo_begin(struct mpa_conn *conn)
{
}

static inline bool mpa_rx_ooo_search(struct mpa_conn *conn)
{
	return false;
}

static inline void mpa_rx_ooo_pass(struct mpa_conn *conn)
{
}

static inline void mpa_rx_ooo_drop(struct mpa_conn *conn)
{
}

static inline bool mpa_rx_ooo_was_passed(const struct mpa_conn *conn, u64 pos)
{
	return false;
}

static inline u64 mpa_rx_ooo_next_passed(const struct mpa_conn *conn, u64 pos)
{
	return MPA_POS_NONE;
}

static inline void mpa_rx_ooo_forget(const struct mpa_conn *conn, u64 pos)
{
}

static inline int mpa_ooo_map_step(struct mpa_ooo_map *known,
				   struct mpa_stream *src, struct mpa_dec *dec)
{
	return -EBADMSG;
}

static inline int mpa_ooo_map_reach(struct mpa_ooo_map *known,
				    struct mpa_dec *dec)
{
	return -EBADMSG;
}

#endif /* _MPA_RX_OOO_H */
