// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tagged buffers, and the STags by which peers name them. STags are unique in
 * the module, so that an STag of another stream can be told from one that does
 * not exist; only its own stream may access the buffer.
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

/* Peers must not be able to guess STags; 0 is invalid for some hardware. */
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

/* Register @len octets at @mem for the peer, or for our own RDMA Reads. */
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

/* Revoke all access; the program keeps the buffer. */
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
 * Find the stream's buffer by STag. Returns 0, or the error of RDMAP: the STag
 * does not exist, or belongs to another stream.
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

/* Check that @len octets from @to on are in it: 0 or the error of RDMAP. */
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
 * Find the buffer that a peer wants to invalidate; the sink of our own RDMA
 * Reads is not the peer's. Returns 0 or the error of RDMAP.
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
 * Invalidate a buffer for the peer. Read Requests that arrived before have
 * passed their check: their Responses continue to read the buffer, so the
 * program must keep it until the stream ends.
 */
void rdmap_region_invalidate(struct rdmap_region *region)
{
	region_disable(region);
}
