/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * iWARP Marker PDU Aligned Framing for TCP (MPA), RFC 5044, with the enhanced
 * startup of RFC 6581 (Rev 2).
 *
 * The interface between MPA and its consumer, usually DDP. The rules that
 * hold for all of it are in Documentation/networking/mpa-design.rst; in short:
 *
 * - The socket is the consumer's. mpa_attach() borrows it, released() gives
 *   it back with its callbacks restored.
 * - All callbacks of a connection run in process context, one at a time, with
 *   no lock of MPA or of the socket held. Every function here may be called
 *   from every callback, except those that wait: mpa_detach_sync(),
 *   mpa_listen_close_sync() and mpa_barrier().
 * - released() is the last callback. Nothing of the connection is touched by
 *   MPA after it.
 */
#ifndef _NET_MPA_H
#define _NET_MPA_H

#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uio.h>

struct mpa_conn;
struct mpa_connector;
struct mpa_listener;
struct net;
struct socket;

#define MPA_MULPDU_MIN		128	/* RFC 5044 section 3 */
#define MPA_MULPDU_MAX		64768
#define MPA_ULPDU_MAX		64768	/* longest ULPDU, in octets */
#define MPA_PD_MAX		512	/* private data, Rev 1 and 2 */
#define MPA_PD_MAX_ENHANCED	508	/* the same behind IRD and ORD */
#define MPA_PD_MAX_REV0		65535	/* private data, Rev 0 */

#define MPA_REV_NONE		(-1)	/* immediate start: no frames */
#define MPA_REV_0		0	/* selected with MPA_F_REV0 only */
#define MPA_REV_1		1
#define MPA_REV_2		2

#define MPA_DEPTH_MAX		0x3ffe	/* highest IRD or ORD */
#define MPA_DEPTH_ULP		0x3fff	/* left to the ULP to negotiate */

/* mpa_enhanced.rtr: the first FPDU of an Initiator, RFC 6581 section 9.2 */
#define MPA_RTR_SEND		BIT(0)	/* zero-length Send */
#define MPA_RTR_WRITE		BIT(1)	/* zero-length RDMA Write */
#define MPA_RTR_READ		BIT(2)	/* zero-length RDMA Read */

/**
 * enum mpa_error - error codes of RFC 5044 section 8 and RFC 6581 section 8
 * @MPA_ERR_NONE: no error
 * @MPA_ERR_TCP: TCP connection closed, terminated or lost
 * @MPA_ERR_CRC: received CRC does not match the one computed
 * @MPA_ERR_MARKER: marker and ULPDU_Length disagree
 * @MPA_ERR_FRAME: invalid Request or Reply frame, or none in time
 * @MPA_ERR_LOCAL: enhanced startup failed for a local reason; for the
 *	consumer's Terminate message, never reported by MPA
 * @MPA_ERR_IRD: the Responder's ORD is above the IRD that we can have
 * @MPA_ERR_RTR: no RTR, or model of connection, that both ends support
 */
enum mpa_error {
	MPA_ERR_NONE	= 0,
	MPA_ERR_TCP	= 1,
	MPA_ERR_CRC	= 2,
	MPA_ERR_MARKER	= 3,
	MPA_ERR_FRAME	= 4,
	MPA_ERR_LOCAL	= 5,
	MPA_ERR_IRD	= 6,
	MPA_ERR_RTR	= 7,
};

/**
 * enum mpa_reason - what exactly was wrong
 * @MPA_REASON_NONE: nothing
 * @MPA_REASON_FIN: peer's FIN, between two FPDUs: a graceful close (code 1)
 * @MPA_REASON_TRUNCATED: peer's FIN inside an FPDU (code 1)
 * @MPA_REASON_RESET: reset by the peer, or given up by TCP (code 1)
 * @MPA_REASON_ABORTED: mpa_abort(), a source that failed, no memory for TCP's
 *	FIN, or the namespace went away (code 1)
 * @MPA_REASON_CRC: CRC mismatch (code 2)
 * @MPA_REASON_MARKER: FPDUPTR does not point to the ULPDU_Length (code 3)
 * @MPA_REASON_LENGTH: ULPDU_Length outside 1 to 64768, or one that a peer on
 *	the same host has changed meanwhile (code 3)
 * @MPA_REASON_URGENT: TCP urgent data (code 3, in startup code 4)
 * @MPA_REASON_KEY: not a startup frame (code 4)
 * @MPA_REASON_ROLE: Initiator met Initiator, or Responder met Responder
 *	(code 4)
 * @MPA_REASON_REVISION: a revision we cannot or may not speak (code 4)
 * @MPA_REASON_PD_LENGTH: more private data than allowed, or too little to
 *	hold IRD and ORD (code 4)
 * @MPA_REASON_SHORT: FIN inside a startup frame (code 4)
 * @MPA_REASON_EARLY: octets behind a Request, before its Reply (code 4)
 * @MPA_REASON_TIMEOUT: no complete startup frame in time (code 4)
 * @MPA_REASON_CROWDED: no Request yet, and more Responders than the sysctl
 *	net.mpa.startup_max allows wait for it: the oldest goes (code 4)
 * @MPA_REASON_NOMEM: the startup frame could not be stored (code 4)
 * @MPA_REASON_ENHANCED: a Reply with an S bit other than our Request's, or a
 *	Request with it where we do not support it (code 4)
 * @MPA_REASON_IRD: see %MPA_ERR_IRD (code 6)
 * @MPA_REASON_RTR: see %MPA_ERR_RTR; also a peer that does not answer our A
 *	flag with its own (code 7)
 */
enum mpa_reason {
	MPA_REASON_NONE,
	MPA_REASON_FIN,
	MPA_REASON_TRUNCATED,
	MPA_REASON_RESET,
	MPA_REASON_ABORTED,
	MPA_REASON_CRC,
	MPA_REASON_MARKER,
	MPA_REASON_LENGTH,
	MPA_REASON_URGENT,
	MPA_REASON_KEY,
	MPA_REASON_ROLE,
	MPA_REASON_REVISION,
	MPA_REASON_PD_LENGTH,
	MPA_REASON_SHORT,
	MPA_REASON_EARLY,
	MPA_REASON_TIMEOUT,
	MPA_REASON_CROWDED,
	MPA_REASON_NOMEM,
	MPA_REASON_ENHANCED,
	MPA_REASON_IRD,
	MPA_REASON_RTR,
};

/**
 * struct mpa_end - how the receive half of a connection ended
 * @error: code to put into a Terminate message; with %MPA_ERR_CRC,
 *	%MPA_ERR_MARKER, %MPA_ERR_IRD and %MPA_ERR_RTR one can still be sent
 * @reason: what exactly was wrong
 * @err: the same as a negative errno; 0 for a graceful close
 * @pos: stream position up to which everything was delivered
 */
struct mpa_end {
	enum mpa_error	error;
	enum mpa_reason	reason;
	int		err;
	u64		pos;
};

/**
 * struct mpa_enhanced - enhanced RDMA connection establishment data, RFC 6581
 * @ird: simultaneous RDMA Read Requests that its sender takes: up to
 *	%MPA_DEPTH_MAX, or %MPA_DEPTH_ULP
 * @ord: the same, that its sender issues
 * @rtr: MPA_RTR_*: the kinds of RTR that its sender can send (Initiator) or
 *	take (Responder). 0: the client-server model, without an RTR (flag A
 *	is 0)
 */
struct mpa_enhanced {
	u16	ird;
	u16	ord;
	u8	rtr;
};

/**
 * struct mpa_startup - what a Request or Reply frame of the peer said
 * @pd: its private data, behind the enhanced data if there is any; valid until
 *	the callback returns
 * @pd_len: octets of it
 * @rev: its revision
 * @markers: its M bit: it wants markers in what we send
 * @enhanced: its enhanced data, or NULL if there is none (its S bit is 0)
 */
struct mpa_startup {
	const void			*pd;
	u32				pd_len;
	u8				rev;
	bool				markers;
	const struct mpa_enhanced	*enhanced;
};

/**
 * struct mpa_ulpdu - one ULPDU received
 * @pos: position in the peer's stream of its FPDU's first octet, counted from
 *	the first octet of full operation. Grows from ULPDU to ULPDU within a
 *	call; without %MPA_F_OOO also from call to call.
 * @len: length of the ULPDU, 1 to %MPA_ULPDU_MAX octets
 * @nr_frags: number of fragments in which the octets lie
 * @frag: the fragments, in order; their lengths add up to @len. iov_iter_kvec()
 *	makes an iterator of them.
 */
struct mpa_ulpdu {
	u64			pos;
	u32			len;
	u32			nr_frags;
	const struct kvec	*frag;
};

/**
 * struct mpa_rx - ULPDUs passed to the consumer in one call
 * @ulpdu: the ULPDUs, verified, each passed exactly once
 * @nr: how many; may be 0 when only @delivered moved
 * @delivered: Delivery: every ULPDU whose FPDU begins below this stream
 *	position has been passed, and the consumer may act on it, in the order
 *	of the positions. A ULPDU at or above it is passed for placement only.
 *
 * With %MPA_F_OOO ULPDUs that arrive behind a hole in the TCP stream are
 * passed when they can be verified, unless there are no markers or no CRCs;
 * each segment behind a hole is acknowledged at once, whatever
 * net.ipv4.tcp_comp_sack_nr says.
 *
 * All ULPDUs of a call are below @delivered, or all are not (the first one's
 * @pos tells), and none that was passed early lies between those of a call.
 * Placed is not delivered: of a ULPDU that is not below @delivered the
 * consumer may put the octets where they belong, and has to keep what else it
 * needs to know of it, since it is not passed again. It must not act on it,
 * answer it, or tell anybody, before @delivered of a later call (maybe one
 * without ULPDUs) is above its position; if ended() comes first, never.
 *
 * All that a ULPDU in between may change, it has not changed yet: rights may
 * still be taken away, and where two write to the same place, the older one
 * may be the last to do so. How far ahead one can be is bounded by TCP's
 * receive window; while the consumer keeps more memory than the receive buffer
 * in batches passed early, no more are. The first ULPDU of the stream, such as
 * an RTR, is the one at position 0. mpa_hold() stops this, too.
 *
 * All this, the octets included, belongs to MPA; the octets stay where TCP put
 * them, or are a copy where the kernel has marked them as pages that somebody
 * on the same host can change (splice()). It may be read until recv() returns,
 * or until mpa_rx_put() where the consumer took a reference with mpa_rx_get();
 * nobody may write to it.
 */
struct mpa_rx {
	const struct mpa_ulpdu	*ulpdu;
	unsigned int		nr;
	u64			delivered;
};

/* mpa_tx.flags */
#define MPA_TX_ZEROCOPY		BIT(0)	/* send the pages themselves */

/**
 * struct mpa_tx - one message to send: a ULPDU, or a source of ULPDUs
 * @list: for mpa_send_list(), and for the list given to sent()
 * @hdr: first octets of the ULPDU; may be NULL if @hdr_len is 0
 * @hdr_len: octets at @hdr
 * @flags: %MPA_TX_ZEROCOPY or 0
 * @len: octets of @data that belong to the ULPDU, after @hdr. The ULPDU has
 *	@hdr_len + @len octets, 1 to %MPA_ULPDU_MAX.
 * @data: where these octets are; MPA advances it by @len for each ULPDU. Any
 *	kernel iterator that is a source (ITER_KVEC, ITER_BVEC, ...).
 * @next: NULL for a single ULPDU. Otherwise a source: MPA calls it for each
 *	ULPDU when there is room to send one. It sets @hdr, @hdr_len and @len
 *	so that @hdr_len + @len is between 1 and @max octets, and returns 1 if
 *	more ULPDUs follow, 0 if this is the last, or a negative errno, which
 *	fails the connection (%-EAGAIN, %-ENOMEM and %-ENOBUFS as %-EIO: it is
 *	not asked again). A source that has to stop early returns 0 with
 *	@hdr_len and @len 0. With @max octets the FPDU ends where a TCP
 *	segment does; it is never below %MPA_MULPDU_MIN. @hdr must stay until
 *	the next call or until the message is handed back. @hdr, @hdr_len and
 *	@len need no value before the first call. Called like every callback.
 * @status: result, once handed back: 0 when all of it was given to TCP, or
 *	a negative errno: %-ECANCELED (aborted or detached), %-ECONNRESET,
 *	%-ETIMEDOUT, ... (connection lost before it was handed back), %-EPIPE
 *	(this Responder may never send)
 *
 * From a successful mpa_send() until it is handed back in sent() or
 * released(), the structure and all memory that it names belong to MPA and
 * must not be changed: a CRC may have been computed before TCP copies the
 * octets, or sends them, and the peer would find it wrong. It is handed back
 * exactly once, in the order of posting. With %MPA_TX_ZEROCOPY that is after
 * the network stack has dropped its last reference to the pages, see
 * mpa_detach(); slab and vmalloc memory is copied.
 */
struct mpa_tx {
	struct list_head	list;
	const void		*hdr;
	u16			hdr_len;
	u16			flags;
	u32			len;
	struct iov_iter		data;
	int			(*next)(struct mpa_tx *tx, u32 max);
	int			status;
	/* private: MPA's while it has the message */
	u32			state;
	u64			end;
	struct mpa_conn		*conn;
	struct ubuf_info	ubuf;
};

/**
 * struct mpa_ops - callbacks of a consumer
 * @request: Responder: a valid Request has arrived. Answer it with
 *	mpa_accept(), mpa_reject(), mpa_abort() or mpa_detach(), in the callback
 *	or any time later; no timer runs.
 * @established: full operation has begun, with what was negotiated in
 *	mpa_get_info(). @reply is the peer's Reply (Initiator), else NULL.
 *	Delivery is on hold until mpa_resume(); sending is possible at once.
 * @rejected: Initiator: the peer's Reply rejects (@reply), MPA has read nothing
 *	past it. Responder: the Reply of mpa_reject() has been given to TCP
 *	(@reply is NULL). MPA does no more on this connection; mpa_detach()
 *	gives the TCP connection back, open.
 * @recv: ULPDUs have arrived, see &struct mpa_rx
 * @sent: messages are done; each &struct mpa_tx on the list is the consumer's
 *	again, its @status says how it went. The list is taken apart by the
 *	consumer. Without %MPA_TX_ZEROCOPY it comes before the recv() of what
 *	the peer answers to them.
 * @mulpdu: the MULPDU has changed to @mulpdu octets
 * @ended: nothing more is received. Comes at most once, after the last
 *	recv(). The consumer may still send, unless closed() follows at once,
 *	or it is a Responder that never had a valid FPDU. It is also how a
 *	failed startup is reported.
 * @closed: TCP is closed in both directions: @err is 0 if both sides closed
 *	gracefully, else a negative errno. Comes at most once, after ended()
 *	and after the messages have been handed back.
 * @released: the last callback: none is running, none will come. It follows
 *	mpa_detach(), and only that. @left has
 *	the messages not handed back before, in order, with their status. The
 *	socket and the context are the consumer's.
 *
 * @recv, @ended and @released are mandatory, @request for a Responder,
 * @rejected for an Initiator, @sent for whoever sends.
 */
struct mpa_ops {
	void (*request)(struct mpa_conn *conn, const struct mpa_startup *req);
	void (*established)(struct mpa_conn *conn,
			    const struct mpa_startup *reply);
	void (*rejected)(struct mpa_conn *conn,
			 const struct mpa_startup *reply);
	void (*recv)(struct mpa_conn *conn, struct mpa_rx *rx);
	void (*sent)(struct mpa_conn *conn, struct list_head *done);
	void (*mulpdu)(struct mpa_conn *conn, u32 mulpdu);
	void (*ended)(struct mpa_conn *conn, const struct mpa_end *end);
	void (*closed)(struct mpa_conn *conn, int err);
	void (*released)(struct mpa_conn *conn, struct list_head *left);
};

/* mpa_params.flags */
#define MPA_F_MARKERS	BIT(0)	/* we want markers in what we receive (M=1) */
#define MPA_F_STRICT	BIT(1)	/* refuse Rev 0 peers: not permissive */
#define MPA_F_MEMALLOC	BIT(2)	/* used for writing out memory: reclaim-safe */
#define MPA_F_ENHANCED	BIT(3)	/* Rev 2: enhanced startup (S=1) */
#define MPA_F_OOO	BIT(5)	/* pass ULPDUs out of order; sets M=1 */
#define MPA_F_REV0	BIT(6)	/* announce Rev 0, as an RDMAC peer does */

/**
 * struct mpa_params - what a consumer asks of a connection
 * @ops: its callbacks; must outlive the connection
 * @ctx: its context, see mpa_conn_ctx()
 * @flags: %MPA_F_MARKERS and so on. With %MPA_F_MEMALLOC the callbacks, too,
 *	may use the reserves of memory, and wait for none
 * @rev: revision to announce, %MPA_REV_2, %MPA_REV_1 or %MPA_REV_0. A
 *	Responder also takes Requests of the revisions below, and answers them
 *	in kind.
 * @pd_max: most private data that a Rev 0 peer may send; 0 means
 *	%MPA_PD_MAX. A Rev 1 or 2 peer may always send %MPA_PD_MAX octets.
 * @enhanced: with %MPA_F_ENHANCED, what we want and can do. Initiator: goes
 *	into the Request. Responder: limits from which the Reply is made; at
 *	least one kind of RTR. mpa_set_enhanced() changes it.
 * @ird_max: Initiator: up to here @enhanced.ird may grow where the Responder
 *	needs it; 0: not at all
 */
struct mpa_params {
	const struct mpa_ops	*ops;
	void			*ctx;
	u32			flags;
	u8			rev;
	u16			pd_max;
	struct mpa_enhanced	enhanced;
	u16			ird_max;
};

/**
 * enum mpa_state - where a connection stands
 * @MPA_STATE_ATTACHED: attached, nothing started
 * @MPA_STATE_STARTUP: startup frames are being exchanged
 * @MPA_STATE_DECIDE: Responder: the consumer has to answer the Request
 * @MPA_STATE_FULL: full operation
 * @MPA_STATE_REJECTED: the Reply rejected; MPA is done
 * @MPA_STATE_CLOSED: lost, aborted, or failed in startup
 */
enum mpa_state {
	MPA_STATE_ATTACHED,
	MPA_STATE_STARTUP,
	MPA_STATE_DECIDE,
	MPA_STATE_FULL,
	MPA_STATE_REJECTED,
	MPA_STATE_CLOSED,
};

/**
 * struct mpa_info - a snapshot of a connection
 * @state: where it stands
 * @rev: revision in use, which is also the DDP and RDMAP version (that of Rev 2
 *	is 1); %MPA_REV_NONE before it is known and after
 *	mpa_start_immediate()
 * @peer_rev: revision in the peer's frame, or %MPA_REV_NONE
 * @initiator: we sent the Request
 * @crc: CRCs are generated and checked
 * @markers_tx: we send markers
 * @markers_rx: the peer sends markers
 * @emss: effective maximum segment size, octets
 * @mulpdu: as mpa_mulpdu()
 * @tx_pos: octets of full operation given to TCP
 * @rx_pos: octets of full operation delivered
 * @ulpdus_tx: ULPDUs given to TCP; those of a train count when TCP has all
 *	that it took in one call
 * @ulpdus_rx: ULPDUs delivered
 * @ooo: ULPDUs are passed out of order, too: %MPA_F_OOO, CRCs and markers
 * @ulpdus_ooo: ULPDUs passed before their turn
 * @octets_ooo: octets of these, without framing
 * @ooo_suppressed: of these, those that the stream has come to since, and that
 *	were not passed again
 * @enhanced: in full operation: RFC 6581 was used, which the next four come
 *	from
 * @ird: RDMA Read Requests that the peer may have under way. Where one end had
 *	%MPA_DEPTH_ULP it is what was asked for here, and the ULP's business.
 * @ord: the same, that we may have under way
 * @rtr: Initiator: the one kind of RTR to send as the first ULPDU.
 *	Responder: the kinds of which the peer's first ULPDU is one, unless it
 *	is a Terminate. 0: none. An RTR by RDMA Read does not count against
 *	@ird or @ord, which may be 0.
 * @theirs: the peer's enhanced data, also where it led to an error
 * @local: our address and port
 * @peer: the peer's address and port
 */
struct mpa_info {
	enum mpa_state	state;
	s8		rev;
	s16		peer_rev;
	bool		initiator;
	bool		markers_tx;
	bool		markers_rx;
	u32		emss;
	u32		mulpdu;
	u64		tx_pos;
	u64		rx_pos;
	u64		ulpdus_tx;
	u64		ulpdus_rx;
	u64		ulpdus_ooo;
	u64		octets_ooo;
	u64		ooo_suppressed;
	bool		enhanced;
	u16		ird;
	u16		ord;
	u8		rtr;
	struct mpa_enhanced theirs;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
};

/* A connection's life: attach, start, (accept or reject), ..., detach. */
struct mpa_conn *mpa_attach(struct socket *sock,
			    const struct mpa_params *params);
void *mpa_conn_ctx(const struct mpa_conn *conn);
struct socket *mpa_conn_socket(const struct mpa_conn *conn);
int mpa_set_enhanced(struct mpa_conn *conn, const struct mpa_enhanced *enhanced,
		     u16 ird_max);
int mpa_start_initiator(struct mpa_conn *conn, const void *pd, size_t len);
int mpa_start_responder(struct mpa_conn *conn, const void *msg, size_t len);
int mpa_start_immediate(struct mpa_conn *conn);
int mpa_accept(struct mpa_conn *conn, const void *pd, size_t len);
int mpa_reject(struct mpa_conn *conn, const void *pd, size_t len);
int mpa_shutdown(struct mpa_conn *conn);
void mpa_abort(struct mpa_conn *conn);
void mpa_detach(struct mpa_conn *conn);
int mpa_detach_sync(struct mpa_conn *conn);
void mpa_barrier(void);

/* Data. */
int mpa_send(struct mpa_conn *conn, struct mpa_tx *tx);
int mpa_send_list(struct mpa_conn *conn, struct list_head *list);
u32 mpa_mulpdu(const struct mpa_conn *conn);
void mpa_hold(struct mpa_conn *conn);
void mpa_resume(struct mpa_conn *conn);
void mpa_rx_get(struct mpa_rx *rx);
void mpa_rx_put(struct mpa_rx *rx);

/* Watching. */
void mpa_get_info(struct mpa_conn *conn, struct mpa_info *info);
const char *mpa_reason_name(enum mpa_reason reason);

/* mpa_sock_params.flags */
#define MPA_F_FALLBACK	BIT(4)	/* of Rev 2 to Rev 1, on a new connection */

/**
 * struct mpa_sock_params - what mpa_connect() and mpa_listen() need to know
 * @net: namespace; the socket holds a reference to it
 * @local: own address and port; family AF_UNSPEC: any (mpa_connect() only).
 *	An IPv6 scope id names the device for link-local addresses.
 * @peer: address and port to connect to; not used by mpa_listen()
 * @bound_dev_if: device the socket is bound to, or 0
 * @backlog: of mpa_listen(); 0 means SOMAXCONN
 * @flags: %MPA_F_MEMALLOC, %MPA_F_FALLBACK, or 0. With %MPA_F_MEMALLOC done()
 *	and accepted(), too, may use the reserves of memory, and wait for none;
 *	it holds for the connection of @start as well
 * @setup: called before connect or listen, in process context, to set socket
 *	options (priority, TOS, keepalive, buffers, ...); may be NULL. A
 *	negative return fails the call. Listening sockets pass most options on
 *	to the sockets they accept.
 * @ctx: for @setup and for the callbacks
 * @start: mpa_connect() only: attach to the connected socket, and start as the
 *	Initiator; copied. NULL: the consumer does that. With
 *	%MPA_F_FALLBACK and Rev 2 a peer that closes, resets, rejects the
 *	revision, or stays silent, is asked again for Rev 1 on a new
 *	connection.
 * @pd: with @start: private data of the Request; copied
 * @pd_len: octets of it
 */
struct mpa_sock_params {
	struct net		*net;
	struct sockaddr_storage	local;
	struct sockaddr_storage	peer;
	int			bound_dev_if;
	int			backlog;
	u32			flags;
	int			(*setup)(struct socket *sock, void *ctx);
	void			*ctx;
	const struct mpa_params	*start;
	const void		*pd;
	size_t			pd_len;
};

/* Thin helpers that make connected sockets for mpa_attach(). */
typedef void (*mpa_connected_fn)(void *ctx, struct socket *sock,
				 struct mpa_conn *conn, int err);
struct mpa_connector *mpa_connect(const struct mpa_sock_params *params,
				  mpa_connected_fn done);
void mpa_connect_close(struct mpa_connector *connector);
struct mpa_listener *
mpa_listen(const struct mpa_sock_params *params,
	   void (*accepted)(void *ctx, struct socket *sock));
void mpa_listen_close(struct mpa_listener *listener);
int mpa_listen_close_sync(struct mpa_listener *listener);

#endif /* _NET_MPA_H */
