/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Reports; wrong() ends the program with status 1, misused() with 2. */
#ifndef MPA_SAY_H
#define MPA_SAY_H

/* What is under way, and which octet of a stream, in what is wrong */
extern const char *now_doing;
extern long now_at;

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void wrong(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void misused(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#endif
