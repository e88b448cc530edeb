/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Marks for tests/bench/bench-profile.py, which counts the instructions executed from
 * MARK_BEGIN to MARK_END, but for those from MARK_IDLE to MARK_BUSY. Each is an
 * instruction that does nothing, a nopl with an operand that nothing else has.
 */
#ifndef _MARK_H
#define _MARK_H

#define MARK_BEGIN	1
#define MARK_END	2
#define MARK_IDLE	3
#define MARK_BUSY	4

#define MARK(n)								\
do {									\
	asm volatile(".byte 0x0f, 0x1f, 0x80, %c0, 0x41, 0x50, 0x4d"	\
		     :: "i"(n) : "memory");				\
} while (0)

#endif /* _MARK_H */
