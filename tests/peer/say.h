/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Reports; wrong() ends the program with status 1, misused() with 2. */
#ifndef MPA_SAY_H
#define MPA_SAY_H

/* The current step, and the octet of a stream, for error messages */
extern const char *now_doing;
extern long now_at;

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void wrong(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void misused(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#endif
