// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Seeds from nothing, and from others. All choices come from a struct rnd. */
#include <string.h>

#include "fuzz.h"

uint32_t rnd_below(struct rnd *r, uint32_t n)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return (uint32_t)(r->state >> 16) % n;
}

static bool rnd_one_in(struct rnd *r, uint32_t n)
{
	return !rnd_below(r, n);
}

static struct step *add(struct seed *s, int op)
{
	struct step *step = &s->step[s->nr < STEPS ? s->nr++ : STEPS - 1];

	memset(step, 0, sizeof(*step));
	step->op = op;
	return step;
}

static uint32_t good_value(const struct op *op, int arg, struct rnd *r)
{
	return op->arg[arg].good[rnd_below(r, GOOD_VALUES)];
}

/* A step with arguments of good peers */
static struct step *add_good(struct seed *s, int op, struct rnd *r)
{
	struct step *step = add(s, op);
	int i;

	for (i = 0; i < ARGS; i++)
		step->arg[i] = good_value(&ops[op], i, r);
	return step;
}

static void add_frame(struct seed *s, struct rnd *r)
{
	const struct setup *setup = &setups[s->setup];
	struct step *f = add_good(s, OP_FRAME, r);

	f->frame.reply = !setup->listens;
	f->frame.rev = setup->rev;
	if (rnd_one_in(r, 8))
		f->frame.rev = rnd_below(r, 3);
	if (f->frame.rev == 2 && !rnd_one_in(r, 6)) {
		f->frame.flags |= FLAG_S;
	} else {
		f->frame.ird = 0;
		f->frame.ord = 0;
	}
}

/* A connection as it should be, more or less */
void seed_make(struct seed *s, struct rnd *r)
{
	const struct setup *setup;
	int n;

	memset(s, 0, sizeof(*s));
	s->setup = rnd_below(r, nr_setups);
	s->space = rnd_one_in(r, 4);
	setup = &setups[s->setup];
	if (!setup->immediate) {
		if (!setup->listens)
			add(s, OP_AWAIT);
		add_frame(s, r);
		add(s, OP_PUSH);
		if (setup->listens)
			add(s, OP_AWAIT);
	}
	for (n = rnd_below(r, 5); n; n--) {
		if (!setup->listens && rnd_one_in(r, 2))
			add_good(s, OP_ECHO, r);
		else
			add_good(s, OP_FPDU, r)->fpdu.size +=
				rnd_below(r, 64);
		if (!rnd_one_in(r, 3))
			add_good(s, OP_PUSH, r);
	}
	add(s, OP_PUSH);
	add(s, rnd_one_in(r, 6) ? OP_RST : OP_FIN);
}

/* Values at limits of the formats, of TCP and of pages */
static const uint32_t limits[] = {
	0, 1, 2, 3, 4, 16, 20, 255, 508, 512, 513, 1024, 1460, 4096, 32768,
	64768, 64769, 65535,
};

static uint32_t alter_number(uint32_t n, struct rnd *r)
{
	switch (rnd_below(r, 6)) {
	case 0:
		return n + 1;
	case 1:
		return n - 1;
	case 2:
		return n ^ 1u << rnd_below(r, 16);
	case 3:
		return limits[rnd_below(r, sizeof(limits) / sizeof(*limits))];
	case 4:
		return rnd_below(r, 65536);
	default:
		return rnd_below(r, 64);
	}
}

static int nr_args(const struct op *op)
{
	int n = 0;

	while (n < ARGS && op->arg[n].name)
		n++;
	return n;
}

static void alter_arg(struct step *step, struct rnd *r)
{
	const struct op *op = &ops[step->op];
	int n = nr_args(op), i;

	if (!n)
		return;
	i = rnd_below(r, n);
	step->arg[i] = rnd_one_in(r, 6) ? good_value(op, i, r) :
					  alter_number(step->arg[i], r);
}

static void random_step(struct step *step, struct rnd *r)
{
	int i, n;

	memset(step, 0, sizeof(*step));
	step->op = rnd_below(r, nr_ops);
	n = nr_args(&ops[step->op]);
	for (i = 0; i < n; i++)
		if (rnd_one_in(r, 2))
			step->arg[i] = alter_number(rnd_below(r, 100), r);
}

static void insert(struct seed *s, int at, const struct step *step)
{
	if (s->nr == STEPS)
		return;
	memmove(&s->step[at + 1], &s->step[at],
		(s->nr - at) * sizeof(*step));
	s->step[at] = *step;
	s->nr++;
}

static void drop(struct seed *s, int at)
{
	s->nr--;
	memmove(&s->step[at], &s->step[at + 1],
		(s->nr - at) * sizeof(s->step[0]));
}

static void exchange(struct seed *s, struct rnd *r)
{
	struct step *a = &s->step[rnd_below(r, s->nr)];
	struct step *b = &s->step[rnd_below(r, s->nr)];
	struct step c = *a;

	*a = *b;
	*b = c;
}

/* The same beginning, and the end of another one */
static void splice(struct seed *s, const struct seed *other, struct rnd *r)
{
	int from, n;

	if (!other->nr)
		return;
	s->nr = 1 + rnd_below(r, s->nr);
	from = rnd_below(r, other->nr);
	n = other->nr - from;
	if (n > STEPS - s->nr)
		n = STEPS - s->nr;
	memcpy(&s->step[s->nr], &other->step[from], n * sizeof(s->step[0]));
	s->nr += n;
}

static void new_setup(struct seed *s, struct rnd *r)
{
	int setup = rnd_below(r, nr_setups);

	if (setups[setup].listens == setups[s->setup].listens)
		s->setup = setup;
	s->space = rnd_one_in(r, 4);
}

static void mutate_once(struct seed *s, const struct seed *other,
			struct rnd *r)
{
	struct step step;

	if (!s->nr)
		add(s, OP_PUSH);
	switch (rnd_below(r, 10)) {
	case 0:
	case 1:
		random_step(&step, r);
		insert(s, rnd_below(r, s->nr + 1), &step);
		break;
	case 2:
		drop(s, rnd_below(r, s->nr));
		break;
	case 3:
		step = s->step[rnd_below(r, s->nr)];
		insert(s, rnd_below(r, s->nr + 1), &step);
		break;
	case 4:
		exchange(s, r);
		break;
	case 5:
		splice(s, other, r);
		break;
	case 6:
		new_setup(s, r);
		break;
	default:
		alter_arg(&s->step[rnd_below(r, s->nr)], r);
	}
}

/* Silence takes long: it is for the seeds made by hand. */
static void speak(struct seed *s)
{
	int i;

	for (i = 0; i < s->nr; i++)
		if (s->step[i].op == OP_SILENCE)
			s->step[i].op = OP_FIN;
}

void seed_mutate(struct seed *s, const struct seed *other, struct rnd *r)
{
	do {
		mutate_once(s, other, r);
	} while (!rnd_one_in(r, 3));
	speak(s);
}
