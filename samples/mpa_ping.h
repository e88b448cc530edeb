/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The parts of mpa_ping; mpa_ping.md says what it does. */
#ifndef _MPA_PING_H
#define _MPA_PING_H

#include <linux/bvec.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <net/mpa.h>

#include "../rnic/ddp_wire.h"

struct ping_place;

#define PING_DATA_MAX	(64 << 20)	/* octets of payload and of captured */
#define PING_PATTERN_SIZE	SZ_64K	/* at least MPA_ULPDU_MAX */

enum ping_cmd {
	PING_CMD_SERVE	= BIT(0),
	PING_CMD_STOP	= BIT(1),
	PING_CMD_PING	= BIT(2),
};

enum ping_mode {
	PING_MODE_ECHO,
	PING_MODE_SINK,
};

/**
 * struct ping_opts - a command; README.md explains its options
 * @cmd: &enum ping_cmd
 * @given: options that were given: one bit per index in the table
 * @addr_text: value of addr=, until it is resolved
 * @addr: address to listen on or to connect to; AF_UNSPEC: any
 * @dev: ifindex of the device that the address names, or 0
 * @port: port, host byte order
 * @has_pd: private data was given; it may be empty
 * @pd: private data
 * @pd_len: length of @pd in octets
 * @markers: M bit of our frame
 * @ooo: pass ULPDUs out of order, too
 * @place: place ULPDUs by position, and act on them there
 * @memalloc: connection with %MPA_F_MEMALLOC
 * @strict: refuse peers of Rev 0
 * @rev: revision to announce
 * @immediate: start without startup frames
 * @mode: &enum ping_mode
 * @reject: serve: reject every Request
 * @hold: serve: time for which delivery is on hold after the start, ms
 * @capture: serve: keep the octets received for "captured"
 * @lazy: serve: hold delivery until the peer has filled the window
 * @size: octets of a ULPDU; 0: MULPDU
 * @mix: ping: if not 0, seed for random lengths of at most @size
 * @count: number of ULPDUs to send
 * @batch: ping: ULPDUs per mpa_send_list()
 * @depth: ping: most ULPDUs under way; 0: default
 * @verify: ping: compare echoes octet by octet
 * @timeout: ping: limit for the whole command, in seconds
 * @zerocopy: ping: send with %MPA_TX_ZEROCOPY
 * @source: send one message, a source
 * @payload: ping: send the octets written to "payload"
 * @ird: with Rev 2: RDMA Read Requests that the peer may have under way
 * @ord: with Rev 2: RDMA Read Requests that this end may have under way
 * @rtr: with Rev 2: kinds of RTR, MPA_RTR_*
 * @ird_max: ping: value up to which @ird may grow
 * @fallback: ping: try Rev 1 after Rev 2
 */
struct ping_opts {
	unsigned int		cmd;
	unsigned long		given;
	char			*addr_text;
	struct sockaddr_storage	addr;
	int			dev;
	u32			port;
	bool			has_pd;
	u8			*pd;
	u32			pd_len;
	u32			markers;
	u32			ooo;
	u32			place;
	u32			memalloc;
	u32			strict;
	u32			rev;
	u32			immediate;
	u32			mode;
	u32			reject;
	u32			hold;
	u32			capture;
	u32			lazy;
	u32			size;
	u32			mix;
	u32			count;
	u32			batch;
	u32			depth;
	u32			verify;
	u32			timeout;
	u32			zerocopy;
	u32			source;
	u32			payload;
	u32			ird;
	u32			ord;
	u32			rtr;
	u32			ird_max;
	u32			fallback;
};

/**
 * struct ping_buf - octets in pages, which can be sent from there
 * @ref: references; octets are added only while there is one
 * @len: number of octets
 * @nr: number of pages
 * @bv: the pages
 */
struct ping_buf {
	struct kref	ref;
	size_t		len;
	unsigned int	nr;
	struct bio_vec	*bv;
};

/**
 * struct ping_result - result of a connection
 * @status: 0 or a negative errno
 * @reason: a word for @status
 * @mpa_error: error code of RFC 5044 or RFC 6581
 * @info: what was negotiated, and counts
 * @start: time at which the command or the connection began
 * @elapsed: duration, ns
 * @ulpdus_tx: ULPDUs handed back as sent
 * @ulpdus_rx: ULPDUs received
 * @bytes_tx: octets of @ulpdus_tx
 * @bytes_rx: octets of @ulpdus_rx
 * @mismatches: echoes that were not what had been sent
 * @rtts: round trips measured
 * @rtt_min: shortest round trip, ns
 * @rtt_max: longest round trip, ns
 * @rtt_sum: sum of all round trips, ns
 * @mulpdu_changes: how often the MULPDU has changed
 * @peer_rev: revision in the peer's frame
 * @peer: enhanced data in the peer's frame
 * @pd: private data in the peer's frame
 * @pd_len: length of @pd in octets
 */
struct ping_result {
	int		status;
	const char	*reason;
	enum mpa_error	mpa_error;
	struct mpa_info	info;
	ktime_t		start;
	u64		elapsed;
	u64		ulpdus_tx;
	u64		ulpdus_rx;
	u64		bytes_tx;
	u64		bytes_rx;
	u64		mismatches;
	u64		rtts;
	u64		rtt_min;
	u64		rtt_max;
	u64		rtt_sum;
	u64		mulpdu_changes;
	int		peer_rev;
	struct mpa_enhanced peer;
	u8		*pd;
	u32		pd_len;
};

#define PING_RDMA_MAX	RDMAP_HDR_MAX	/* an RDMA Read Request */

/**
 * struct ping_rdma - an RDMAP message: an RTR, its answer, or a Terminate
 * @tx: message of MPA
 * @octets: the whole RDMAP message
 */
struct ping_rdma {
	struct mpa_tx	tx;
	u8		octets[PING_RDMA_MAX];
};

/**
 * struct ping_source - one message, which MPA cuts into ULPDUs
 * @tx: the message, a source
 * @opts: the command
 * @hdr: first octets of the ULPDU cut last: its number
 * @bv: octets of the message: the payload, or the pattern, which repeats
 * @taken: octets of the pattern cut
 * @left: octets not cut yet
 * @pieces: number of ULPDUs cut
 * @octets: octets of @pieces
 * @lengths: hash of the lengths of @pieces, in order
 */
struct ping_source {
	struct mpa_tx		tx;
	const struct ping_opts	*opts;
	__be64			hdr;
	struct bio_vec		*bv;
	u64			taken;
	u64			left;
	u64			pieces;
	u64			octets;
	u32			lengths;
};

enum ping_side {
	PING_SIDE_PING,
	PING_SIDE_SERVE,
	PING_SIDES,
};

/**
 * struct ping_net - state of a namespace
 * @lock: protects all other members
 * @last: last result of each side, or NULL
 * @payload: octets that "ping payload=1" sends, or NULL
 * @captured: octets that "serve capture=1" received, or NULL
 */
struct ping_net {
	struct mutex		lock;	/* protects all other members */
	struct ping_result	*last[PING_SIDES];
	struct ping_buf		*payload;
	struct ping_buf		*captured;
};

/* mpa_ping.c APIs: */
struct ping_net *ping_net(struct net *net);
struct ping_buf *ping_net_payload(struct net *net);
void ping_net_captured(struct net *net, struct ping_buf *buf);
int ping_sock_setup(struct socket *sock, void *ctx);

/* mpa_ping_opts.c APIs: */
int ping_opts_parse(struct net *net, char *line, struct ping_opts *opts);
void ping_opts_free(struct ping_opts *opts);
void ping_opts_params(const struct ping_opts *opts, struct mpa_params *params);
u32 ping_opts_len(const struct ping_opts *opts, u64 seq, u32 max);

/* mpa_ping_buf.c APIs: */
struct ping_buf *ping_buf_alloc(void);
struct ping_buf *ping_buf_get(struct ping_buf *buf);
void ping_buf_put(struct ping_buf *buf);
void *ping_buf_tail(struct ping_buf *buf, size_t *room);
int ping_buf_append(struct ping_buf *buf, const void *data, size_t len);
bool ping_buf_differs(const struct ping_buf *buf, size_t off,
		      const void *data, size_t len);

/* mpa_ping_place.c APIs: */
int ping_place_init(struct ping_place **place, const struct ping_opts *opts,
		    struct mpa_conn *conn);
void ping_place_free(struct ping_place *place);
int ping_place_put(struct ping_place *place, const struct mpa_rx *rx);
const struct mpa_ulpdu *ping_place_next(struct ping_place *place,
					u64 delivered);

/* mpa_ping_rdma.c APIs: */
void ping_rdma_rtr(struct ping_rdma *msg, u8 kind);
void ping_rdma_response(struct ping_rdma *msg, const struct mpa_ulpdu *request);
void ping_rdma_terminate(struct ping_rdma *msg, enum mpa_error error);
u8 ping_rdma_rtr_kind(const struct mpa_ulpdu *ulpdu);
bool ping_rdma_is_response(const struct mpa_ulpdu *ulpdu);
enum mpa_error ping_rdma_terminated(const struct mpa_ulpdu *ulpdu);

/* mpa_ping_result.c APIs: */
void ping_result_init(struct ping_result *res);
void ping_result_peer(struct ping_result *res, const struct mpa_startup *peer);
void ping_result_fail(struct ping_result *res, int status, const char *reason);
void ping_result_end(struct ping_result *res, const struct mpa_end *end);
void ping_result_rtt(struct ping_result *res, u64 ns);
void ping_result_free(struct ping_result *res);
void ping_result_publish(struct ping_result *res, struct net *net,
			 enum ping_side side);
void ping_result_show(struct seq_file *seq, const struct ping_result *res);

/* mpa_ping_source.c APIs: */
void ping_source_init(struct ping_source *src, const struct ping_opts *opts,
		      const struct ping_buf *data);
int ping_source_post(struct ping_source *src, struct mpa_conn *conn);
u32 ping_source_lengths(u32 hash, u32 len);

/* mpa_ping_client.c APIs: */
const struct ping_buf *ping_pattern(void);
u32 ping_hdr_len(const struct ping_opts *opts, u32 len);
int ping_client_init(void);
void ping_client_exit(void);
int ping_client_run(struct net *net, const struct ping_opts *opts);

/* mpa_ping_server.c APIs: */
int ping_server_start(struct net *net, struct ping_opts *opts);
int ping_server_stop(struct net *net, u32 port);
void ping_server_exit(void);

#endif /* _MPA_PING_H */
