/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _MPA_CASE_H
#define _MPA_CASE_H

#include <kunit/test.h>
#include "mpa_row.h"

/* A case without parameters. @title: requirement IDs, a colon, the test */
#define MPA_CASE(fn, title) \
	{ .run_case = (fn), .name = (title), .module_name = KBUILD_MODNAME }

/* KUnit's macros for @t, which has the test in its member test */
#define ASSERT_EQ(t, ...)	KUNIT_ASSERT_EQ((t)->test, __VA_ARGS__)
#define ASSERT_EQ_MSG(t, ...)	KUNIT_ASSERT_EQ_MSG((t)->test, __VA_ARGS__)
#define ASSERT_FALSE(t, ...)	KUNIT_ASSERT_FALSE((t)->test, __VA_ARGS__)
#define ASSERT_GT(t, ...)	KUNIT_ASSERT_GT((t)->test, __VA_ARGS__)
#define ASSERT_LE(t, ...)	KUNIT_ASSERT_LE((t)->test, __VA_ARGS__)
#define ASSERT_LT(t, ...)	KUNIT_ASSERT_LT((t)->test, __VA_ARGS__)
#define ASSERT_MEMEQ(t, ...)	KUNIT_ASSERT_MEMEQ((t)->test, __VA_ARGS__)
#define ASSERT_NE(t, ...)	KUNIT_ASSERT_NE((t)->test, __VA_ARGS__)
#define ASSERT_NULL(t, ...)	KUNIT_ASSERT_NULL((t)->test, __VA_ARGS__)
#define ASSERT_NOT_NULL(t, ...)	KUNIT_ASSERT_NOT_NULL((t)->test, __VA_ARGS__)
#define ASSERT_PTR_EQ(t, ...)	KUNIT_ASSERT_PTR_EQ((t)->test, __VA_ARGS__)
#define ASSERT_TRUE(t, ...)	KUNIT_ASSERT_TRUE((t)->test, __VA_ARGS__)
#define ASSERT_TRUE_MSG(t, ...)	KUNIT_ASSERT_TRUE_MSG((t)->test, __VA_ARGS__)
#define ASSERT_OK(t, ptr) \
	KUNIT_ASSERT_NOT_ERR_OR_NULL((t)->test, ptr)
#define EXPECT_EQ(t, ...)	KUNIT_EXPECT_EQ((t)->test, __VA_ARGS__)
#define EXPECT_EQ_MSG(t, ...)	KUNIT_EXPECT_EQ_MSG((t)->test, __VA_ARGS__)
#define EXPECT_FALSE(t, ...)	KUNIT_EXPECT_FALSE((t)->test, __VA_ARGS__)
#define EXPECT_GE(t, ...)	KUNIT_EXPECT_GE((t)->test, __VA_ARGS__)
#define EXPECT_GT(t, ...)	KUNIT_EXPECT_GT((t)->test, __VA_ARGS__)
#define EXPECT_LE(t, ...)	KUNIT_EXPECT_LE((t)->test, __VA_ARGS__)
#define EXPECT_LT(t, ...)	KUNIT_EXPECT_LT((t)->test, __VA_ARGS__)
#define EXPECT_MEMEQ(t, ...)	KUNIT_EXPECT_MEMEQ((t)->test, __VA_ARGS__)
#define EXPECT_NE(t, ...)	KUNIT_EXPECT_NE((t)->test, __VA_ARGS__)
#define EXPECT_NULL(t, ...)	KUNIT_EXPECT_NULL((t)->test, __VA_ARGS__)
#define EXPECT_PTR_EQ(t, ...)	KUNIT_EXPECT_PTR_EQ((t)->test, __VA_ARGS__)
#define EXPECT_PTR_NE(t, ...)	KUNIT_EXPECT_PTR_NE((t)->test, __VA_ARGS__)
#define EXPECT_STREQ(t, ...)	KUNIT_EXPECT_STREQ((t)->test, __VA_ARGS__)
#define EXPECT_TRUE(t, ...)	KUNIT_EXPECT_TRUE((t)->test, __VA_ARGS__)

#endif /* _MPA_CASE_H */
