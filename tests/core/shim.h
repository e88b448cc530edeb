/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * As much of the kernel as the pure core needs, for user space. Pages are
 * slices of one array, so that struct page arithmetic works and each one's
 * references can be counted.
 */
#ifndef _SHIM_H
#define _SHIM_H

#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define BIT(n)		(1UL << (n))
#define PAGE_SHIFT	12
#define PAGE_SIZE	4096UL
#define offset_in_page(p) ((unsigned long)(p) & (PAGE_SIZE - 1))

#define __printf(fmt, args) __attribute__((__format__(printf, fmt, args)))
#define noinline	__attribute__((__noinline__))
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 14, 0)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define min(a, b)	({ typeof(a) _a = (a); typeof(b) _b = (b); \
			   _a < _b ? _a : _b; })
#define min3(a, b, c)	min(min(a, b), c)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max(a, b)	({ typeof(a) _a = (a); typeof(b) _b = (b); \
			   _a > _b ? _a : _b; })
#define ALIGN(x, a)	({ typeof(x) _x = (x); _x + -_x % (a); })
#define ALIGN_DOWN(x, a) ({ typeof(x) _x = (x); _x - _x % (a); })
#define DIV_ROUND_UP(x, d) ({ typeof(d) _d = (d); ((x) + _d - 1) / _d; })

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define cpu_to_le32(x)	((__le32)(x))
#define cpu_to_be16(x)	((__be16)__builtin_bswap16(x))
#else
#define cpu_to_le32(x)	((__le32)__builtin_bswap32(x))
#define cpu_to_be16(x)	((__be16)(x))
#endif

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *octet = p;

	return octet[0] << 8 | octet[1];
}

static inline void put_unaligned_be16(u16 val, void *p)
{
	u8 *octet = p;

	octet[0] = val >> 8;
	octet[1] = val;
}

static inline void put_unaligned_be32(u32 val, void *p)
{
	put_unaligned_be16(val >> 16, p);
	put_unaligned_be16(val, (u8 *)p + 2);
}

static inline void put_unaligned_be64(u64 val, void *p)
{
	put_unaligned_be32(val >> 32, p);
	put_unaligned_be32(val, (u8 *)p + 4);
}

u32 crc32c(u32 crc, const void *data, unsigned int len);

/* for struct fields in <net/mpa.h> only */
struct list_head {
	struct list_head *next, *prev;
};

struct page {
	int refs;
};

struct page_frag {
	struct page *page;
	u32 offset;
	u32 size;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct kvec {
	void *iov_base;
	size_t iov_len;
};

struct iov_iter {
	size_t iov_offset;
	size_t count;
	const struct kvec *kvec;	/* or */
	const struct bio_vec *bvec;
	unsigned long nr_segs;
};

void *page_address(const struct page *page);

#define MAX_SKB_FRAGS	17

/* No page is of the slab. */
static inline bool sendpages_ok(struct page *page, size_t len, size_t offset)
{
	return true;
}

static inline void get_page(struct page *page)
{
	page->refs++;
}

static inline void put_page(struct page *page)
{
	page->refs--;
}

static inline void bvec_set_page(struct bio_vec *bv, struct page *page,
				 unsigned int len, unsigned int offset)
{
	bv->bv_page = page;
	bv->bv_len = len;
	bv->bv_offset = offset;
}

static inline bool iov_iter_is_kvec(const struct iov_iter *i)
{
	return i->kvec;
}

static inline bool iov_iter_is_bvec(const struct iov_iter *i)
{
	return i->bvec;
}

static inline size_t iov_iter_count(const struct iov_iter *i)
{
	return i->count;
}

void iov_iter_advance(struct iov_iter *i, size_t n);
void iov_iter_revert(struct iov_iter *i, size_t n);
size_t copy_from_iter(void *to, size_t n, struct iov_iter *i);
u32 shim_gather(const struct bio_vec *bv, u32 nr, u8 *to);

/* An assertion that fails is the end. */
__printf(4, 5) __attribute__((__noreturn__))
void shim_failed(const char *file, int line, const char *what, const char *fmt,
		 ...);

#define SHIM_ASSERT(condition, fmt, ...) do {				\
	if (unlikely(!(condition)))					\
		shim_failed(__FILE__, __LINE__, #condition, fmt,	\
			    ##__VA_ARGS__);				\
} while (0)

#endif /* _SHIM_H */
