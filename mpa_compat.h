/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * All differences between kernel versions, also for mpa_rnic; the modules are
 * written for Linux 6.12. Stable kernels and those of distributions get changes
 * as backports: Kbuild.compat looks in their headers and defines MPA_HAVE_*.
 * The version is compared only with the oldest that the modules are for.
 */
#ifndef _MPA_COMPAT_H
#define _MPA_COMPAT_H

#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/timer.h>
#include <linux/version.h>
#ifndef MPA_HAVE_CRC32C_LIB
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
#ifdef MPA_HAVE_SOCKADDR_UNSIZED
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
#ifdef MPA_HAVE_IMPORT_NS_STRING
#define MPA_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define MPA_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

/* 6.17 named the default; 7.2 warns if a workqueue has neither flag. */
#ifdef MPA_HAVE_WQ_PERCPU
#define MPA_WQ_PERCPU	WQ_PERCPU
#else
#define MPA_WQ_PERCPU	0
#endif

/* 6.17 renamed it; 7.3 warns when a work item is queued by the old name. */
#ifdef MPA_HAVE_DFL_WQ
#define mpa_unbound_wq	system_dfl_wq
#else
#define mpa_unbound_wq	system_unbound_wq
#endif

/*
 * 6.14 has a function for this, and 6.12.43. Before it, the socket had no
 * reference on the memory of its namespace to drop.
 */
#ifdef MPA_HAVE_NET_REFCNT_UPGRADE
#define mpa_net_refcnt_upgrade(sk)	sk_net_refcnt_upgrade(sk)
#else
#define mpa_net_refcnt_upgrade(sk)					\
do {									\
	__netns_tracker_free(sock_net(sk), &(sk)->ns_tracker, false);	\
	(sk)->sk_net_refcnt = 1;					\
	get_net_track(sock_net(sk), &(sk)->ns_tracker, GFP_KERNEL);	\
	sock_inuse_add(sock_net(sk), 1);				\
} while (0)
#endif

/* 6.18 removed the hash table: each namespace has its own. */
#ifdef MPA_HAVE_LOOKUP_BY_NET
#define mpa_lookup_established(net, ...) \
	inet_lookup_established(net, __VA_ARGS__)
#else
#define mpa_lookup_established(net, ...) \
	inet_lookup_established(net, (net)->ipv4.tcp_death_row.hashinfo, \
				__VA_ARGS__)
#endif

/* 6.18 gave the functions that make KUnit's parameters the test as well. */
#ifdef MPA_HAVE_KUNIT_PARAMS_TEST
#define MPA_KUNIT_PARAMS (struct kunit *test, const void *prev, char *desc)
#else
#define MPA_KUNIT_PARAMS (const void *prev, char *desc)
#endif

/*
 * References on a namespace; 0 where those on the initial one are not counted,
 * as from 6.19 on.
 */
#ifdef MPA_HAVE_NS_REF_READ
#define mpa_ns_count(net)	((void)(net), 0U)
#else
#define mpa_ns_count(net)	refcount_read(&(net)->ns.count)
#endif

/*
 * 6.18 has AccECN (RFC 9768). Octets that its option can take from a segment
 * that mss_cache does not allow for, if it was negotiated.
 */
#ifdef MPA_HAVE_ACCECN
#define mpa_accecn_octets(tp) \
	(tcp_ecn_mode_accecn(tp) ? ALIGN((u32)TCP_ACCECN_MAXSIZE, 4) : 0U)
#else
#define mpa_accecn_octets(tp)	((void)(tp), 0U)
#endif

/*
 * Differences that only the RDMA core has. Newer kernels, and stable ones, walk
 * the blocks of a region by a header apart.
 */
#ifdef MPA_HAVE_UMEM_BLOCKS
#define MPA_UMEM_HEADER	"rdma/ib_umem.h"
#else
#define MPA_UMEM_HEADER	"rdma/iter.h"
#endif

/* Linux 7 renamed it. */
#ifdef MPA_HAVE_UMEM_GET_VA
#define mpa_umem_get(dev, addr, len, access) \
	ib_umem_get_va(dev, addr, len, access)
#else
#define mpa_umem_get(dev, addr, len, access) \
	ib_umem_get(dev, addr, len, access)
#endif

/*
 * 6.17 gave reg_user_mr() a DMA handle as well: select the function whose type
 * fits.
 */
#define mpa_reg_user_mr(without, with)					\
	__builtin_choose_expr(__builtin_types_compatible_p(		\
		typeof_member(const struct ib_device_ops, reg_user_mr),	\
		typeof(without) *),					\
		without, with)

/* From 6.14 on the RDMA core itself says when a port comes up or goes down. */
#ifdef MPA_HAVE_PORT_EVENTS
#define MPA_PORT_EVENTS	true
#else
#define MPA_PORT_EVENTS	false
#endif

/* Up to 6.13 the module crc32c has to be there before crc32c() is called. */
#ifdef MPA_HAVE_CRC32C_LIB
#define MPA_CRC32C_SOFTDEP	static_assert(true)
#else
#define MPA_CRC32C_SOFTDEP	MODULE_SOFTDEP("pre: crc32c")
#endif

/*
 * Up to 6.13 crc32c() used the crypto API. Its descriptor has room for any
 * algorithm, which the compiler may clear in each call. The descriptor here has
 * room for CRC32c only.
 */
#ifndef MPA_HAVE_CRC32C_LIB
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
	} desc __uninitialized;

	desc.shash.tfm = c->tfm;
	desc.crc = crc;
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
