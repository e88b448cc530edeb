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

#define ARGS		11
#define GOOD_VALUES	10
#define STEPS		24
#define OUT_SPACE	(256 * 1024)
#define IN_SPACE	(1024 * 1024)
#define SPACES		2	/* namespaces: CRC as usual, and off */
#define SEED_TEXT	(4 * COVER_TEXT)

struct play;
struct step;

/* a kind of step */
struct op {
	const char	*name;		/* its word in a seed */
	/* does it */
	void		(*run)(struct play *p, const struct step *step);
	struct {
		const char	*name;
		uint32_t	good[GOOD_VALUES];
	/* its arguments, each with values that good peers send */
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

/* the consumer at the other end */
struct setup {
	const char	*name;		/* first word of a seed */
	const char	*command;	/* written to the consumer's cmd file */
	/* a program over mpa_rnic, there already; else mpa_ping */
	bool		program;
	bool		listens;	/* it is a server */
	bool		echo;		/* it echoes */
	int		rev;		/* revision */
	bool		immediate;	/* without startup frames */
	bool		clean;		/* clean peers connect to it as well */
};

extern const struct setup setups[];
extern const int nr_setups;

/* a connection */
struct seed {
	int		setup;		/* place in setups[] */
	int		space;		/* namespace */
	int		nr;		/* steps */
	struct step	step[STEPS];	/* the steps */
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
void seed_mutate(struct seed *s, const struct seed *other, struct rnd *r);

/* a connection being played */
struct play {
	const struct seed	*seed;	/* seed to play */
	int			fd;	/* socket */
	/* a connection with itself, see send_apart() */
	int			spill[2];
	size_t			nr_pending;	/* length of @pending */
	size_t			nr_out;	/* length of @out */
	size_t			nr_in;	/* length of @in */
	size_t			taken;	/* octets of @in used by an echo */
	/* a buffer overflowed, or TCP did not take octets */
	bool			lost_track;
	/* the peer's frame has come; @to and @from are valid */
	bool			settled;
	struct stream		to;	/* format of the FPDUs we send */
	struct stream		from;	/* format of the peer's FPDUs */
	unsigned int		fpdus;	/* FPDUs built */
	bool			deaf;	/* do not read */
	bool			shut;	/* our FIN was sent */
	bool			reset;	/* we have reset the connection */
	unsigned int		urgent;	/* urgent octets sent */
	bool			fin;	/* the peer's FIN was received */
	bool			lost;	/* the peer has reset the connection */
	/* wait for the peer to end the connection */
	bool			silent;
	/* From here on nothing is cleared */
	/* octets built and not sent */
	uint8_t			pending[OUT_SPACE];
	uint8_t			out[OUT_SPACE];	/* octets sent */
	uint8_t			in[IN_SPACE];	/* octets received */
	struct fpdu		fpdu;	/* FPDU being built */
	/* its octets, or those of a frame */
	uint8_t			built[FPDU_SPACE];
};

/* play.c */
extern int patience;		/* ms that anything may take */
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

/* With private data, as PD_Length has it */
static inline size_t frame_len(const uint8_t *octets)
{
	return FRAME_LEN + get16(octets + 18);
}

/* model.c */
const char *play_judge(const struct play *p);
const char *play_judge_status(const struct play *p, int status);

/* worker.c */
extern int space_fd[SPACES];

/* does one connection at a time */
struct worker {
	int			id;	/* number of the worker */
	struct play		play;	/* current connection */
	struct cover_slot	*slot;	/* current seed, shown to other tasks */
	/* for connections from the kernel, one in each namespace */
	int			listener[SPACES];
	pthread_t		thread;	/* thread of the worker */
	char			command[300];	/* the command */
	int			status;	/* result of the write */
	int			over;	/* the write has returned */
	bool			late;	/* the write has not returned in time */
	struct rnd		rnd;	/* random numbers */
	unsigned long		done;	/* connections so far */
	/* duration of the last connection, in ms */
	long			last;
	/* duration of the longest connection, in ms */
	long			worst;
};

void worker_init(struct worker *w, int id);
const char *worker_run(struct worker *w, const struct seed *seed);
const char *worker_clean(struct worker *w);
void servers_do(bool start);
void enter_space(int space);
void space_show(const char *why);

/* corpus.c */
extern struct cover *cover;
void cover_open(void);
void corpus_add(const struct seed *seed);
void corpus_keep(void);
bool corpus_is_due(void);
bool corpus_next_kept(struct seed *seed);
bool corpus_pick(struct seed *seed, struct rnd *r);
void corpus_write(const char *file);
void corpus_figures(char *to, size_t space);

#endif
