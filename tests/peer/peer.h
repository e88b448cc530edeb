/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An MPA peer in user space, for tests: see mpa-peer.1. It is written from RFC 5044
 * and RFC 6581 alone and shares nothing with the module; FPDUs and CRCs are
 * those of the reference of kunit/.
 */
#ifndef MPA_PEER_H
#define MPA_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "types.h"		/* before mpa_ref.h, which uses these */
#include "../../kunit/mpa_ref.h"
#include "say.h"

#define ULPDU_MAX	64768
#define ULPDU_SPACE	65535
/* Header, pad and CRC, and a marker for each 508 octets of them and of ULPDU */
#define FPDU_SPACE	(ULPDU_SPACE + 9 + 4 * 131)

#define FRAME_LEN	20	/* of a startup frame without private data */
#define PD_MAX		512

const char *to_hex(const uint8_t *octets, size_t len);

static inline uint16_t get16(const uint8_t *from)
{
	return from[0] << 8 | from[1];
}

static inline void put16(uint8_t *to, uint16_t value)
{
	to[0] = value >> 8;
	to[1] = value;
}

/* The first 16 octets of a startup frame */
static inline const char *frame_key(bool reply)
{
	return reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
}

/* The arguments after the ":" of a step: name=value,name=value */
bool field_next(char **rest, char **name, char **value);
long field_number(const char *name, const char *value, long max);
size_t field_hex(const char *name, const char *value, uint8_t *to, size_t max);
void field_keep(char name, const uint8_t *octets, size_t len);
int field_seconds(const char *name, const char *value);

enum ending {
	OPEN,
	FIN,
	RESET,			/* by the other side */
	GONE,			/* by this side */
};

enum action { SEND_FIN, SEND_RST, SEND_NOTHING };

/* A TCP connection, and how octets are sent */
struct conn {
	int		fd;
	enum ending	ended;
	bool		reset;		/* seen while sending */
	int		timeout;	/* ms a step waits */

	uint8_t		in[65536];	/* received, not yet used */
	size_t		in_from;
	size_t		in_to;

	uint8_t		held[4 * FPDU_SPACE];
	size_t		held_len;
	bool		holding;
	bool		dribble;
	size_t		split;		/* of the next send; 0: none */
	size_t		sent;
	bool		limited;
	size_t		limit;		/* of @sent */
	enum action	at_limit;
	bool		cut;		/* the limit was reached */
};

void conn_init(struct conn *c, int fd, int timeout);
void conn_send(struct conn *c, const uint8_t *octets, size_t len);
void conn_push(struct conn *c);
void conn_limit(struct conn *c, size_t limit, enum action action);
void conn_act(struct conn *c, enum action action);
size_t conn_read(struct conn *c, uint8_t *to, size_t len);
bool conn_wait(struct conn *c, int ms);
void conn_close(struct conn *c);
const char *ending_name(enum ending ending);
void sleep_ms(int ms);
long now_ms(void);

/* The fixed fields of a frame, each a number */
enum { FLAGS, REV, PD_LENGTH, IRD_WORD, ORD_WORD, NUMBERS };

#define FLAG_M		0x80
#define FLAG_C		0x40
#define FLAG_R		0x20
#define FLAG_S		0x10

struct frame {
	uint8_t		key[16];
	uint16_t	number[NUMBERS];
	bool		enhanced;	/* IRD_WORD and ORD_WORD are there */
	uint8_t		pd[65535];	/* after these */
	size_t		pd_len;
	unsigned int	given;		/* fields named by a step, a bit each */
	bool		pd_given;
};

void frame_send(struct conn *c, struct frame *f, bool reply, char *fields);
void frame_expect(struct conn *c, struct frame *f, bool reply, char *fields);

/* One direction of full operation */
struct stream {
	bool		markers;
	bool		lead;		/* FPDUPTR from a leading marker */
	bool		crc;
	uint64_t	pos;
};

struct fpdu {
	uint8_t		ulpdu[ULPDU_SPACE];
	size_t		len;
	long		stated;		/* ULPDU_Length; -1: the true one */
	uint8_t		pad;
	long		which;		/* marker that is altered; -1: each */
	uint16_t	reserved;	/* of it */
	long		ptr;		/* of it; -1: the true one */
	uint16_t	ptr_add;
	bool		crc_bad;
	bool		crc_given;
	uint8_t		crc[4];		/* as it is on the wire */
	size_t		markers;	/* number of markers in it */
};

void fpdu_init(struct fpdu *f);
void fpdu_pattern(struct fpdu *f, unsigned int number, size_t len);
bool fpdu_is_pattern(const struct fpdu *f, unsigned int number, size_t len);
void fpdu_rtr(struct fpdu *f, const char *kind);
bool fpdu_is_rtr(const struct fpdu *f, const char *kind);
size_t fpdu_build(struct stream *s, struct fpdu *f, uint8_t *to);
size_t fpdu_take(struct stream *s, struct fpdu *f, const uint8_t *octets,
		 size_t have);
bool fpdu_read(struct conn *c, struct stream *s, struct fpdu *f);
void fpdu_show(const struct fpdu *f);

/* A connection with all that is known of it */
struct peer {
	struct conn	conn;
	struct frame	ours;
	struct frame	theirs;
	bool		sent_frame;
	bool		got_frame;
	struct stream	out;
	struct stream	in;
	unsigned int	fpdus_out;
	unsigned int	fpdus_in;
};

void step_run(struct peer *p, char *text);

/* With captures; they exit on an error. */
void segments_main(int argc, char **argv);
void decode_main(int argc, char **argv);

#endif
