/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Differences between kernels that only the RDMA core has; all others are in
 * mpa_compat.h, which says how they are found.
 */
#ifndef _RNIC_COMPAT_H
#define _RNIC_COMPAT_H

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

/* Newer kernels, and stable ones, walk a region's blocks in a header apart. */
#ifndef MPA_HAVE_UMEM_BLOCKS
#include <rdma/iter.h>
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

#endif /* _RNIC_COMPAT_H */
