// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tagged buffers, and the STags by which peers name them. An STag is known to
 * the whole module, so that one of another stream is told from one that does
 * not exist; what is behind it is for its own stream alone.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "mpa_rdmap.h"

#define STAG_TRIES	100
#define BASE_SHIFT	12

static DEFINE_XARRAY(stags);

static int stag_take(struct rdmap_region *region, u32 stag)
{
	region->stag = stag;
	region->base = (u64)stag << BASE_SHIFT;
	return xa_insert(&stags, stag, region, GFP_KERNEL);
}

/* A peer is not to guess them; 0 is none, as some hardware wants it. */
static int stag_choose(struct rdmap_region *region)
{
	u32 wanted = region->stream->opts->stag;
	int tries = STAG_TRIES;
	int err;

	do {
		err = stag_take(region, wanted ? wanted++ :
					get_random_u32_inclusive(1, U32_MAX));
	} while (err == -EBUSY && --tries);
	return err;
}

/* Let the peer, or our own RDMA Reads, use @len octets at @mem. */
struct rdmap_region *rdmap_region_new(struct rdmap_stream *s, void *mem,
				      u32 len, u32 access)
{
	struct rdmap_region *region;
	int err;

	region = kzalloc(sizeof(*region), GFP_KERNEL);
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->stream = s;
	region->access = access;
	region->mem = mem;
	region->len = len;
	err = stag_choose(region);
	if (err) {
		kfree(region);
		return ERR_PTR(err);
	}
	list_add_tail(&region->list, &s->regions);
	return region;
}

/* Nobody may use it from now on; the program still knows it. */
static void region_disable(struct rdmap_region *region)
{
	if (!region->access)
		return;
	region->access = 0;
	xa_erase(&stags, region->stag);
}

void rdmap_regions_free(struct rdmap_stream *s)
{
	struct rdmap_region *region, *next;

	list_for_each_entry_safe(region, next, &s->regions, list) {
		region_disable(region);
		list_del(&region->list);
		kfree(region);
	}
}

static bool stag_exists(u32 stag)
{
	return xa_load(&stags, stag);
}

/*
 * The stream's buffer of that name. Returns 0, or the error of RDMAP: the STag
 * does not exist, or is another stream's.
 */
u32 rdmap_region_find(struct rdmap_stream *s, u32 stag,
		      struct rdmap_region **region)
{
	struct rdmap_region *r;

	list_for_each_entry(r, &s->regions, list) {
		if (r->stag != stag || !r->access)
			continue;
		*region = r;
		return 0;
	}
	return stag_exists(stag) ? RDMAP_ERR_STREAM : RDMAP_ERR_STAG;
}

/* Are the @len octets from @to on in it? Returns 0 or the error of RDMAP. */
u32 rdmap_region_check(const struct rdmap_region *region, u64 to, u32 len)
{
	u64 end;

	if (check_add_overflow(to, (u64)len, &end))
		return RDMAP_ERR_WRAP;
	if (to < region->base || end > region->base + region->len)
		return RDMAP_ERR_BOUNDS;
	return 0;
}

/*
 * The buffer that a peer wants to invalidate. What our own RDMA Reads write to
 * was never the peer's. Returns 0 or the error of RDMAP.
 */
u32 rdmap_region_yield(struct rdmap_stream *s, u32 stag,
		       struct rdmap_region **region)
{
	if (rdmap_region_find(s, stag, region) ||
	    !((*region)->access & (RDMAP_REMOTE_READ | RDMAP_REMOTE_WRITE)))
		return RDMAP_ERR_INVALIDATE;
	return 0;
}

/*
 * The peer is done with it. Read Requests that came before have passed their
 * check: their Responses go on reading it, which the program has to keep
 * until the end of the stream.
 */
void rdmap_region_invalidate(struct rdmap_region *region)
{
	region_disable(region);
}
