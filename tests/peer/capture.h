/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* One end's view of a TCP connection, from a capture of its link. */
#ifndef MPA_CAPTURE_H
#define MPA_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment with payload, and the state of its sender at that time */
struct segment {
	uint64_t	time;		/* us */
	uint64_t	at;		/* offset in the stream */
	uint64_t	end;
	uint64_t	acked;		/* by the other end */
	uint64_t	edge;		/* of its window */
	const uint8_t	*octets;
	unsigned int	length;		/* of the IP packet */
	unsigned int	options;	/* octets of TCP's options */
	unsigned int	sack;		/* of these, SACK blocks with padding */
	bool		again;		/* sent before, at least in part */
};

/* One direction of the connection */
struct side {
	bool		begun;		/* its SYN was seen */
	uint32_t	isn;
	unsigned int	shift;		/* of its window field */
	unsigned int	mss;		/* that it told */
	uint64_t	highest;	/* end of its octets, as an offset */
	uint64_t	acked;		/* by the other end */
	uint64_t	edge;		/* up to where the other end takes */
	struct segment	*segment;
	size_t		nr;
	size_t		space;
};

/* A view: @out are the segments sent by that address */
struct capture {
	uint8_t		address[16];
	size_t		address_len;
	struct side	out;
	struct side	in;
	unsigned int	longest;	/* IP packet of out */
	unsigned int	full;		/* maximal length of an IP packet */
};

void capture_read(struct capture *c, const char *file, const char *address);
size_t capture_octets(const struct side *s, uint8_t *to, size_t len);

#endif
