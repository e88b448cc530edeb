/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The parts of mpa_rdmap; see mpa_rdmap.c for what it does. */
#ifndef _MPA_RDMAP_H
#define _MPA_RDMAP_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <net/mpa.h>

#include "mpa_opts.h"
#include "../rnic/ddp_wire.h"

#define RDMAP_DEPTH		16		/* default of ird= and ord= */
#define RDMAP_SIZE_MAX		SZ_1M		/* octets of a Send */
#define RDMAP_RPING_MAX		SZ_64K		/* largest size= of rping */
#define RDMAP_ECHO_MAX		SZ_16M		/* octets of echo buffers */

enum rdmap_cmd {
	RDMAP_CMD_SERVE		= BIT(0),
	RDMAP_CMD_STOP		= BIT(1),
	RDMAP_CMD_CONNECT	= BIT(2),
};

enum rdmap_program {
	RDMAP_ECHO,
	RDMAP_RPING,
	RDMAP_UCMATOSE,
	RDMAP_RDMA_CLIENT,
	RDMAP_RDMA_SERVER,
	RDMAP_PROGRAMS,
};

/**
 * struct rdmap_opts - a command
 * @base: options that all samples have
 * @app: &enum rdmap_program
 * @rev: revision of MPA
 * @markers: M bit of our frame
 * @ooo: pass segments out of order
 * @ird: most RDMA Read Requests of the peer under way
 * @ord: most of our RDMA Read Requests under way
 * @rtr: kinds of RTR, MPA_RTR_*
 * @size: octets of a message
 * @count: number of messages
 * @depth: most messages under way
 * @timeout: limit for a connection, in seconds
 * @stag: first STag of our buffers, or 0: random
 * @ird_max: connect: value up to which @ird may grow
 * @fallback: connect: try Rev 1 after Rev 2
 * @verify: connect: compare the octets that come back
 */
struct rdmap_opts {
	struct mpa_opts	base;
	u32		app;
	u32		rev;
	u32		markers;
	u32		ooo;
	u32		ird;
	u32		ord;
	u32		rtr;
	u32		size;
	u32		count;
	u32		depth;
	u32		timeout;
	u32		stag;
	u32		ird_max;
	u32		fallback;
	u32		verify;
};

/**
 * struct rdmap_count - counts of one direction
 * @messages: Sends
 * @writes: RDMA Writes
 * @reads: RDMA Reads
 * @octets: payload of all these messages
 */
struct rdmap_count {
	u64	messages;
	u64	writes;
	u64	reads;
	u64	octets;
};

/**
 * struct rdmap_result - result of a connection
 * @number: number of this result, counted per side
 * @status: 0 or a negative errno
 * @reason: a word for @status
 * @mpa_error: error code of RFC 5044 or RFC 6581
 * @info: what was negotiated, and counts
 * @ird: IRD in use
 * @ord: ORD in use
 * @rtr: RTR that was sent or received, MPA_RTR_*
 * @start: time at which the connection began
 * @elapsed: duration, ns
 * @iterations: rounds of the program
 * @tx: messages sent
 * @rx: messages received; reads are those answered
 * @placed_ooo: octets placed out of order
 * @mismatches: messages that came back altered
 * @term_tx: error in our Terminate, or 0
 * @term_rx: error in the peer's Terminate, or 0
 * @term_swapped: layer and type in the peer's Terminate were swapped
 * @peer_rev: revision in the peer's frame
 * @pd: private data in the peer's frame
 * @pd_len: length of @pd in octets
 */
struct rdmap_result {
	u64			number;
	int			status;
	const char		*reason;
	enum mpa_error		mpa_error;
	struct mpa_info		info;
	u16			ird;
	u16			ord;
	u8			rtr;
	ktime_t			start;
	u64			elapsed;
	u64			iterations;
	struct rdmap_count	tx;
	struct rdmap_count	rx;
	u64			placed_ooo;
	u64			mismatches;
	u32			term_tx;
	u32			term_rx;
	bool			term_swapped;
	int			peer_rev;
	u8			*pd;
	u32			pd_len;
};

enum rdmap_side {
	RDMAP_SIDE_CONNECT,
	RDMAP_SIDE_SERVE,
	RDMAP_SIDES,
};

/**
 * struct rdmap_net - state of a namespace
 * @lock: protects all other members
 * @last: last result of each side
 * @results: number of results of each side
 */
struct rdmap_net {
	struct mutex		lock;	/* protects all other members */
	struct rdmap_result	*last[RDMAP_SIDES];
	u64			results[RDMAP_SIDES];
};

struct rdmap_stream;

/* struct rdmap_region.access */
#define RDMAP_REMOTE_READ	BIT(0)
#define RDMAP_REMOTE_WRITE	BIT(1)
#define RDMAP_READ_SINK		BIT(2)	/* sink of our own RDMA Reads */

/**
 * struct rdmap_region - a tagged buffer
 * @list: in rdmap_stream.regions
 * @stream: the stream whose peer may use it
 * @stag: its STag
 * @access: RDMAP_REMOTE_READ and so on; 0: invalidated
 * @base: Tagged Offset of its first octet
 * @mem: its octets
 * @len: length of @mem in octets
 */
struct rdmap_region {
	struct list_head	list;
	struct rdmap_stream	*stream;
	u32			stag;
	u32			access;
	u64			base;
	void			*mem;
	u32			len;
};

/**
 * struct rdmap_recv - an untagged buffer
 * @list: in rdmap_stream.recvs
 * @mem: its octets
 * @size: size of @mem in octets
 * @len: octets received
 */
struct rdmap_recv {
	struct list_head	list;
	void			*mem;
	u32			size;
	u32			len;
};

/**
 * struct rdmap_msg - a message to send, cut into segments by MPA
 * @tx: the message of MPA
 * @list: entry in rdmap_stream.reads, while it awaits its Response
 * @stream: the stream that sends it
 * @kv: describes @mem
 * @opcode: &enum rdmap_op
 * @busy: posted and not handed back
 * @owned: owned by the stream, which frees it when it is handed back
 * @is_rtr: answers an RTR; neither IRD nor a result counts it
 * @mem: octets to send
 * @len: number of octets to send
 * @stag: STag that an RDMA Write or Read Response goes to
 * @to: Tagged Offset that it goes to
 * @read: contents of a Read Request
 * @msn: message sequence number
 * @done: octets of @len cut; for a Read Request, octets that came back
 * @cut: MPA has cut the whole message
 * @answered: the Response to a Read Request has arrived
 * @hdr: header of the segment being sent
 */
struct rdmap_msg {
	struct mpa_tx		tx;
	struct list_head	list;
	struct rdmap_stream	*stream;
	struct kvec		kv;
	u8			opcode;
	bool			busy;
	bool			owned;
	bool			is_rtr;
	void			*mem;
	u32			len;
	u32			stag;
	u64			to;
	struct rdmap_read	read;
	u32			msn;
	u32			done;
	bool			cut;
	bool			answered;
	u8			hdr[RDMAP_HDR_MAX];
};

/**
 * struct rdmap_app - callbacks of a program; all but @begin are optional
 * @begin: full operation begins; delivery begins when it returns
 * @received: a Send has filled a buffer, which is the program's again
 * @sent: a Send or RDMA Write was handed back, the message is free again
 * @read: an RDMA Read is complete, the message is free again
 * @end: the stream has ended; free what @begin allocated, even if it failed
 */
struct rdmap_app {
	int	(*begin)(struct rdmap_stream *s);
	void	(*received)(struct rdmap_stream *s, struct rdmap_recv *recv);
	void	(*sent)(struct rdmap_stream *s, struct rdmap_msg *msg);
	void	(*read)(struct rdmap_stream *s, struct rdmap_msg *msg);
	void	(*end)(struct rdmap_stream *s);
};

/* struct rdmap_stream.flags */
enum rdmap_stream_flag {
	RDMAP_FAILED,		/* @res has the reason */
	RDMAP_TERMINATED,	/* nothing is sent after our Terminate */
	RDMAP_ENDING,		/* closed here; reset at the deadline */
};

/**
 * struct rdmap_stream - an RDMAP stream on a connection
 * @net: namespace it belongs to
 * @opts: the command
 * @app: callbacks of the program
 * @app_data: data of the program
 * @over: called when the stream is no longer used; may free it
 * @sock: socket of the connection
 * @conn: MPA on @sock
 * @deadline: time limit of the connection, jiffies
 * @timer: ends a connection at @deadline
 * @lock: serializes the end: one Terminate, then our FIN
 * @flags: &enum rdmap_stream_flag
 * @res: result so far
 * @begun: the program has begun
 * @idle: a FIN of the peer is expected from now on
 * @clean: the peer closed when that was expected
 * @deaf: further ULPDUs of the peer are dropped
 * @version: version of DDP and RDMAP
 * @msn_tx: number of the next message sent, by queue
 * @msn_rx: number of the next message received, by queue
 * @recvs: buffers for Sends
 * @mo: octets received of the Send that fills the first of @recvs
 * @await_rtr: kinds of RTR allowed as the peer's first segment
 * @rtr: our RTR
 * @regions: tagged buffers
 * @ooo: segments passed out of order and not delivered, by stream position
 * @reads: our Read Requests that await their Response, in order
 * @nr_reads: number of @reads, without an RTR
 * @answering: the peer's Read Requests whose Response is not sent completely,
 *	without an RTR
 * @answers: number of Responses not handed back
 * @held: delivery is on hold until @answers is lower
 * @term: our Terminate
 * @term_err: error of our Terminate
 * @term_octets: octets of our Terminate
 */
struct rdmap_stream {
	struct net		*net;
	const struct rdmap_opts	*opts;
	const struct rdmap_app	*app;
	void			*app_data;
	void			(*over)(struct rdmap_stream *s);
	struct socket		*sock;
	struct mpa_conn		*conn;
	unsigned long		deadline;
	struct timer_list	timer;
	spinlock_t		lock;	/* serializes the end */
	unsigned long		flags;
	struct rdmap_result	res;
	bool			begun;
	bool			idle;
	bool			clean;
	bool			deaf;
	u8			version;
	u32			msn_tx[RDMAP_QUEUES];
	u32			msn_rx[RDMAP_QUEUES];

	struct list_head	recvs;
	u32			mo;
	u8			await_rtr;
	struct rdmap_msg	rtr;
	struct list_head	regions;
	struct rb_root_cached	ooo;

	struct list_head	reads;
	u32			nr_reads;
	u32			answering;
	u32			answers;
	bool			held;

	struct mpa_tx		term;
	u32			term_err;
	u8			term_octets[RDMAP_TERM_MAX];
};

/**
 * struct rdmap_seg - a DDP segment that has been received
 * @hdr: its header
 * @hdr_len: length of @hdr on the wire
 * @ulpdu: the whole segment
 * @len: octets of payload
 * @octets: first octets of the segment
 * @nr_octets: number of octets in @octets
 * @placed: the payload was placed out of order, and is not here
 */
struct rdmap_seg {
	struct rdmap_hdr	hdr;
	u32			hdr_len;
	const struct mpa_ulpdu	*ulpdu;
	u32			len;
	u8			octets[RDMAP_HDR_MAX];
	u32			nr_octets;
	bool			placed;
};

/* mpa_rdmap.c APIs: */
struct rdmap_net *rdmap_net(struct net *net);

/* mpa_rdmap_opts.c APIs: */
int rdmap_opts_parse(struct net *net, char *line, struct rdmap_opts *opts);
void rdmap_opts_params(const struct rdmap_opts *opts,
		       struct mpa_params *params);

/* mpa_rdmap_result.c APIs: */
void rdmap_result_init(struct rdmap_result *res);
void rdmap_result_peer(struct rdmap_result *res,
		       const struct mpa_startup *peer);
void rdmap_result_publish(struct rdmap_result *res, struct net *net,
			  enum rdmap_side side);
void rdmap_result_free(struct rdmap_result *res);
void rdmap_result_show(struct seq_file *seq, const struct rdmap_result *res);

/* mpa_rdmap_region.c APIs: */
struct rdmap_region *rdmap_region_new(struct rdmap_stream *s, void *mem,
				      u32 len, u32 access);
void rdmap_regions_free(struct rdmap_stream *s);
u32 rdmap_region_find(struct rdmap_stream *s, u32 stag,
		      struct rdmap_region **region);
u32 rdmap_region_check(const struct rdmap_region *region, u64 to, u32 len);
u32 rdmap_region_yield(struct rdmap_stream *s, u32 stag,
		       struct rdmap_region **region);
void rdmap_region_invalidate(struct rdmap_region *region);

/* mpa_rdmap_rx.c APIs: */
void rdmap_ulpdu_copy(const struct mpa_ulpdu *ulpdu, u32 off, void *to,
		      u32 len);
bool rdmap_seg_get(struct rdmap_seg *seg, const struct mpa_ulpdu *ulpdu);
u32 rdmap_sink_find(struct rdmap_stream *s, const struct rdmap_seg *seg,
		    u32 access, void **to);
void rdmap_take(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu,
		bool placed);
void rdmap_recv(struct mpa_conn *conn, struct mpa_rx *rx);

/* mpa_rdmap_ooo.c APIs: */
void rdmap_ooo_keep(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu);
void rdmap_ooo_turn(struct rdmap_stream *s, u64 delivered);
void rdmap_ooo_drop(struct rdmap_stream *s);

/* mpa_rdmap_tx.c APIs: */
int rdmap_post(struct rdmap_stream *s, struct rdmap_msg *msg);
int rdmap_post_read(struct rdmap_stream *s, struct rdmap_msg *msg);
void rdmap_read_done(struct rdmap_stream *s, struct rdmap_msg *msg);
int rdmap_post_rtr(struct rdmap_stream *s, u8 rtr);
int rdmap_answer(struct rdmap_stream *s, const struct rdmap_read *read,
		 void *mem, bool is_rtr);
void rdmap_sent(struct mpa_conn *conn, struct list_head *done);
void rdmap_take_back(struct rdmap_stream *s, struct list_head *done);
int rdmap_terminate(struct rdmap_stream *s, u32 err,
		    const struct rdmap_seg *seg);

/* mpa_rdmap_stream.c APIs: */
extern const struct mpa_ops rdmap_stream_ops;
void rdmap_stream_init(struct rdmap_stream *s, struct net *net,
		       const struct rdmap_opts *opts);
void rdmap_stream_free(struct rdmap_stream *s);
void rdmap_fail(struct rdmap_stream *s, int status, const char *reason);
void rdmap_finish(struct rdmap_stream *s, u32 err,
		  const struct rdmap_seg *seg);
void rdmap_begin(struct rdmap_stream *s);
void rdmap_use(struct rdmap_stream *s, struct mpa_conn *conn);
void rdmap_interrupt(struct rdmap_stream *s);
void rdmap_close(struct rdmap_stream *s);
void rdmap_post_recv(struct rdmap_stream *s, struct rdmap_recv *recv);

/* mpa_rdmap_app.c APIs: */
const struct rdmap_app *rdmap_app(const struct rdmap_opts *opts);
void rdmap_app_fail(struct rdmap_stream *s, int err);
void rdmap_app_send(struct rdmap_stream *s, struct rdmap_msg *msg);
void rdmap_app_close(struct rdmap_stream *s);
void rdmap_app_free(struct rdmap_stream *s);

/* mpa_rdmap_echo.c, mpa_rdmap_rping.c and mpa_rdmap_exchange.c APIs: */
extern const struct rdmap_app rdmap_echo_client;
extern const struct rdmap_app rdmap_echo_server;
extern const struct rdmap_app rdmap_rping_client;
extern const struct rdmap_app rdmap_rping_server;
extern const struct rdmap_app rdmap_exchange;

/* mpa_rdmap_client.c APIs: */
int rdmap_client_run(struct net *net, const struct rdmap_opts *opts);

/* mpa_rdmap_server.c APIs: */
int rdmap_server_start(struct net *net, struct rdmap_opts *opts);

#endif /* _MPA_RDMAP_H */
