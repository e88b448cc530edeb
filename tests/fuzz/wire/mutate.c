// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Seeds from nothing, and from others. All choices come from a struct rnd. */
#include <string.h>

#include "fuzz.h"

static uint32_t rnd_next(struct rnd *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state >> 16;
}

uint32_t rnd_below(struct rnd *r, uint32_t n)
{
	return rnd_next(r) % n;
}

static bool rnd_one_in(struct rnd *r, uint32_t n)
{
	return !rnd_below(r, n);
}

static uint32_t rnd_of(struct rnd *r, const uint32_t *from, uint32_t n)
{
	return from[rnd_below(r, n)];
}

#define RND_OF(r, ...) \
	rnd_of(r, (const uint32_t[]){ __VA_ARGS__ }, \
	       sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static struct step *add(struct seed *s, enum op op)
{
	struct step *step = &s->step[s->nr < STEPS ? s->nr++ : STEPS - 1];

	memset(step, 0, sizeof(*step));
	step->op = op;
	return step;
}

static void add1(struct seed *s, enum op op, uint32_t a)
{
	add(s, op)->arg[0] = a;
}

static uint32_t some_size(struct rnd *r)
{
	if (rnd_one_in(r, 100))
		return 64000 + rnd_below(r, 1536);
	if (rnd_one_in(r, 4))
		return 1 + rnd_below(r, 5000);
	return 1 + rnd_below(r, 600);
}

static void add_frame(struct seed *s, struct rnd *r)
{
	const struct setup *setup = &setups[s->setup];
	struct step *f = add(s, OP_FRAME);

	f->arg[0] = !setup->listens;
	f->arg[1] = RND_OF(r, 0x40, 0x40, 0xc0, 0xc0, 0x00, 0x80);
	f->arg[2] = setup->rev;
	if (rnd_one_in(r, 8))
		f->arg[2] = rnd_below(r, 3);
	if (rnd_one_in(r, 3))
		f->arg[3] = RND_OF(r, 1, 4, 8, 100, 508, 511, 512, 513,
				   1024, 5000);
	if (f->arg[2] == 2 && !rnd_one_in(r, 6)) {
		f->arg[1] |= 0x10;
		f->arg[6] = RND_OF(r, 1, 16, 0x3ffe, 0x3fff) |
			    RND_OF(r, 0, 0x8000, 0xc000);
		f->arg[7] = RND_OF(r, 1, 8, 16, 0x3fff) |
			    RND_OF(r, 0, 0x8000, 0x4000, 0xc000);
	}
}

static void add_fpdus(struct seed *s, struct rnd *r)
{
	struct step *f = add(s, OP_FPDU);

	f->arg[0] = some_size(r);
	f->arg[1] = rnd_one_in(r, 3) ? 1 + rnd_below(r, 30) : 1;
	if (setups[s->setup].rdmap || (setups[s->setup].rev == 2 &&
				       rnd_one_in(r, 2)))
		f->arg[2] = 1 + rnd_below(r, 8);
}

static void add_push(struct seed *s, struct rnd *r)
{
	struct step *p = add(s, OP_PUSH);

	if (rnd_one_in(r, 4))
		p->arg[0] = RND_OF(r, 1, 2, 3, 19, 20, 100, 512, 1448);
	if (p->arg[0] > 50 && rnd_one_in(r, 4))
		p->arg[1] = 1;
	p->arg[3] = p->arg[0] && rnd_one_in(r, 2);
	if (rnd_one_in(r, 10))
		p->arg[2] = RND_OF(r, 1, 100, 700, 1500, 5000);
}

static void add_end(struct seed *s, struct rnd *r)
{
	if (rnd_one_in(r, 6))
		add(s, OP_RST);
	else
		add(s, OP_FIN);
}

/* A connection as it should be, more or less */
void seed_make(struct seed *s, struct rnd *r)
{
	const struct setup *setup;
	int i, n = rnd_below(r, 5);

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
	for (i = 0; i < n; i++) {
		if (!setup->listens && rnd_one_in(r, 2))
			add1(s, OP_ECHO, 1 + rnd_below(r, 10));
		else
			add_fpdus(s, r);
		if (!rnd_one_in(r, 3))
			add_push(s, r);
	}
	add(s, OP_PUSH);
	add_end(s, r);
}

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
		return RND_OF(r, 0, 1, 2, 3, 4, 16, 20, 255, 508, 512, 513,
			      1024, 1460, 4096, 32768, 64768, 64769, 65535);
	case 4:
		return rnd_below(r, 65536);
	default:
		return rnd_below(r, 64);
	}
}

static void alter_arg(struct seed *s, struct rnd *r)
{
	struct step *step = &s->step[rnd_below(r, s->nr)];
	int n = step_args(step->op);
	uint32_t *arg;

	if (!n)
		return;
	arg = &step->arg[rnd_below(r, n)];
	*arg = alter_number(*arg, r);
}

static void random_step(struct step *step, struct rnd *r)
{
	int i, n;

	memset(step, 0, sizeof(*step));
	step->op = rnd_below(r, OPS);
	n = step_args(step->op);
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

void seed_drop(struct seed *s, int at)
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
		seed_drop(s, rnd_below(r, s->nr));
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
		alter_arg(s, r);
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
