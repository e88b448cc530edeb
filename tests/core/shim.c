// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* As much of the kernel as the pure core needs, for user space. */
#include <stdarg.h>
#include "shim.h"
#include "sweep.h"

struct page shim_page[SHIM_PAGES];
u8 shim_mem[SHIM_PAGES * PAGE_SIZE];

void *page_address(const struct page *page)
{
	return shim_mem + (page - shim_page) * PAGE_SIZE;
}

void shim_failed(const char *file, int line, const char *what, const char *fmt,
		 ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: not so: %s: ", file, line, what);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static u32 crc_table[8][256];

static void crc_init(void)
{
	u32 crc;
	int i, k;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
		crc_table[0][i] = crc;
	}
	for (i = 0; i < 256; i++)
		for (k = 1; k < 8; k++)
			crc_table[k][i] = crc_table[k - 1][i] >> 8 ^
				crc_table[0][crc_table[k - 1][i] & 0xff];
}

u32 crc32c(u32 crc, const void *data, unsigned int len)
{
	const u8 *p = data;

	if (!crc_table[0][1])
		crc_init();
	for (; len >= 8; len -= 8, p += 8) {
		crc ^= p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
		crc = crc_table[7][crc & 0xff] ^
		      crc_table[6][crc >> 8 & 0xff] ^
		      crc_table[5][crc >> 16 & 0xff] ^
		      crc_table[4][crc >> 24] ^
		      crc_table[3][p[4]] ^ crc_table[2][p[5]] ^
		      crc_table[1][p[6]] ^ crc_table[0][p[7]];
	}
	while (len--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

static size_t seg_len(const struct iov_iter *i)
{
	return i->kvec ? i->kvec->iov_len : i->bvec->bv_len;
}

static void seg_move(struct iov_iter *i, int by)
{
	if (i->kvec)
		i->kvec += by;
	else
		i->bvec += by;
	i->nr_segs -= by;
}

void iov_iter_advance(struct iov_iter *i, size_t n)
{
	i->count -= n;
	n += i->iov_offset;
	while (i->nr_segs && n >= seg_len(i)) {
		n -= seg_len(i);
		seg_move(i, 1);
	}
	i->iov_offset = n;
}

void iov_iter_revert(struct iov_iter *i, size_t n)
{
	i->count += n;
	while (n > i->iov_offset) {
		n -= i->iov_offset;
		seg_move(i, -1);
		i->iov_offset = seg_len(i);
	}
	i->iov_offset -= n;
}

size_t copy_from_iter(void *to, size_t n, struct iov_iter *i)
{
	size_t done = 0;
	const u8 *seg;
	size_t k;

	for (n = min(n, i->count); done < n; done += k) {
		if (i->kvec)
			seg = i->kvec->iov_base;
		else
			seg = (u8 *)page_address(i->bvec->bv_page) +
			      i->bvec->bv_offset;
		k = min(n - done, seg_len(i) - i->iov_offset);
		memcpy((u8 *)to + done, seg + i->iov_offset, k);
		iov_iter_advance(i, k);
	}
	return done;
}

/* Copy the octets of @nr entries; returns their number. */
u32 shim_gather(const struct bio_vec *bv, u32 nr, u8 *to)
{
	u32 n = 0;

	for (; nr; nr--, bv++) {
		memcpy(to + n, (u8 *)page_address(bv->bv_page) + bv->bv_offset,
		       bv->bv_len);
		n += bv->bv_len;
	}
	return n;
}
