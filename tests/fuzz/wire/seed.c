// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Seeds as lines of text: a setup, "crc=0" for the namespace with CRC off, and
 * steps. Numbers not given are 0.
 *
 * frame	a startup frame: reply=1 or a Request, flags, rev, pd octets of
 *		private data, lie added to PD_Length, key a wrong octet of the
 *		key (from 1 on), ird and ord, with their flags: enhanced data,
 *		if one is given
 * fpdu		count FPDUs of size octets each; what: 0 a pattern, else of
 *		RDMAP; lie added to ULPDU_Length, crc: 1 wrong, 2 zero; ptr
 *		added to FPDUPTR of all markers, and their RESERVED, or of the
 *		one marker given (from 1 on); pad its octets; at, xor: an octet
 *		of the ULPDU is altered, and the CRC matches
 * echo		FPDUs for the next count ULPDUs received, if they come in time
 * raw		count octets of value, or random with random=1
 * set		the two octets at, counted in the pending octets
 * flip		bit of the octet at, in the pending octets
 * cut		the last count pending octets
 * dup		append a copy of the count octets from at on
 * swap		two neighbours of count octets each, from at on
 * push		send the pending octets, "pieces" octets at a time (0: all at
 *		once), ms apart; with lose=N the first N octets are lost and TCP
 *		retransmits them later, the rest goes in two pieces or one;
 *		apart=1: pieces are not adjacent in memory
 * await	until the other side's frame has come
 * take		until that many octets have come, or ms are over
 * pause	ms
 * urgent	an octet of value, urgent
 * deaf		do not read from now on
 * fin, rst	the end
 * silence	leave the end to the other side
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const struct {
	const char	*name;
	const char	*arg[ARGS];
} ops[OPS] = {
	[OP_FRAME] = { "frame", { "reply", "flags", "rev", "pd", "lie", "key",
				  "ird", "ord" } },
	[OP_FPDU] = { "fpdu", { "size", "count", "what", "lie", "crc", "ptr",
				"pad", "at", "xor", "reserved", "marker" } },
	[OP_ECHO] = { "echo", { "count", "crc", "lie", "ptr" } },
	[OP_RAW] = { "raw", { "value", "count", "random" } },
	[OP_SET] = { "set", { "at", "value" } },
	[OP_FLIP] = { "flip", { "at", "bit" } },
	[OP_CUT] = { "cut", { "count" } },
	[OP_DUP] = { "dup", { "at", "count" } },
	[OP_SWAP] = { "swap", { "at", "count" } },
	[OP_PUSH] = { "push", { "pieces", "ms", "lose", "apart" } },
	[OP_AWAIT] = { "await", { NULL } },
	[OP_TAKE] = { "take", { "octets", "ms" } },
	[OP_PAUSE] = { "pause", { "ms" } },
	[OP_URGENT] = { "urgent", { "value" } },
	[OP_DEAF] = { "deaf", { NULL } },
	[OP_FIN] = { "fin", { NULL } },
	[OP_RST] = { "rst", { NULL } },
	[OP_SILENCE] = { "silence", { NULL } },
};

static bool arg_parse(struct step *step, const char *name, const char *value)
{
	char *end;
	int i;

	for (i = 0; i < ARGS && ops[step->op].arg[i]; i++) {
		if (strcmp(ops[step->op].arg[i], name) || !value)
			continue;
		step->arg[i] = strtoul(value, &end, 0);
		return end != value && !*end;
	}
	return false;
}

static bool step_parse(struct step *step, char *text)
{
	char *args = text, *field, *name = strsep(&args, ":");
	int op;

	memset(step, 0, sizeof(*step));
	for (op = 0; op < OPS && strcmp(ops[op].name, name); op++)
		;
	if (op == OPS)
		return false;
	step->op = op;
	while ((field = strsep(&args, ","))) {
		name = strsep(&field, "=");
		if (!arg_parse(step, name, field))
			return false;
	}
	return true;
}

static int setup_find(const char *name)
{
	int i;

	for (i = 0; i < nr_setups; i++)
		if (!strcmp(setups[i].name, name))
			return i;
	return -1;
}

/* Returns false for a line that is no seed. */
bool seed_parse(struct seed *s, const char *line)
{
	char text[SEED_TEXT], *rest = text, *word;

	memset(s, 0, sizeof(*s));
	snprintf(text, sizeof(text), "%s", line);
	text[strcspn(text, "\n")] = 0;
	s->setup = setup_find(strsep(&rest, " "));
	if (s->setup < 0)
		return false;
	while ((word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		if (!strcmp(word, "crc=0"))
			s->space = 1;
		else if (s->nr == STEPS || !step_parse(&s->step[s->nr++], word))
			return false;
	}
	return true;
}

static int step_print(const struct step *step, char *to, size_t space)
{
	char sep = ':';
	int i, n;

	n = snprintf(to, space, " %s", ops[step->op].name);
	for (i = 0; i < ARGS && ops[step->op].arg[i]; i++) {
		if (!step->arg[i] || n >= (int)space)
			continue;
		n += snprintf(to + n, space - n, "%c%s=%u", sep,
			      ops[step->op].arg[i], step->arg[i]);
		sep = ',';
	}
	return n;
}

void seed_print(const struct seed *s, char *to, size_t space)
{
	size_t n;
	int i;

	n = snprintf(to, space, "%s%s", setups[s->setup].name,
		     s->space ? " crc=0" : "");
	for (i = 0; i < s->nr && n < space; i++)
		n += step_print(&s->step[i], to + n, space - n);
}

int step_args(enum op op)
{
	int i = 0;

	while (i < ARGS && ops[op].arg[i])
		i++;
	return i;
}
