/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection of a capture as MPA: startup frames, terms, FPDUs. */
#ifndef MPA_TALK_H
#define MPA_TALK_H

#include "capture.h"
#include "peer.h"

/* The octets of one direction */
struct voice {
	const struct side *side;
	uint8_t		*octets;
	size_t		len;
	size_t		base;		/* of full operation, after the frame */
	struct stream	fpdus;		/* @pos counts from @base */
	size_t		nr;		/* of FPDUs taken */
	size_t		markers;	/* in these */
};

/* @frame: there is a Request, or a Reply */
struct talk {
	struct voice	voice[2];	/* the Initiator's first */
	bool		frame[2];
	bool		rejected;
	bool		established;
};

void talk_begin(struct talk *t, const struct connection *c);
bool talk_take(struct voice *v, struct fpdu *f);
void talk_end(struct talk *t);

#endif
