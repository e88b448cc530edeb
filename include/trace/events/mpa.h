/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mpa

#if !defined(_TRACE_MPA_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MPA_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include <net/mpa.h>

struct mpa_conn;

/*
 * Each event begins with the cookie of the socket, as ss -e shows it after
 * "sk:". Those at the begin and at the end have both addresses as well.
 */

/* Values of these names, for user space that reads the raw trace */
TRACE_DEFINE_ENUM(MPA_STATE_ATTACHED);
TRACE_DEFINE_ENUM(MPA_STATE_STARTUP);
TRACE_DEFINE_ENUM(MPA_STATE_DECIDE);
TRACE_DEFINE_ENUM(MPA_STATE_FULL);
TRACE_DEFINE_ENUM(MPA_STATE_REJECTED);
TRACE_DEFINE_ENUM(MPA_STATE_CLOSED);

/* The state of a connection changes: enum mpa_state. */
TRACE_EVENT(mpa_state,
	TP_PROTO(const struct mpa_conn *conn, int state),
	TP_ARGS(conn, state),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(int, state)
	),
	TP_fast_assign(
		__entry->cookie = conn->cookie;
		__entry->state = state;
	),
	TP_printk("conn=%llx state=%s", __entry->cookie,
		  __print_symbolic(__entry->state,
				   { MPA_STATE_ATTACHED, "attached" },
				   { MPA_STATE_STARTUP, "startup" },
				   { MPA_STATE_DECIDE, "decide" },
				   { MPA_STATE_FULL, "full" },
				   { MPA_STATE_REJECTED, "rejected" },
				   { MPA_STATE_CLOSED, "closed" }))
);

/* A Request or Reply frame is sent next, or the header of one was received. */
TRACE_EVENT(mpa_frame,
	TP_PROTO(const struct mpa_conn *conn, bool tx, u8 flags, u8 rev,
		 u16 pd_len),
	TP_ARGS(conn, tx, flags, rev, pd_len),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(bool, tx)
		__field(u8, flags)
		__field(u8, rev)
		__field(u16, pd_len)
	),
	TP_fast_assign(
		__entry->cookie = conn->cookie;
		__entry->tx = tx;
		__entry->flags = flags;
		__entry->rev = rev;
		__entry->pd_len = pd_len;
	),
	TP_printk("conn=%llx %s flags=0x%02x rev=%u pd_len=%u", __entry->cookie,
		  __entry->tx ? "tx" : "rx", __entry->flags, __entry->rev,
		  __entry->pd_len)
);

/*
 * What was negotiated for full operation. Consumers do not see whether CRCs are
 * used (RFC 5044 section 4.4).
 */
TRACE_EVENT(mpa_terms,
	TP_PROTO(const struct mpa_conn *conn, s8 rev, bool crc, bool markers_tx,
		 bool markers_rx),
	TP_ARGS(conn, rev, crc, markers_tx, markers_rx),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__array(__u8, local, sizeof(struct sockaddr_in6))
		__array(__u8, peer, sizeof(struct sockaddr_in6))
		__field(s8, rev)
		__field(bool, crc)
		__field(bool, markers_tx)
		__field(bool, markers_rx)
	),
	TP_fast_assign(
		struct sockaddr_storage local, peer;

		mpa_tcp_addresses(conn->sk, &local, &peer);
		__entry->cookie = conn->cookie;
		memcpy(__entry->local, &local, sizeof(__entry->local));
		memcpy(__entry->peer, &peer, sizeof(__entry->peer));
		__entry->rev = rev;
		__entry->crc = crc;
		__entry->markers_tx = markers_tx;
		__entry->markers_rx = markers_rx;
	),
	TP_printk("conn=%llx local=%pISpc peer=%pISpc rev=%d crc=%d markers_tx=%d markers_rx=%d",
		  __entry->cookie, __entry->local, __entry->peer,
		  __entry->rev, __entry->crc, __entry->markers_tx,
		  __entry->markers_rx)
);

/* TCP has taken octets of FPDUs, from stream position pos on. */
TRACE_EVENT(mpa_sent,
	TP_PROTO(const struct mpa_conn *conn, u64 pos, u32 octets),
	TP_ARGS(conn, pos, octets),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, pos)
		__field(u32, octets)
	),
	TP_fast_assign(
		__entry->cookie = conn->cookie;
		__entry->pos = pos;
		__entry->octets = octets;
	),
	TP_printk("conn=%llx pos=%llu octets=%u", __entry->cookie, __entry->pos,
		  __entry->octets)
);

/* ULPDUs were passed to the consumer; for delivered see struct mpa_rx. */
TRACE_EVENT(mpa_recv,
	TP_PROTO(const struct mpa_conn *conn, u32 nr, u64 delivered),
	TP_ARGS(conn, nr, delivered),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u32, nr)
		__field(u64, delivered)
	),
	TP_fast_assign(
		__entry->cookie = conn->cookie;
		__entry->nr = nr;
		__entry->delivered = delivered;
	),
	TP_printk("conn=%llx ulpdus=%u delivered=%llu", __entry->cookie,
		  __entry->nr, __entry->delivered)
);

/* ULPDUs were passed out of order; FPDUs at stream positions [from, to) */
TRACE_EVENT(mpa_recv_ooo,
	TP_PROTO(const struct mpa_conn *conn, u32 nr, u64 from, u64 to),
	TP_ARGS(conn, nr, from, to),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u32, nr)
		__field(u64, from)
		__field(u64, to)
	),
	TP_fast_assign(
		__entry->cookie = conn->cookie;
		__entry->nr = nr;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("conn=%llx ulpdus=%u from=%llu to=%llu", __entry->cookie,
		  __entry->nr, __entry->from, __entry->to)
);

/* The receive half ended: enum mpa_error, enum mpa_reason. */
TRACE_EVENT(mpa_ended,
	TP_PROTO(const struct mpa_conn *conn, const struct mpa_end *end),
	TP_ARGS(conn, end),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__array(__u8, local, sizeof(struct sockaddr_in6))
		__array(__u8, peer, sizeof(struct sockaddr_in6))
		__field(int, error)
		__string(reason, mpa_reason_name(end->reason))
		__field(int, err)
		__field(u64, pos)
	),
	TP_fast_assign(
		struct sockaddr_storage local, peer;

		mpa_tcp_addresses(conn->sk, &local, &peer);
		__entry->cookie = conn->cookie;
		memcpy(__entry->local, &local, sizeof(__entry->local));
		memcpy(__entry->peer, &peer, sizeof(__entry->peer));
		__entry->error = end->error;
		__assign_str(reason);
		__entry->err = end->err;
		__entry->pos = end->pos;
	),
	TP_printk("conn=%llx local=%pISpc peer=%pISpc error=%d reason=%s err=%d pos=%llu",
		  __entry->cookie, __entry->local, __entry->peer,
		  __entry->error, __get_str(reason), __entry->err,
		  __entry->pos)
);

#endif /* _TRACE_MPA_H */

#include <trace/define_trace.h>
