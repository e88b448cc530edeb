/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The fuzzer in the guest: see main.c. */
#ifndef MPA_FUZZ_H
#define MPA_FUZZ_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../peer/peer.h"
#include "mpa_cover.h"

#define ARGS		11
#define STEPS		24
#define OUT_SPACE	(256 * 1024)
#define IN_SPACE	(1024 * 1024)
#define SPACES		2	/* namespaces: CRC as usual, and off */

enum op {
	OP_FRAME, OP_FPDU, OP_ECHO, OP_RAW,
	OP_SET, OP_FLIP, OP_CUT, OP_DUP, OP_SWAP,
	OP_PUSH, OP_AWAIT, OP_TAKE, OP_BACK, OP_PAUSE, OP_URGENT, OP_DEAF,
	OP_FIN, OP_RST, OP_SILENCE,
	OPS
};

struct step {
	enum op		op;
	uint32_t	arg[ARGS];
};

/**
 * struct setup - who is on the other end
 * @name: first word of a seed
 * @command: written to the consumer's cmd file
 * @rdmap: the consumer is mpa_rdmap, else mpa_ping
 * @listens: it is the server
 * @echo: it sends back what it gets
 * @rev: its revision
 * @immediate: without startup frames
 * @clean: good peers are served there, too
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
 * @step: what is done
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
int step_args(enum op op);

/* mutate.c */
struct rnd {
	uint64_t	state;
};

uint32_t rnd_below(struct rnd *r, uint32_t n);
void seed_make(struct seed *s, struct rnd *r);
void seed_make_clean(struct seed *s, struct rnd *r);
void seed_drop(struct seed *s, int at);
void seed_mutate(struct seed *s, const struct seed *other, struct rnd *r);

/* model.c */

/* How FPDUs of a stream end */
enum stop {
	STOP_CLEAN,
	STOP_SHORT,
	STOP_BAD,
};

#define ULPDUS		4096

struct ulpdu {
	uint32_t	len;
	uint32_t	sum;
};

struct ulpdus {
	int		nr;
	enum stop	stop;
	struct ulpdu	ulpdu[ULPDUS];
};

void model_decode(struct ulpdus *u, const uint8_t *octets, size_t len,
		  const struct stream *s);

/* play.c */

/**
 * struct play - a connection being played
 * @seed: what is done
 * @fd: its socket
 * @pending: octets put together and not sent
 * @spill: a connection with itself, see send_apart()
 * @patient: wait longer than it takes: for clean peers
 * @nr_pending: how many
 * @out: octets sent
 * @nr_out: how many
 * @in: octets received
 * @nr_in: how many
 * @taken: of these, used by an echo
 * @lost_track: more than there is room for, or TCP did not take them
 * @settled: the peer's frame has come, and what it means is in the next two
 * @to: how we send
 * @from: how the peer sends
 * @fpdus: built
 * @back: FPDUs that were seen to come back
 * @missed: some did not
 * @deaf: nothing is read
 * @shut: our FIN is out
 * @reset: we have reset it
 * @urgent: urgent data was sent
 * @fin: the peer's FIN has come
 * @lost: the peer has reset it
 * @silent: wait for the peer to end it
 * @sent: decoded from @out
 * @got: decoded from @in
 */
struct play {
	const struct seed	*seed;
	int			fd;
	int			spill[2];
	bool			patient;
	size_t			nr_pending;
	size_t			nr_out;
	size_t			nr_in;
	size_t			taken;
	bool			lost_track;
	bool			settled;
	struct stream		to;
	struct stream		from;
	unsigned int		fpdus;
	unsigned int		back;
	bool			missed;
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
	struct ulpdus		sent;
	struct ulpdus		got;
};

extern int patience;		/* ms that anything may take */
long now_ms(void);
const char *play_run(struct play *p, const struct seed *seed, int fd);
const char *play_judge(struct play *p);
const char *play_judge_status(struct play *p, int status);
bool play_complete(const struct play *p);

/* worker.c */
extern int space_fd[SPACES];

/**
 * struct worker - does one connection at a time
 * @id: its number
 * @play: its connection
 * @slot: where others see what it does
 * @listener: for connections of the kernel, one in each namespace
 * @thread: itself
 * @helper: who gives commands that wait
 * @go: there is one
 * @over: and it has returned
 * @late: it has not yet
 * @told: the seed whose command it is
 * @status: what it returned
 * @rnd: its choices
 * @done: connections so far
 * @last: ms that the last has taken
 * @worst: the same, of the longest
 */
struct worker {
	int			id;
	struct play		play;
	struct cover_slot	*slot;
	int			listener[SPACES];
	pthread_t		thread;
	pthread_t		helper;
	int			go;
	int			over;
	bool			late;
	const struct seed	*told;
	int			status;
	struct rnd		rnd;
	unsigned long		done;
	long			last;
	long			worst;
};

void worker_init(struct worker *w, int id);
const char *worker_run(struct worker *w, const struct seed *seed);
const char *worker_ping(struct worker *w);
void servers_do(bool start);
void enter_space(int space);
void space_show(const char *why);
int command_write(const struct setup *setup, const char *line);

/* main.c */

/* What a finding is one of */
enum kind {
	HOSTILE,	/* what a model does not allow, or no end */
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
bool corpus_pick(struct seed *seed, struct rnd *r);
void corpus_suspect(const struct seed *seed);
bool corpus_session_due(void);
void corpus_kept(void);
bool corpus_is_due(void);
bool corpus_next_kept(struct seed *seed);
void corpus_session(struct worker *w);
void corpus_write(const char *file);
void corpus_write_places(const char *file);
int corpus_size(void);
unsigned int corpus_places(void);
unsigned int corpus_edges(void);

#endif
