/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Differences between kernel versions, all of them. Written for Linux 6.12;
 * tested by symbol where stable kernels carry backports.
 */
#ifndef _MPA_COMPAT_H
#define _MPA_COMPAT_H

#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/timer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "mpa needs Linux 6.12 or later"
#endif

/* 6.15 renamed it; the old name went with 6.16. */
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

/* 6.13 made the name space of a symbol a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define MPA_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define MPA_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

/* Until 6.13 crc32c() went through the crypto API: too long for few octets. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define mpa_crc32c_short(crc, data, len)	__crc32c_le(crc, data, len)
#else
#define mpa_crc32c_short(crc, data, len)	crc32c(crc, data, len)
#endif

#endif /* _MPA_COMPAT_H */
