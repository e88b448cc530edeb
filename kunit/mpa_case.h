/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _MPA_CASE_H
#define _MPA_CASE_H

#include <kunit/test.h>

/* A case without parameters. @title: requirement IDs, a colon, the test */
#define MPA_CASE(fn, title) \
	{ .run_case = (fn), .name = (title), .module_name = KBUILD_MODNAME }

#endif /* _MPA_CASE_H */
