// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Seeds as lines of text: a setup, "crc=0" for the namespace with CRC off, and
 * steps, which steps.c lists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static bool arg_parse(struct step *step, const char *name, const char *value)
{
	const struct op *op = &ops[step->op];
	char *end;
	int i;

	for (i = 0; i < ARGS && op->arg[i].name; i++) {
		if (strcmp(op->arg[i].name, name) || !value)
			continue;
		step->arg[i] = strtoul(value, &end, 0);
		return end != value && !*end;
	}
	return false;
}

static bool step_parse(struct step *step, char *text)
{
	char *args = text, *field, *name = strsep(&args, ":");

	memset(step, 0, sizeof(*step));
	while (step->op < nr_ops && strcmp(ops[step->op].name, name))
		step->op++;
	if (step->op == nr_ops)
		return false;
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
	const struct op *op = &ops[step->op];
	char sep = ':';
	int i, n;

	n = snprintf(to, space, " %s", op->name);
	for (i = 0; i < ARGS && op->arg[i].name; i++) {
		if (!step->arg[i] || n >= (int)space)
			continue;
		n += snprintf(to + n, space - n, "%c%s=%u", sep,
			      op->arg[i].name, step->arg[i]);
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
