/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * All differences between kernel versions; the module is written for Linux
 * 6.12. Where stable kernels have a change as a backport, a symbol or a type is
 * tested, not the version.
 */
#ifndef _MPA_COMPAT_H
#define _MPA_COMPAT_H

#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/timer.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#include <crypto/hash.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "mpa needs Linux 6.12 or later"
#endif

/* 6.15 renamed from_timer(), 6.16 removed the old name. */
#ifndef timer_container_of
#define timer_container_of(var, callback_timer, timer_fieldname) \
	from_timer(var, callback_timer, timer_fieldname)
#endif

/* 6.19 gave kernel_bind() and kernel_connect() a type of their own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define mpa_sockaddr(ss)	((struct sockaddr_unsized *)(ss))
#else
#define mpa_sockaddr(ss)	((struct sockaddr *)(ss))
#endif

/*
 * syn_recv_sock() has got a seventh argument, in stable kernels, too: select
 * the function whose type fits.
 */
#define mpa_syn_recv_sock(six, seven)					\
	__builtin_choose_expr(__builtin_types_compatible_p(		\
		typeof_member(struct inet_connection_sock_af_ops,	\
			      syn_recv_sock), typeof(six) *),		\
		six, seven)

/* 6.13 made the namespace of a symbol a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define MPA_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define MPA_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

/* 6.17 removed an unused argument. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define mpa_splice_from_iter(skb, iter, len) \
	skb_splice_from_iter(skb, iter, len)
#else
#define mpa_splice_from_iter(skb, iter, len) \
	skb_splice_from_iter(skb, iter, len, GFP_KERNEL)
#endif

/*
 * Up to 6.13 crc32c() used the crypto API. That is slow for a few octets, and
 * its descriptor has room for any algorithm, which the compiler may clear in
 * each call. The descriptor here has room for CRC32c only.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
struct mpa_crc32c {
	struct crypto_shash	*tfm;
};

static inline int mpa_crc32c_init(struct mpa_crc32c *c)
{
	c->tfm = crypto_alloc_shash("crc32c", 0, 0);
	if (IS_ERR(c->tfm))
		return PTR_ERR(c->tfm);
	if (crypto_shash_descsize(c->tfm) == sizeof(u32))
		return 0;
	crypto_free_shash(c->tfm);
	return -EINVAL;
}

static inline void mpa_crc32c_exit(struct mpa_crc32c *c)
{
	crypto_free_shash(c->tfm);
}

static inline u32 mpa_crc32c(const struct mpa_crc32c *c, u32 crc,
			     const void *data, unsigned int len)
{
	struct {
		struct shash_desc	shash;
		u32			crc;
	} desc = { .shash.tfm = c->tfm, .crc = crc };

	if (len < 32)
		return __crc32c_le(crc, data, len);
	crypto_shash_update(&desc.shash, data, len);
	barrier_data(&desc.crc);
	return desc.crc;
}
#else
struct mpa_crc32c { };

static inline int mpa_crc32c_init(struct mpa_crc32c *c)
{
	return 0;
}

static inline void mpa_crc32c_exit(struct mpa_crc32c *c)
{
}

static inline u32 mpa_crc32c(const struct mpa_crc32c *c, u32 crc,
			     const void *data, unsigned int len)
{
	return crc32c(crc, data, len);
}
#endif

#endif /* _MPA_COMPAT_H */
