/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The parts of mpa_bench; bench.h describes it. */
#ifndef _BENCH_INT_H
#define _BENCH_INT_H

#include <linux/seq_file.h>
#include <linux/socket.h>

#include "bench.h"

/* Messages and octets that A, E and MPA are given in one call, at most */
#define BENCH_CALL		256
#define BENCH_CALL_OCTETS	SZ_1M

enum bench_kind {
	BENCH_STREAM,
	BENCH_PINGPONG,
	BENCH_MEMORY,
};

/**
 * struct bench_opts - a command
 * @transport: name of it
 * @transport: its name
 * @tx_ns: file descriptor of the namespace of the tx ends
 * @rx_ns: file descriptor of the namespace of the rx ends
 * @addr: address of the rx ends
 * @size: octets of a message
 * @conns: connections
 * @warm: messages of the first phases, of all connections
 * @messages: messages of the long phase, of all connections
 * @sink: the receivers discard in TCP
 * @thread: pingpong: a thread of each end posts, not an upcall
 * @softirq: pingpong of MPA: the upcall and what it posts, in softirq
 * @duplex: stream: both ends send
 * @corrupt: send an octet that is wrong
 */
struct bench_opts {
	char			transport[16];
	enum bench_kind		kind;
	u32			tx_ns;
	u32			rx_ns;
	struct sockaddr_storage	addr;
	u32			size;
	u32			conns;
	u32			warm;
	u32			messages;
	bool			sink;
	bool			thread;
	bool			softirq;
	bool			duplex;
	bool			corrupt;
};

/**
 * struct bench_counts - counts of a phase, or the difference of two
 * @messages: messages; with @duplex those of one direction
 * @insns: instructions
 * @ns: time
 * @fpdus: FPDUs
 * @calls: calls of tcp_sendmsg_locked(), in the last phase only
 * @segments: segments with payload
 */
struct bench_counts {
	u64	messages;
	s64	insns;
	u64	ns;
	u64	fpdus;
	u64	calls;
	u64	segments;
};

/**
 * struct bench_result - result of a run
 * @counts: counts, with the number of their messages
 * @emss_start: EMSS before the first phase
 * @emss_end: EMSS after the last
 * @octets_idle: memory for an end of an idle connection, without its socket
 * @octets_used: memory for such an end after it was used, without its socket
 * @verified: all received octets were right
 */
struct bench_result {
	struct bench_counts	counts;
	u32			emss_start;
	u32			emss_end;
	u32			octets_idle;
	u32			octets_used;
	bool			verified;
};

/**
 * struct bench_run - a run
 * @opts: the command
 * @transport: transport of the command
 * @tx_net: namespace of the tx ends
 * @rx_net: namespace of the rx ends
 * @ring_size: octets of a ring in use
 * @check: compare each octet
 * @stopped: the run is over
 * @err: negative errno if it failed
 * @ends: tx and rx of each connection, in turn
 * @nr: connections that are open
 * @busy: ends that are not done with this phase
 * @done: completed when @busy reaches zero
 * @own: consumers' own memory, in octets
 * @sk: a socket of a tx end, or NULL if not known yet
 * @result: result so far
 */
struct bench_run {
	struct bench_opts	opts;
	struct bench_transport	*transport;
	struct net		*tx_net;
	struct net		*rx_net;
	u32			ring_size;
	bool			check;
	bool			stopped;
	int			err;
	struct bench_end	*ends;
	u32			nr;
	atomic_t		busy;
	struct completion	done;
	u64			own;
	struct sock		*sk;
	struct bench_result	result;
};

/* bench_main.c APIs: */
struct bench_transport *bench_transport_get(const char *name);

/* bench_opts.c APIs: */
int bench_opts_parse(char *line, struct bench_opts *opts);

/* bench_run.c APIs: */
int bench_run(const struct bench_opts *opts, struct bench_result *result);

/* bench_conn.c APIs: */
int bench_conns_open(struct bench_run *run, u32 nr);
int bench_conns_attach(struct bench_run *run, u32 first, u32 nr);
void bench_conns_close(struct bench_run *run);
int bench_threads_start(struct bench_run *run);

/* bench_data.c APIs: */
int bench_data_init(void);
void bench_data_exit(void);
void bench_data_corrupt(bool corrupt);
void bench_ring_check(struct bench_end *end);

/* bench_count.c APIs: */
int bench_count_init(void);
void bench_count_exit(void);
u64 bench_count_insns(void);
u64 bench_count_memory(void);
int bench_calls_start(struct net *net);
u64 bench_calls_stop(struct sock **sk);

/* The transports that are always there */
extern struct bench_transport bench_tcp;
extern struct bench_transport bench_tcp_crc;
extern struct bench_transport bench_tcp_pages;
extern struct bench_transport bench_ktls;
extern struct bench_transport bench_mpa;
extern struct bench_transport bench_mpa_crc;
extern struct bench_transport bench_mpa_pages;
extern struct bench_transport bench_mpa_markers;

/* bench_tcp.c APIs: */
void bench_tcp_shut(struct bench_end *tx, struct bench_end *rx);
void bench_tcp_close(struct bench_end *tx, struct bench_end *rx);
void bench_tcp_sink(struct bench_end *end);
void bench_tcp_unsink(struct bench_end *end);

#endif /* _BENCH_INT_H */
