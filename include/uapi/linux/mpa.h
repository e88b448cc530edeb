/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/mpa.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_MPA_H
#define _UAPI_LINUX_MPA_H

#define MPA_FAMILY_NAME		"mpa"
#define MPA_FAMILY_VERSION	1

/**
 * enum mpa_conn_state - State of a connection, see "States" in mpa-design.rst.
 * @MPA_CONN_STATE_ATTACHED: The consumer has lent its socket to MPA.
 * @MPA_CONN_STATE_STARTUP: Request and Reply are under way.
 * @MPA_CONN_STATE_DECIDE: The consumer has the peer's Request, or its Reply is
 *   being sent.
 * @MPA_CONN_STATE_FULL: Full operation.
 * @MPA_CONN_STATE_REJECTED: The connection was rejected.
 * @MPA_CONN_STATE_CLOSED: Startup failed, or the TCP connection is closed or
 *   lost.
 */
enum mpa_conn_state {
	MPA_CONN_STATE_ATTACHED,
	MPA_CONN_STATE_STARTUP,
	MPA_CONN_STATE_DECIDE,
	MPA_CONN_STATE_FULL,
	MPA_CONN_STATE_REJECTED,
	MPA_CONN_STATE_CLOSED,
};

/**
 * enum mpa_conn_role - Which of the two startup frames an end sends.
 * @MPA_CONN_ROLE_RESPONDER: It sends the Reply.
 * @MPA_CONN_ROLE_INITIATOR: It sends the Request.
 */
enum mpa_conn_role {
	MPA_CONN_ROLE_RESPONDER,
	MPA_CONN_ROLE_INITIATOR,
};

/**
 * enum mpa_conn_flag - Properties of a connection.
 * @MPA_CONN_FLAG_CRC: FPDUs have CRCs.
 * @MPA_CONN_FLAG_MARKERS_TX: This end sends markers.
 * @MPA_CONN_FLAG_MARKERS_RX: The peer sends markers.
 * @MPA_CONN_FLAG_OOO: ULPDUs are passed to the consumer out of order, too.
 * @MPA_CONN_FLAG_ENHANCED: Enhanced startup (RFC 6581) was used.
 * @MPA_CONN_FLAG_MEMALLOC: The connection may use memory reserves
 *   (MPA_F_MEMALLOC).
 * @MPA_CONN_FLAG_HOLD: The consumer holds delivery (mpa_hold()).
 */
enum mpa_conn_flag {
	MPA_CONN_FLAG_CRC = 1,
	MPA_CONN_FLAG_MARKERS_TX = 2,
	MPA_CONN_FLAG_MARKERS_RX = 4,
	MPA_CONN_FLAG_OOO = 8,
	MPA_CONN_FLAG_ENHANCED = 16,
	MPA_CONN_FLAG_MEMALLOC = 32,
	MPA_CONN_FLAG_HOLD = 64,
};

/**
 * enum mpa_end_reason - Why the receive half of a connection ended. The
 *   kernel's include/net/mpa.h describes each at enum mpa_reason.
 * @MPA_END_REASON_NONE: The consumer detached the connection before it ended.
 * @MPA_END_REASON_FIN: FIN of the peer between two FPDUs, or in startup.
 * @MPA_END_REASON_TRUNCATED: FIN of the peer inside an FPDU.
 * @MPA_END_REASON_RESET: Reset by the peer, given up by TCP, or reconnected by
 *   another user.
 * @MPA_END_REASON_ABORTED: Aborted at this end.
 * @MPA_END_REASON_CRC: A CRC is wrong.
 * @MPA_END_REASON_MARKER: A marker and a ULPDU_Length disagree.
 * @MPA_END_REASON_LENGTH: A ULPDU_Length is out of range, or was changed after
 *   it was read.
 * @MPA_END_REASON_URGENT: TCP urgent data.
 * @MPA_END_REASON_KEY: The first octets are no startup frame.
 * @MPA_END_REASON_ROLE: An Initiator has got a Request, or a Responder a
 *   Reply.
 * @MPA_END_REASON_REVISION: The revision is not supported, or not accepted.
 * @MPA_END_REASON_PD_LENGTH: More private data than allowed, or too little for
 *   IRD and ORD.
 * @MPA_END_REASON_SHORT_FRAME: FIN inside a startup frame.
 * @MPA_END_REASON_EARLY_OCTETS: Octets after a Request, before its Reply.
 * @MPA_END_REASON_TIMEOUT: No complete startup frame in time, or TCP did not
 *   take ours.
 * @MPA_END_REASON_STARTUP_OVERFLOW: Too many Responders waited for a Request.
 * @MPA_END_REASON_NO_MEMORY: No memory for a startup frame.
 * @MPA_END_REASON_ENHANCED: Enhanced data is missing, or is where there may be
 *   none.
 * @MPA_END_REASON_IRD: The Responder's ORD exceeds the highest IRD of the
 *   Initiator.
 * @MPA_END_REASON_RTR: The ends have no kind of RTR, or no connection model,
 *   in common.
 */
enum mpa_end_reason {
	MPA_END_REASON_NONE,
	MPA_END_REASON_FIN,
	MPA_END_REASON_TRUNCATED,
	MPA_END_REASON_RESET,
	MPA_END_REASON_ABORTED,
	MPA_END_REASON_CRC,
	MPA_END_REASON_MARKER,
	MPA_END_REASON_LENGTH,
	MPA_END_REASON_URGENT,
	MPA_END_REASON_KEY,
	MPA_END_REASON_ROLE,
	MPA_END_REASON_REVISION,
	MPA_END_REASON_PD_LENGTH,
	MPA_END_REASON_SHORT_FRAME,
	MPA_END_REASON_EARLY_OCTETS,
	MPA_END_REASON_TIMEOUT,
	MPA_END_REASON_STARTUP_OVERFLOW,
	MPA_END_REASON_NO_MEMORY,
	MPA_END_REASON_ENHANCED,
	MPA_END_REASON_IRD,
	MPA_END_REASON_RTR,
};

enum {
	MPA_A_CONN_COOKIE = 1,
	MPA_A_CONN_LOCAL_ADDR4,
	MPA_A_CONN_LOCAL_ADDR6,
	MPA_A_CONN_LOCAL_PORT,
	MPA_A_CONN_PEER_ADDR4,
	MPA_A_CONN_PEER_ADDR6,
	MPA_A_CONN_PEER_PORT,
	MPA_A_CONN_SCOPE_ID,
	MPA_A_CONN_STATE,
	MPA_A_CONN_ROLE,
	MPA_A_CONN_REVISION,
	MPA_A_CONN_PEER_REVISION,
	MPA_A_CONN_FLAGS,
	MPA_A_CONN_EMSS,
	MPA_A_CONN_MULPDU,
	MPA_A_CONN_TX_OCTETS,
	MPA_A_CONN_TX_ULPDUS,
	MPA_A_CONN_RX_OCTETS,
	MPA_A_CONN_RX_ULPDUS,
	MPA_A_CONN_OOO_ULPDUS,
	MPA_A_CONN_OOO_OCTETS,
	MPA_A_CONN_OOO_DELIVERED,
	MPA_A_CONN_RX_PINNED,
	MPA_A_CONN_IRD,
	MPA_A_CONN_ORD,
	MPA_A_CONN_END_REASON,
	MPA_A_CONN_END_CODE,
	MPA_A_CONN_END_ERRNO,

	__MPA_A_CONN_MAX,
	MPA_A_CONN_MAX = (__MPA_A_CONN_MAX - 1)
};

enum {
	MPA_CMD_CONN_GET = 1,
	MPA_CMD_CONN_ESTABLISHED_NTF,
	MPA_CMD_CONN_ENDED_NTF,

	__MPA_CMD_MAX,
	MPA_CMD_MAX = (__MPA_CMD_MAX - 1)
};

#define MPA_MCGRP_EVENTS	"events"

#endif /* _UAPI_LINUX_MPA_H */
