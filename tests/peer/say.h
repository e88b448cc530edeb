/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Reports; wrong() and misused() end the program. */
#ifndef MPA_SAY_H
#define MPA_SAY_H

/* The current step, and the octet of a stream, for error messages */
extern const char *now_doing;
extern long now_at;

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void give_up(int status, const char *prefix, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#define wrong(...)	give_up(1, "WRONG: ", __VA_ARGS__)
#define misused(...)	give_up(2, "MISUSED: ", __VA_ARGS__)

#endif
