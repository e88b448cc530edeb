/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * iWARP Marker PDU Aligned Framing for TCP (MPA), RFC 5044, with the enhanced
 * startup of RFC 6581 (Rev 2).
 *
 * The interface between MPA and its consumer, usually DDP. Its terms and its
 * rules are in Documentation/networking/mpa-design.rst. In short:
 *
 * - The socket belongs to the consumer. MPA borrows it from mpa_attach() until
 *   released(), which returns it with its callbacks restored.
 * - Callbacks of a connection run one at a time, by default in process context
 *   with no lock of MPA or of the socket held. After mpa_allow_softirq() recv()
 *   may also run with BH off and the socket locked, in softirq or in a task;
 *   after mpa_allow_softirq_send() run() and sent() may, too. in_task() does
 *   not tell whether they may sleep.
 * - Callbacks may call the functions declared here, but with BH off none that
 *   sleep. For another connection they call mpa_kick() and mpa_send(), never
 *   mpa_kick_now() or mpa_send_now(). For their own these act like those, and
 *   do not sleep.
 * - No callback, done() and accepted() included, may call functions that wait:
 *   mpa_detach_sync(), mpa_listen_close_sync() and mpa_barrier().
 * - conn->lock is taken with spin_lock_bh(). "Any with interrupts on", of a
 *   function's context, means process and softirq: neither a hard interrupt nor
 *   a section with interrupts off.
 * - After mpa_detach(), hence in released(), only these may be called for the
 *   connection: mpa_conn_ctx() and mpa_conn_socket(), until released() returns;
 *   mpa_rx_put(); and with a reference of mpa_conn_get() also mpa_conn_put(),
 *   and functions such as mpa_kick_now() and mpa_send_now(): called after the
 *   detach, these fail or have no effect, but for mpa_abort(), which may still
 *   reset TCP until released() is called. mpa_get_info() and mpa_mulpdu() are
 *   not among them: they read the socket.
 * - released() is the last callback. From then on MPA touches neither the
 *   socket nor any memory of the consumer, but for &mpa_params.ops if a
 *   function is called after the detach.
 */
#ifndef _NET_MPA_H
#define _NET_MPA_H

#include <linux/list.h>
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
#define MPA_PD_MAX_ENHANCED	508	/* private data after IRD and ORD */
#define MPA_PD_MAX_REV0		65535	/* private data, Rev 0 */

#define MPA_REV_NONE		(-1)	/* immediate start: no frames */
#define MPA_REV_0		0	/* selected with MPA_F_REV0 only */
#define MPA_REV_1		1
#define MPA_REV_2		2

#define MPA_DEPTH_MAX		0x3ffe	/* highest IRD or ORD */
#define MPA_DEPTH_ULP		0x3fff	/* the ULP negotiates the depth */

/* mpa_enhanced.rtr: kinds of Ready to Receive, RFC 6581 section 9.2 */
#define MPA_RTR_SEND		BIT(0)	/* zero-length Send */
#define MPA_RTR_WRITE		BIT(1)	/* zero-length RDMA Write */
#define MPA_RTR_READ		BIT(2)	/* zero-length RDMA Read */

/**
 * enum mpa_error - error codes of RFC 5044 section 8 and RFC 6581 section 8
 * @MPA_ERR_NONE: no error
 * @MPA_ERR_TCP: TCP connection closed, terminated or lost
 * @MPA_ERR_CRC: received CRC differs from the computed one
 * @MPA_ERR_MARKER: marker and ULPDU_Length disagree
 * @MPA_ERR_FRAME: invalid Request or Reply frame, or none in time
 * @MPA_ERR_LOCAL: enhanced startup failed for a local reason. MPA never
 *	reports it; it is for the consumer's Terminate message.
 * @MPA_ERR_IRD: the Responder's ORD exceeds the highest IRD of this end
 * @MPA_ERR_RTR: the ends have no kind of RTR, or no connection model, in
 *	common; or only RDMA Read, and the Responder's IRD is 0
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
 * enum mpa_reason - why the receive half of a connection ended
 * @MPA_REASON_NONE: it has not ended
 * @MPA_REASON_FIN: FIN of the peer between two FPDUs, a graceful close (err is
 *	0); or in startup, before its frame (code 1 both times)
 * @MPA_REASON_TRUNCATED: FIN of the peer inside an FPDU (code 1)
 * @MPA_REASON_RESET: reset by the peer, given up by TCP, reconnected by another
 *	user of the socket, or TCP has octets that MPA cannot read (code 1)
 * @MPA_REASON_ABORTED: mpa_abort() was called, a source failed, TCP had no
 *	memory for a FIN, or the namespace is going away (code 1)
 * @MPA_REASON_CRC: CRC mismatch (code 2)
 * @MPA_REASON_MARKER: FPDUPTR does not point to the ULPDU_Length. A Rev 0 peer,
 *	or one without startup frames, may point to the marker before it. Also:
 *	an FPDU does not fit those passed out of order (code 3)
 * @MPA_REASON_LENGTH: ULPDU_Length outside 1 to 64768, or changed by a process
 *	on the same host after MPA had read it (code 3)
 * @MPA_REASON_URGENT: TCP urgent data (code 3, in startup code 4)
 * @MPA_REASON_KEY: not a startup frame (code 4)
 * @MPA_REASON_ROLE: an Initiator has got a Request, for both ends are
 *	Initiators, or a Responder a Reply (code 4). Two Responders both wait,
 *	until %MPA_REASON_TIMEOUT
 * @MPA_REASON_REVISION: a revision that this end does not support or does not
 *	accept (code 4)
 * @MPA_REASON_PD_LENGTH: more private data than allowed, or too little to
 *	hold IRD and ORD (code 4)
 * @MPA_REASON_SHORT_FRAME: FIN of the peer inside a startup frame (code 4)
 * @MPA_REASON_EARLY: octets after a Request, before its Reply (code 4)
 * @MPA_REASON_TIMEOUT: no complete startup frame in time, or TCP did not take
 *	all of ours in time (code 4)
 * @MPA_REASON_STARTUP_OVERFLOW: more Responders than the sysctl
 *	net.mpa.startup_max allows wait for a Request, and this one has waited
 *	longest (code 4)
 * @MPA_REASON_NOMEM: no memory to store the startup frame (code 4)
 * @MPA_REASON_ENHANCED: an accepting Reply whose S bit differs from our
 *	Request's, or a Request with S=1 to a Responder without
 *	%MPA_F_ENHANCED (code 4)
 * @MPA_REASON_IRD: see %MPA_ERR_IRD (code 6)
 * @MPA_REASON_RTR: see %MPA_ERR_RTR; also a Reply whose A flag differs from our
 *	Request's (code 7)
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
	MPA_REASON_SHORT_FRAME,
	MPA_REASON_EARLY,
	MPA_REASON_TIMEOUT,
	MPA_REASON_STARTUP_OVERFLOW,
	MPA_REASON_NOMEM,
	MPA_REASON_ENHANCED,
	MPA_REASON_IRD,
	MPA_REASON_RTR,
};

/**
 * struct mpa_end - how the receive half of a connection ended; valid until
 *	ended() returns
 * @error: code to put into a Terminate message. The consumer can still send one
 *	after %MPA_ERR_CRC, %MPA_ERR_MARKER, %MPA_ERR_IRD and %MPA_ERR_RTR,
 *	unless it is a Responder that never had a valid FPDU.
 * @reason: why it ended
 * @err: 0 for a graceful close, or a negative errno: %-EBADMSG for
 *	%MPA_REASON_CRC, %-ETIMEDOUT, %-ECONNABORTED for
 *	%MPA_REASON_STARTUP_OVERFLOW, %-ENOMEM, %-ECANCELED after mpa_abort(),
 *	%-ECONNRESET for a FIN in startup or a socket that another user has
 *	reconnected, %-EFAULT if TCP has octets that MPA cannot read, what TCP
 *	said of a loss, what failed in sending, and %-EPROTO for all else that
 *	a peer does wrong
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
 * @ird: how many simultaneous RDMA Read Requests the sender of this data takes:
 *	up to %MPA_DEPTH_MAX, or %MPA_DEPTH_ULP
 * @ord: how many simultaneous RDMA Read Requests it issues: up to
 *	%MPA_DEPTH_MAX, or %MPA_DEPTH_ULP
 * @rtr: MPA_RTR_*: the kinds of RTR that it can send (Initiator) or take
 *	(Responder). 0: the client-server model, without an RTR (flag A is 0);
 *	in data of the peer also flag A without any kind
 */
struct mpa_enhanced {
	u16	ird;
	u16	ord;
	u8	rtr;
};

/**
 * struct mpa_startup - contents of the peer's Request or Reply frame; valid,
 *	with all it points to, until the callback returns
 * @pd: private data, without the enhanced data; NULL if there is none
 * @pd_len: length of @pd in octets
 * @rev: revision
 * @markers: M bit: the peer wants markers in what it receives
 * @enhanced: enhanced data, or NULL if there is none (the S bit is 0)
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
 * @pos: stream position of the first octet of its FPDU. Increases from ULPDU to
 *	ULPDU within a call; without %MPA_F_OOO also from call to call.
 * @len: length of the ULPDU, 1 to %MPA_ULPDU_MAX octets
 * @nr_frags: number of fragments at @frag
 * @frag: fragments that hold the octets, in order; their lengths add up to
 *	@len. iov_iter_kvec() makes an iterator of them.
 */
struct mpa_ulpdu {
	u64			pos;
	u32			len;
	u32			nr_frags;
	const struct kvec	*frag;
};

/**
 * struct mpa_rx - ULPDUs passed to the consumer in one call
 * @ulpdu: the ULPDUs, verified; each ULPDU is passed exactly once
 * @nr: number of ULPDUs; may be 0 when only @delivered has increased
 * @delivered: Delivery: every ULPDU whose FPDU begins below this stream
 *	position has been passed, and the consumer may act on it, in the order
 *	of the positions. A ULPDU at or above it is passed for placement only.
 *
 * With %MPA_F_OOO ULPDUs that arrive after a hole in the TCP stream are passed
 * as soon as they can be verified, unless there are no markers or no CRCs.
 * Unless net.mpa.ooo_ack_notify is 0, TCP then acknowledges each segment after
 * a hole at once, whatever net.ipv4.tcp_comp_sack_nr says.
 *
 * Either all ULPDUs of a call are below @delivered, or none is; the @pos of the
 * first one tells. No ULPDU that an earlier call passed out of order lies
 * between two ULPDUs of a call.
 *
 * Placement is not Delivery. If a ULPDU is not below @delivered, the consumer
 * may put its octets where they belong, and must keep what else it needs to
 * know of it, since it is not passed again. It must not act on the ULPDU,
 * answer it, or tell anybody of it before the @delivered of a later call (maybe
 * one without ULPDUs) is above its position. If ended() comes first, it never
 * may.
 *
 * The effects of the ULPDUs before it have not been applied yet: for example an
 * STag may still be invalidated, and of two ULPDUs that write to the same place
 * the older one may be the last to do so. TCP's receive window bounds how far
 * ahead a ULPDU can be. No more are passed out of order while the consumer
 * keeps more memory than the receive buffer in batches passed out of order, or
 * (without %MPA_F_MEMALLOC) all consumers of the namespace together keep more
 * than net.mpa.rx_mem_max. mpa_hold() stops them, too. The first ULPDU of the
 * stream, such as an RTR, is the one at position 0.
 *
 * A recv() that delivers is put off, too, while the batches passed in order
 * that the consumer keeps of this connection take more memory, by the truesize
 * of their skbs or copies and some 7 KB for each batch, than the receive
 * buffer. A batch counts all skbs in which MPA has looked for its FPDUs, up to
 * the one with the 32nd KB, also those that other batches count: a consumer
 * that keeps short ULPDUs for long had better copy them. While it keeps at
 * least one, recv() is also put off as long as all consumers of the namespace
 * together keep more than net.mpa.rx_mem_max; the latter not with
 * %MPA_F_MEMALLOC.
 *
 * The structure and all it points to, the octets included, belong to MPA. The
 * octets stay where TCP put them, or are a copy, for example where the kernel
 * has marked them as pages that a process on the same host can change
 * (splice()). The consumer must not write to them, and may read them until
 * recv() returns or, if it took a reference with mpa_rx_get(), until
 * mpa_rx_put().
 */
struct mpa_rx {
	const struct mpa_ulpdu	*ulpdu;
	unsigned int		nr;
	u64			delivered;
};

/* mpa_tx.flags */
#define MPA_TX_ZEROCOPY		BIT(0)	/* send the pages of an ITER_BVEC */
#define MPA_TX_COPY		BIT(1)	/* octets of the data may change */
#define MPA_TX_TEMPLATE		BIT(2)	/* MPA cuts the message itself */

#define MPA_TEMPLATE_HDR	32	/* longest header of a template */

/**
 * struct mpa_template - how the headers of a message's ULPDUs differ
 * @count_at: offset in the header of a counter, most significant octet first
 * @count_size: octets of the counter, 4 or 8
 * @last: bits that the first octet of the header has in the last ULPDU as well
 *
 * The counter of a ULPDU is that of mpa_tx.hdr and the octets of mpa_tx.data in
 * the ULPDUs before it; it wraps. With @count_at 6 or 14 it is the tagged
 * offset or the message offset of DDP (RFC 5041 section 4), and @last its L
 * flag.
 */
struct mpa_template {
	u8	count_at;
	u8	count_size;
	u8	last;
};

/**
 * struct mpa_tx - one message to send: a ULPDU, or a source of ULPDUs
 * @list: links messages, for mpa_send_list() and for the list given to sent()
 * @hdr: first octets of the ULPDU; may be NULL if @hdr_len is 0
 * @hdr_len: octets at @hdr
 * @flags: some of %MPA_TX_ZEROCOPY, %MPA_TX_COPY, %MPA_TX_TEMPLATE. With
 *	%MPA_TX_ZEROCOPY the pages of @data are sent without a copy, if it is an
 *	ITER_BVEC. With %MPA_TX_COPY the octets of @data may change at any time.
 *	With %MPA_TX_TEMPLATE MPA cuts @data into ULPDUs itself.
 * @len: octets of @data that belong to the ULPDU, after @hdr. The ULPDU has
 *	@hdr_len + @len octets, 1 to %MPA_ULPDU_MAX. For a template see below.
 * @data: where these octets are; MPA advances it by @len for each ULPDU. Any
 *	kernel iterator that is a source (ITER_KVEC, ITER_BVEC, ...). Where it
 *	need not be set (@len is 0, or @next sets it), its memory must be zero
 *	when the message is posted: mpa_send() looks at it.
 * @next: NULL for a single ULPDU. Otherwise the message is a source: MPA calls
 *	this function for each ULPDU (with %MPA_TX_TEMPLATE: see below) when
 *	there is room to send one, in the context of the callbacks. It sets
 *	@hdr, @hdr_len and @len so that @hdr_len + @len is between 1 and @max
 *	octets, and returns 1 if more ULPDUs follow, 0 if this is the last, or a
 *	negative errno, which fails the connection: it is not called again, and
 *	%-EAGAIN, %-ENOMEM and %-ENOBUFS become %-EIO. A source that has to stop
 *	before its last ULPDU returns 0 with @hdr_len and @len 0. With @max
 *	octets the FPDU ends where a TCP segment does; @max is at least
 *	%MPA_MULPDU_MIN. @hdr must stay valid until the next call or until the
 *	message is handed back. @hdr, @hdr_len and @len need no value before the
 *	first call. Each call, the first as well, may replace @data by another
 *	kernel iterator, so that a source can be longer than one iterator
 *	describes. The array of the one before (kvec, bio_vec) is the consumer's
 *	again, the octets are not. A return value above 1, or lengths outside
 *	these bounds, give a warning and fail the connection with %-EINVAL.
 * @template: with %MPA_TX_TEMPLATE, how headers differ
 * @status: result, once handed back: 0 if TCP has taken all of it, or a
 *	negative errno: %-ECANCELED (aborted or detached), %-EPIPE (this
 *	Responder may never send, or TCP was reset after the peer's FIN), or
 *	what closed() is told: %-ECONNRESET, %-ETIMEDOUT, ... (connection lost
 *	before it was handed back), or the errno of a source that failed
 *
 * From a successful mpa_send() until the message is handed back in sent() or
 * released(), the structure and all memory that it names belong to MPA and must
 * not be changed: MPA may have computed a CRC before TCP copies the octets, or
 * sends them, and the peer would find it wrong. A message is handed back
 * exactly once, in the order of posting.
 *
 * Set %MPA_TX_COPY if another task can change the octets while MPA has the
 * message: pages of the page cache, memory that an application has registered.
 * Where CRCs are in use, MPA copies the octets of @data, each once, and
 * computes the CRC of the copy: an octet that the peer gets was there at some
 * time after mpa_send(), and the CRC is right. %MPA_TX_ZEROCOPY is ignored
 * then. Without CRCs the flag changes nothing. The memory must stay until the
 * message is handed back.
 *
 * With %MPA_TX_TEMPLATE the message is cut without a call for each ULPDU. @hdr,
 * of at most %MPA_TEMPLATE_HDR octets, is the header of the first ULPDU, but
 * for the bits of the last; @len octets of @data follow it, in as many ULPDUs
 * as they need, and MPA subtracts from @len what it has cut. All ULPDUs but the
 * last fill a segment, or what others have left of one: of a message that fits
 * a segment of its own at least %MPA_MULPDU_MIN octets, of others twice the
 * header.
 *
 * If there is a @next, MPA calls it when the @len octets that are left may fit
 * one ULPDU of @max octets; maybe several times without having cut any, if that
 * had no room or memory was short. It may replace @data by an iterator that
 * begins with these octets, and increase @len by those that follow. It returns
 * 1 if even more follow, which needs a @len that is not 0; 0 if that is all; or
 * a negative errno as above. If it returns 1 with no more than @max octets in
 * all, header included, a ULPDU before the last may not fill its segment.
 * If it returns 0 without octets, the last ULPDU is a header alone. To stop
 * without a last ULPDU it sets @hdr_len and @len to 0 and returns 0. Otherwise
 * @hdr, @hdr_len and @template stay as they are until the message is handed
 * back.
 *
 * With %MPA_TX_ZEROCOPY a message is handed back when the network stack no
 * longer reads its octets, nor those of messages that were sent along with it,
 * up to 64 KB; see mpa_detach(). From then on the consumer may write to the
 * pages, and drop its references on them. It must not rely on page_count(), and
 * must not free or remap a page by other means than dropping references: the
 * network stack reports that it has finished with an skb just before it drops
 * the skb's references on the pages, and MPA may hold some until TCP has taken
 * the messages queued after this one.
 *
 * Only pages of an ITER_BVEC are sent without a copy. The octets at @hdr, other
 * iterators (ITER_KVEC, ...) and slab pages are copied, and so is a ULPDU whose
 * pages and markers need more fragments than an skb has. A message is copied
 * where that costs less (net.mpa.zerocopy_min); the consumer sees no difference
 * but that it is handed back sooner. Everything is copied while
 * net.ipv4.tcp_mtu_probing is not 0: TCP's probes refer to pages, but do not
 * delay handing back the message. Do not set that sysctl while zero-copy
 * messages are under way.
 */
struct mpa_tx {
	struct list_head	list;
	const void		*hdr;
	u16			hdr_len;
	u16			flags;
	u32			len;
	struct iov_iter		data;
	int			(*next)(struct mpa_tx *tx, u32 max);
	const struct mpa_template *template;
	int			status;
	/* private: used by MPA while it has the message */
	u32			state;
	u64			end;
	u64			cut;
};

/**
 * struct mpa_ops - callbacks of a consumer
 * @request: Responder: a valid Request has arrived. Answer it with
 *	mpa_accept(), mpa_reject(), mpa_abort() or mpa_detach(), in the callback
 *	or any time later; no timer runs.
 * @established: full operation has begun; mpa_get_info() has what was
 *	negotiated. @reply is the peer's Reply (Initiator), else NULL. Delivery
 *	is on hold until mpa_resume(), unless that was called before; the
 *	consumer can post messages at once.
 * @rejected: Initiator: the peer's Reply rejects. @reply may be of a lower
 *	revision than the Request, and without enhanced data; MPA has read
 *	nothing past it. Responder: the Reply of mpa_reject() has been given to
 *	TCP (@reply is NULL). MPA does no more on this connection; mpa_detach()
 *	gives the TCP connection back, open.
 * @recv: ULPDUs have arrived, see &struct mpa_rx
 * @sent: messages are handed back; each &struct mpa_tx on the list is the
 *	consumer's again, with its result in @status. The list is valid until
 *	the callback returns. The call comes before the recv() of the peer's
 *	answer to them, unless one of them, or a message before them, has
 *	%MPA_TX_ZEROCOPY.
 * @mulpdu: the MULPDU has changed to @mulpdu octets. mpa_mulpdu() takes a hole
 *	in the peer's octets into account at once; this call comes with the next
 *	post, or when the next octet arrives in order. After another change of
 *	the EMSS it comes with the next post, or the next run of the work item.
 * @ended: the receive half has ended, or startup has failed. Comes at most
 *	once, after the last recv(). If TCP is lost, the FPDUs that it has got
 *	are delivered first, and a FIN that it has got is the end reported;
 *	unless delivery is on hold, the consumer keeps as much as it may, or
 *	there is no memory. The consumer may still send, unless closed()
 *	follows at once, or it is a Responder that never had a valid FPDU.
 * @closed: TCP is closed in both directions: @err is 0 if both sides closed
 *	gracefully, else a negative errno. Comes at most once, after ended()
 *	and after the messages have been handed back, and only after this end's
 *	mpa_shutdown() and the peer's FIN, or when the connection is lost,
 *	aborted or fails in startup. MPA sets no time limit in full operation.
 * @run: comes in each round of the connection's work item in full operation,
 *	between receiving and sending, on hold and after ended() as well;
 *	mpa_kick() asks for a round. For a consumer that has a send queue of its
 *	own: here it posts what is due, and needs no lock against its other
 *	callbacks. If it leaves something to do, it calls mpa_kick().
 * @released: the last callback: no other one is running, and none will come. It
 *	follows mpa_detach(), and nothing else. @left has the messages that were
 *	not handed back before, in order, with their status. The socket and the
 *	context are the consumer's again.
 *
 * @recv, @ended and @released are mandatory, @request for a Responder,
 * @rejected for an Initiator, @sent for a consumer that sends. The others may
 * be NULL; without @established the consumer calls mpa_resume() elsewhere.
 *
 * Callbacks run in the connection's work item; run(), sent(), mulpdu() and the
 * next() of a source also in a call of mpa_kick_now() or mpa_send_now(), in the
 * caller's task; and recv(), run() and sent() where mpa_allow_softirq() and
 * mpa_allow_softirq_send() say.
 *
 * A callback may block: on a lock, for memory, for a device. Until it returns,
 * its connection neither sends nor receives. It must not wait for a callback of
 * its own connection, nor, directly or by a lock, for one of another connection
 * or for done() or accepted(): the work items that run these have a bounded
 * number of workers, and if all workers wait none is left. The one exception: a
 * callback of a connection without %MPA_F_MEMALLOC may wait for callbacks of
 * connections with it. These have workers of their own, and nothing that other
 * callbacks wait for delays them. All this holds for done() and accepted() as
 * well.
 *
 * With %MPA_F_MEMALLOC a callback must not wait for memory either, nor for a
 * lock whose holder waits for memory: when memory is short, a single thread
 * runs the callbacks of all connections with the flag, one after the other.
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
	void (*run)(struct mpa_conn *conn);
	void (*released)(struct mpa_conn *conn, struct list_head *left);
};

/* Most octets of FPDUs that are passed in softirq, see mpa_allow_softirq() */
#define MPA_SOFTIRQ_OCTETS	16384

/* Octets of the longest ULPDU of mpa_allow_softirq_send() */
#define MPA_SOFTIRQ_SEND	256

/* mpa_params.flags */
#define MPA_F_MARKERS	BIT(0)	/* have the peer send markers (M=1) */
#define MPA_F_STRICT	BIT(1)	/* refuse Rev 0 peers, unless MPA_F_REV0 */
#define MPA_F_MEMALLOC	BIT(2)	/* used for writing out memory: reclaim-safe */
#define MPA_F_ENHANCED	BIT(3)	/* Rev 2: enhanced startup (S=1) */
/* BIT(4): MPA_F_FALLBACK, below */
#define MPA_F_OOO	BIT(5)	/* pass ULPDUs out of order; sets M=1 */
#define MPA_F_REV0	BIT(6)	/* announce Rev 0, as an RDMAC peer does */

/**
 * struct mpa_params - parameters of a connection
 * @ops: the consumer's callbacks; must outlive the connection, and the last
 *	reference of mpa_conn_get(): functions called after the detach look at
 *	them
 * @ctx: the consumer's context, see mpa_conn_ctx()
 * @flags: %MPA_F_MARKERS and so on. With %MPA_F_MEMALLOC the callbacks, too,
 *	may use the memory reserves, and must not wait for memory. The allocator
 *	gives none where a task calls them with BH off, as mpa_allow_softirq()
 *	and mpa_allow_softirq_send() allow.
 * @rev: revision to announce, %MPA_REV_1 or %MPA_REV_2. 0, or left out, means
 *	%MPA_REV_1 (RFC 5044 section 7.1.1); with %MPA_F_REV0, which allows no
 *	other value, it means Rev 0. A Responder also takes Requests of lower
 *	revisions (of Rev 0 not with %MPA_F_STRICT), and answers by the same;
 *	with %MPA_F_REV0 also those of Rev 1, which it answers by Rev 0. An
 *	Initiator takes Replies of lower revisions likewise, but not with
 *	%MPA_F_ENHANCED.
 * @pd_max: most private data of a Rev 0 frame, sent or received, in octets; 0
 *	means %MPA_PD_MAX. A Rev 1 or 2 peer may always send %MPA_PD_MAX octets.
 * @enhanced: with %MPA_F_ENHANCED, what this end asks for and accepts.
 *	Initiator: goes into the Request. Responder: limits from which the Reply
 *	is made, with at least one kind of RTR. If the Reply has %MPA_RTR_READ
 *	among its kinds, an IRD of 0 becomes 1 (RFC 6581 section 9.1): a peer
 *	that then sends another RTR may use it. mpa_set_enhanced() changes it.
 * @ird_max: Initiator: highest value to which @enhanced.ird may be raised where
 *	the Responder needs it, at most %MPA_DEPTH_MAX; 0: it is not raised
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
 * enum mpa_state - state of a connection
 * @MPA_STATE_ATTACHED: attached, not started
 * @MPA_STATE_STARTUP: startup frames are being exchanged
 * @MPA_STATE_DECIDE: Responder: the consumer has to answer the Request, or its
 *	Reply is being sent
 * @MPA_STATE_FULL: full operation
 * @MPA_STATE_REJECTED: a Reply rejected the Request; MPA does no more
 * @MPA_STATE_CLOSED: lost, aborted, failed in startup, or closed gracefully in
 *	both directions
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
 * @state: its state
 * @rev: revision in use, which is also the version of DDP and RDMAP (for Rev 2
 *	that version is 1); %MPA_REV_NONE before it is known and after
 *	mpa_start_immediate()
 * @peer_rev: revision in the peer's frame, or %MPA_REV_NONE
 * @initiator: this end sent the Request
 * @markers_tx: this end sends markers
 * @markers_rx: the peer sends markers
 * @emss: octets of a segment that FPDUs may fill: the EMSS of the path less
 *	the room now reserved for SACK blocks and AccECN; FPDUs of one length in
 *	a row may fill less
 * @mulpdu: as mpa_mulpdu()
 * @tx_pos: stream position up to which TCP has taken octets
 * @rx_pos: stream position up to which everything was delivered
 * @ulpdus_tx: ULPDUs given to TCP; those of one record (see mpa-design.rst)
 *	count when TCP has taken all of it
 * @ulpdus_rx: ULPDUs delivered
 * @ulpdus_ooo: ULPDUs passed out of order
 * @octets_ooo: octets of @ulpdus_ooo, without framing
 * @ooo_suppressed: of @ulpdus_ooo, those delivered since, without being passed
 *	again
 * @enhanced: in full operation: RFC 6581 was used; @ird, @ord, @rtr and @theirs
 *	come from it
 * @ird: RDMA Read Requests that the peer may have under way. If the peer sent
 *	%MPA_DEPTH_ULP, what was asked for at this end. If either end sent it,
 *	the ULP negotiates the depth.
 * @ord: RDMA Read Requests that this end may have under way; %MPA_DEPTH_ULP as
 *	for @ird
 * @rtr: Initiator: the one kind of RTR to send as the first ULPDU.
 *	Responder: the kinds of RTR of which the peer's first ULPDU is one,
 *	unless it is a Terminate message. 0: none. An RTR by RDMA Read does not
 *	count against @ird, and is sent if @ord is 0.
 * @theirs: the peer's enhanced data, also where it led to an error
 * @local: address and port of this end
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

/*
 * The contract of each function (context, locks, return codes) is in the
 * kernel-doc above its definition: in mpa_attach.c, mpa_info.c, mpa_conn.c,
 * mpa_cm.c, mpa_main.c, mpa_tx.c, mpa_loop.c, mpa_rx.c, mpa_rx_batch.c,
 * mpa_connect.c and mpa_listen.c.
 *
 * Lifetime: attach, start, (accept or reject), ..., detach. For the states, and
 * how to end a connection gracefully, see "The consumer's view" in
 * Documentation/networking/mpa-design.rst.
 */
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

/* Data */
int mpa_send(struct mpa_conn *conn, struct mpa_tx *tx);
int mpa_send_list(struct mpa_conn *conn, struct list_head *list);
void mpa_kick(struct mpa_conn *conn);
int mpa_send_now(struct mpa_conn *conn, struct mpa_tx *tx);
void mpa_kick_now(struct mpa_conn *conn);
u32 mpa_mulpdu(const struct mpa_conn *conn);
void mpa_allow_softirq(struct mpa_conn *conn);
void mpa_allow_softirq_send(struct mpa_conn *conn);
int mpa_set_cpu(struct mpa_conn *conn, int cpu);
void mpa_hold(struct mpa_conn *conn);
void mpa_resume(struct mpa_conn *conn);
void mpa_rx_get(struct mpa_rx *rx);
void mpa_rx_put(struct mpa_rx *rx);

/* References; a connection that is kept from being released needs none. */
void mpa_conn_get(struct mpa_conn *conn);
void mpa_conn_put(struct mpa_conn *conn);

/* Information */
void mpa_get_info(struct mpa_conn *conn, struct mpa_info *info);
const char *mpa_reason_name(enum mpa_reason reason);

/* mpa_sock_params.flags */
#define MPA_F_FALLBACK	BIT(4)	/* from Rev 2 to Rev 1, on a new connection */

/**
 * struct mpa_sock_params - parameters of mpa_connect() and mpa_listen()
 * @net: namespace; the socket holds a reference on it
 * @local: own address and port; family AF_UNSPEC: any (mpa_connect() only).
 *	For a link-local address the IPv6 scope id names the device.
 * @peer: address and port to connect to; not used by mpa_listen()
 * @bound_dev_if: index of the device the socket is bound to, or 0. If there is
 *	none, a listener hears nothing, or fails with %-ENODEV as mpa_connect()
 *	does, or that with %-ENETUNREACH.
 * @backlog: length of the accept queue of mpa_listen(); 0 means SOMAXCONN. Not
 *	used by mpa_connect(), but not negative either
 * @flags: %MPA_F_MEMALLOC, %MPA_F_FALLBACK (mpa_connect() only), or 0. With
 *	%MPA_F_MEMALLOC done() and accepted(), too, may use the memory reserves,
 *	and must not wait for memory; it also applies to the connection of
 *	@start.
 * @setup: called before connect or listen, in process context, to set socket
 *	options (priority, TOS, keepalive, buffers, ...); may be NULL. A
 *	negative return value fails the call. It must not change the socket's
 *	callbacks or sk_user_data, and should not set IP_RECVERR,
 *	IPV6_RECVERR or stamps of what is sent, see mpa_attach(). For the second
 *	attempt of %MPA_F_FALLBACK a work item calls it, where the rules of
 *	done() hold. A listening socket passes most options on to the sockets it
 *	accepts. With SO_REUSEPORT, sockets that wait to be accepted may migrate
 *	to other listeners of the group, and from other listeners to this one.
 * @ctx: context of @setup and of the callbacks
 * @start: mpa_connect() only: parameters with which MPA attaches to the
 *	connected socket and starts as the Initiator; copied. NULL: the consumer
 *	does that. With %MPA_F_FALLBACK, which needs Rev 2 here, MPA sends a
 *	Rev 1 Request on a new connection if the peer closes, resets, does not
 *	answer in time, answers by a revision that is not accepted (with
 *	%MPA_F_ENHANCED any but 2), or rejects by a lower one or without the
 *	enhanced data that it was asked for.
 * @pd: with @start: private data of the Request; copied
 * @pd_len: length of @pd in octets
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

/* Helpers that make connected sockets for mpa_attach() */
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
