/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP segments built by the test, in any order, put into a connection on the
 * loopback device as if its other end had sent them.
 */
#ifndef _MPA_INJECT_H
#define _MPA_INJECT_H

#include <linux/bits.h>
#include <linux/types.h>

struct page;
struct socket;

enum {
	INJECT_FIN	= BIT(0),
	INJECT_URGENT	= BIT(1),	/* the last octet is urgent */
	INJECT_PAGES	= BIT(2),	/* in pages, which TCP may coalesce */
	INJECT_BAD_SUM	= BIT(3),	/* wrong checksum */
	INJECT_STRAY	= BIT(4),	/* not acceptable: never acknowledged */
	INJECT_SHARED	= BIT(5),	/* in @page, as splice() does */
};

/**
 * struct mpa_inject - a stream whose segments are injected
 * @from: apparent sender; still answers and closes by itself
 * @seq: sequence number of the first octet
 * @page: holds the payload of INJECT_SHARED segments
 */
struct mpa_inject {
	struct socket	*from;
	u32		seq;
	struct page	*page;
};

void mpa_inject_begin(struct mpa_inject *in, struct socket *from);
int mpa_inject(struct mpa_inject *in, u32 at, const void *data, u32 len,
	       u32 flags);

#endif /* _MPA_INJECT_H */
