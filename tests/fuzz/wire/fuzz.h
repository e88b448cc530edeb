/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The fuzzer in the guest: see main.c. */
#ifndef MPA_FUZZ_H
#define MPA_FUZZ_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../peer/peer.h"
#include "../../peer/types.h"
#include "../../../kunit/mpa_ref.h"
#include "mpa_cover.h"

#define FRAME_LEN	20	/* of a startup frame without private data */
#define ARGS		11
#define GOOD_VALUES	10
#define STEPS		24
#define OUT_SPACE	(256 * 1024)
#define IN_SPACE	(1024 * 1024)
#define SPACES		2	/* namespaces: CRC as usual, and off */
#define SEED_TEXT	(4 * COVER_TEXT)

struct play;
struct step;

/**
 * struct op - a kind of step
 * @name: its word in a seed
 * @run: does it
 * @arg: its arguments, each with values that good peers send
 */
struct op {
	const char	*name;
	void		(*run)(struct play *p, const struct step *step);
	struct {
		const char	*name;
		uint32_t	good[GOOD_VALUES];
	} arg[ARGS];
};

/* Those that mutate.c has to know */
enum {
	OP_FRAME, OP_FPDU, OP_ECHO, OP_PUSH, OP_AWAIT, OP_FIN, OP_RST,
	OP_SILENCE,
};

extern const struct op ops[];
extern const int nr_ops;

/* A step of a seed, with its arguments in the order of ops[].arg */
struct step {
	int	op;
	union {
		uint32_t arg[ARGS];
		struct {
			uint32_t reply, flags, rev, pd, lie, key, ird, ord;
		} frame;
		struct {
			uint32_t size, count, what, lie, crc, ptr, pad, at, xor,
				 reserved, marker;
		} fpdu;
		struct {
			uint32_t count, crc, lie, ptr;
		} echo;
		struct {
			uint32_t pieces, ms, lose, apart;
		} push;
	};
};

/**
 * struct setup - the consumer at the other end
 * @name: first word of a seed
 * @command: written to the consumer's cmd file
 * @rdmap: the consumer is mpa_rdmap, else mpa_ping
 * @listens: it is a server
 * @echo: it echoes
 * @rev: revision
 * @immediate: without startup frames
 * @clean: clean peers connect to it as well
 */
struct setup {
	const char	*name;
	const char	*command;
	bool		rdmap;
	bool		listens;
	bool		echo;
	int		rev;
	bool		immediate;
	bool		clean;
};

extern const struct setup setups[];
extern const int nr_setups;

/**
 * struct seed - a connection
 * @setup: place in setups[]
 * @space: namespace
 * @nr: steps
 * @step: the steps
 */
struct seed {
	int		setup;
	int		space;
	int		nr;
	struct step	step[STEPS];
};

/* seed.c */
bool seed_parse(struct seed *s, const char *line);
void seed_print(const struct seed *s, char *to, size_t space);

/* mutate.c */
struct rnd {
	uint64_t	state;
};

uint32_t rnd_below(struct rnd *r, uint32_t n);
void seed_make(struct seed *s, struct rnd *r);
void seed_drop(struct seed *s, int at);
void seed_mutate(struct seed *s, const struct seed *other, struct rnd *r);

/**
 * struct play - a connection being played
 * @seed: seed to play
 * @fd: socket
 * @spill: a connection with itself, see send_apart()
 * @nr_pending: length of @pending
 * @nr_out: length of @out
 * @nr_in: length of @in
 * @taken: octets of @in used by an echo
 * @lost_track: a buffer overflowed, or TCP did not take octets
 * @settled: the peer's frame has come; @to and @from are valid
 * @to: format of the FPDUs we send
 * @from: format of the peer's FPDUs
 * @fpdus: FPDUs built
 * @deaf: do not read
 * @shut: our FIN was sent
 * @reset: we have reset the connection
 * @urgent: urgent data was sent
 * @fin: the peer's FIN was received
 * @lost: the peer has reset the connection
 * @silent: wait for the peer to end the connection
 * @pending: octets built and not sent
 * @out: octets sent
 * @in: octets received
 * @fpdu: FPDU being built
 * @built: its octets, or those of a frame
 */
struct play {
	const struct seed	*seed;
	int			fd;
	int			spill[2];
	size_t			nr_pending;
	size_t			nr_out;
	size_t			nr_in;
	size_t			taken;
	bool			lost_track;
	bool			settled;
	struct stream		to;
	struct stream		from;
	unsigned int		fpdus;
	bool			deaf;
	bool			shut;
	bool			reset;
	bool			urgent;
	bool			fin;
	bool			lost;
	bool			silent;
	/* From here on nothing is cleared */
	uint8_t			pending[OUT_SPACE];
	uint8_t			out[OUT_SPACE];
	uint8_t			in[IN_SPACE];
	struct fpdu		fpdu;
	uint8_t			built[FPDU_SPACE];
};

/* play.c */
extern int patience;		/* ms that anything may take */
long now_ms(void);
bool pump(struct play *p, short what, long until);
void pause_ms(struct play *p, uint32_t ms);
void sent(struct play *p, const uint8_t *octets, size_t n);
void send_piece(struct play *p, const uint8_t *octets, size_t len);
void send_lost(struct play *p, const uint8_t *octets, size_t len);
void send_apart(struct play *p);
void spill_drain(struct play *p);
void end_with_fin(struct play *p);
void end_with_rst(struct play *p);
void settle(struct play *p);
const char *play_run(struct play *p, const struct seed *seed, int fd);

/* model.c */
const char *play_judge(const struct play *p);
const char *play_judge_status(const struct play *p, int status);

/* worker.c */
extern int space_fd[SPACES];

/**
 * struct worker - does one connection at a time
 * @id: number of the worker
 * @play: current connection
 * @slot: current seed, shown to other tasks
 * @listener: for connections from the kernel, one in each namespace
 * @thread: thread of the worker
 * @file: where a command is to be written
 * @command: the command
 * @status: result of the write
 * @over: the write has returned
 * @late: the write has not returned in time
 * @rnd: random numbers
 * @done: connections so far
 * @last: duration of the last connection, in ms
 * @worst: duration of the longest connection, in ms
 */
struct worker {
	int			id;
	struct play		play;
	struct cover_slot	*slot;
	int			listener[SPACES];
	pthread_t		thread;
	const char		*file;
	char			command[300];
	int			status;
	int			over;
	bool			late;
	struct rnd		rnd;
	unsigned long		done;
	long			last;
	long			worst;
};

void worker_init(struct worker *w, int id);
const char *worker_run(struct worker *w, const struct seed *seed);
const char *worker_clean(struct worker *w);
void servers_do(bool start);
void enter_space(int space);
void space_show(const char *why);

/* main.c */

/* Kinds of findings */
enum kind {
	HOSTILE,	/* the model rejects the peer, or it does not end */
	CLEAN,		/* a good peer was not served */
	COUNTERS,	/* do not add up */
	MEMORY,		/* too much is held */
	KINDS
};

void found(enum kind kind, const struct seed *seed, const char *what);
bool worker_do(struct worker *w, const struct seed *seed);

/* corpus.c */
extern struct cover *cover;
void cover_open(void);
void corpus_add(const struct seed *seed);
void corpus_keep(void);
bool corpus_is_due(void);
bool corpus_next_kept(struct seed *seed);
bool corpus_pick(struct seed *seed, struct rnd *r);
void corpus_suspect(const struct seed *seed);
bool corpus_session_due(void);
void corpus_session(struct worker *w);
void corpus_write(const char *file);
void corpus_figures(char *to, size_t space);

#endif
