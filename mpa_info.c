// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A snapshot of a connection, for its consumer and for the administrator. */
#include <linux/module.h>
#include "mpa_conn.h"

/**
 * mpa_get_info() - get a snapshot of a connection
 * @conn: connection, before mpa_detach()
 * @info: result
 *
 * RFC 5044 section 3 (version), 7.1.2 (terms), RFC 6581 section 9.1 (depths).
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_get_info(struct mpa_conn *conn, struct mpa_info *info)
{
	memset(info, 0, sizeof(*info));
	spin_lock_bh(&conn->lock);
	info->state = conn->state;
	info->rev = conn->terms.rev;
	info->peer_rev = conn->peer_rev;
	info->initiator = conn->initiator;
	info->markers_tx = conn->terms.markers_tx;
	info->markers_rx = conn->terms.markers_rx;
	info->tx_pos = atomic64_read(&conn->tx.sent);
	info->rx_pos = conn->rx.delivered;
	info->ulpdus_tx = atomic64_read(&conn->ulpdus_tx);
	info->ulpdus_rx = conn->ulpdus_rx;
	info->ulpdus_ooo = conn->ooo.ulpdus;
	info->octets_ooo = conn->ooo.octets;
	info->ooo_suppressed = conn->ooo.delivered;
	info->enhanced = conn->terms.enhanced;
	info->ird = conn->terms.ird;
	info->ord = conn->terms.ord;
	info->rtr = conn->terms.rtr;
	info->theirs = conn->terms.theirs;
	spin_unlock_bh(&conn->lock);
	info->emss = mpa_tx_emss(conn);
	info->mulpdu = mpa_mulpdu_of(info->emss, mpa_tx_markers(conn));
	mpa_tcp_addresses(conn->sk, &info->local, &info->peer);
}
EXPORT_SYMBOL_GPL(mpa_get_info);
