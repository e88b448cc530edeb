// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Octets in pages: octets to send, and captured octets. */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mpa_ping.h"

#define BUF_PAGES	(PING_DATA_MAX / PAGE_SIZE)

struct ping_buf *ping_buf_alloc(void)
{
	struct ping_buf *buf;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	if (!buf)
		return NULL;
	buf->bv = kvcalloc(BUF_PAGES, sizeof(*buf->bv), GFP_KERNEL);
	if (!buf->bv) {
		kfree(buf);
		return NULL;
	}
	kref_init(&buf->ref);
	return buf;
}

struct ping_buf *ping_buf_get(struct ping_buf *buf)
{
	if (buf)
		kref_get(&buf->ref);
	return buf;
}

static void buf_free(struct kref *ref)
{
	struct ping_buf *buf = container_of(ref, struct ping_buf, ref);

	while (buf->nr)
		__free_page(buf->bv[--buf->nr].bv_page);
	kvfree(buf->bv);
	kfree(buf);
}

void ping_buf_put(struct ping_buf *buf)
{
	if (buf)
		kref_put(&buf->ref, buf_free);
}

/* Room for the next @room octets; the caller adds those written to @len. */
void *ping_buf_tail(struct ping_buf *buf, size_t *room)
{
	size_t off = offset_in_page(buf->len);
	struct page *page;

	if (buf->len == (size_t)buf->nr * PAGE_SIZE) {
		if (buf->nr == BUF_PAGES)
			return ERR_PTR(-EFBIG);
		page = alloc_page(GFP_KERNEL);
		if (!page)
			return ERR_PTR(-ENOMEM);
		bvec_set_page(&buf->bv[buf->nr++], page, PAGE_SIZE, 0);
	}
	*room = PAGE_SIZE - off;
	return page_address(buf->bv[buf->nr - 1].bv_page) + off;
}

int ping_buf_append(struct ping_buf *buf, const void *data, size_t len)
{
	size_t room;
	void *to;

	while (len) {
		to = ping_buf_tail(buf, &room);
		if (IS_ERR(to))
			return PTR_ERR(to);
		room = min(room, len);
		memcpy(to, data, room);
		buf->len += room;
		data += room;
		len -= room;
	}
	return 0;
}

/* True if @data differs from the octets in @buf from @off on */
bool ping_buf_differs(const struct ping_buf *buf, size_t off,
		      const void *data, size_t len)
{
	size_t n;

	if (off > buf->len || len > buf->len - off)
		return true;
	for (; len; len -= n, off += n, data += n) {
		n = min(len, PAGE_SIZE - offset_in_page(off));
		if (memcmp(page_address(buf->bv[off / PAGE_SIZE].bv_page) +
			   offset_in_page(off), data, n))
			return true;
	}
	return false;
}
