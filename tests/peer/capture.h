/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The TCP connections of a capture: segments and octets of both ends. */
#ifndef MPA_CAPTURE_H
#define MPA_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment with payload, and the state of its sender at that time */
struct segment {
	size_t		frame;		/* its number in the capture */
	uint64_t	at;		/* offset in the stream */
	uint64_t	end;
	uint64_t	edge;		/* of the other end's window */
	const uint8_t	*octets;
	unsigned int	length;		/* of the IP packet */
	bool		again;		/* sent before, at least in part */
};

struct end {
	uint8_t		address[16];	/* IPv4: the first 4 */
	uint16_t	port;
	uint16_t	v6;
};

/* One direction of a connection */
struct side {
	struct end	end;		/* that sent it */
	bool		begun;		/* its SYN was seen */
	uint32_t	isn;
	unsigned int	shift;		/* of its window field */
	unsigned int	mss;		/* that it told */
	uint64_t	highest;	/* end of its octets, as an offset */
	uint64_t	told;		/* acknowledged, with FIN and what was lost */
	uint64_t	edge;		/* up to where the other end takes */
	bool		ended;		/* its FIN was seen */
	uint64_t	fin;		/* offset of that */
	bool		reset;		/* sent by it */
	unsigned int	longest;	/* IP packet */
	struct segment	*segment;
	size_t		nr;
	size_t		space;
};

/* side[0] has opened it. */
struct connection {
	struct side	side[2];
};

struct capture {
	struct connection *connection;
	size_t		nr;
	size_t		frames;
};

void capture_read(struct capture *c, const char *file);
bool end_parse(struct end *e, const char *address);
bool side_is(const struct side *s, const struct end *address);
const char *end_name(const struct end *e);
size_t side_octets(const struct side *s, uint8_t **octets);
bool side_complete(const struct side *s, size_t have, bool reset);
unsigned int connection_full(const struct connection *c);

#endif
