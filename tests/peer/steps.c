// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The steps that mpa-peer.1 lists. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "peer.h"

static uint8_t octets[FPDU_SPACE];
static struct fpdu fpdu;

/* Octets by hand */

static void step_send(struct peer *p, char *args)
{
	conn_send(&p->conn, octets,
		  field_hex("send", args, octets, sizeof(octets)));
}

static void step_read(struct peer *p, char *args)
{
	size_t len = field_number("read", args, sizeof(octets));

	say("%s", to_hex(octets, conn_read(&p->conn, octets, len)));
}

static void step_data(struct peer *p, char *args)
{
	static uint8_t wanted[sizeof(octets)];
	size_t len = field_hex("data", args, wanted, sizeof(wanted)), have;

	have = conn_read(&p->conn, octets, len);
	if (have < len || memcmp(octets, wanted, len))
		wrong("came %s, then %s", to_hex(octets, have),
		      ending_name(p->conn.ended));
}

/* How octets are sent */

static void step_hold(struct peer *p, char *args)
{
	(void)args;
	p->conn.holding = true;
}

static void step_push(struct peer *p, char *args)
{
	(void)args;
	conn_push(&p->conn);
}

static void step_dribble(struct peer *p, char *args)
{
	p->conn.dribble = true;
	if (!args)
		return;
	step_send(p, args);
	p->conn.dribble = false;
}

static void step_whole(struct peer *p, char *args)
{
	(void)args;
	p->conn.dribble = false;
}

static void step_split(struct peer *p, char *args)
{
	p->conn.split = field_number("split", args, sizeof(octets));
}

static enum action action_of(const char *name)
{
	static const char * const names[] = { "fin", "rst", "silence" };
	int i;

	for (i = 0; i < 3; i++)
		if (name && !strcmp(name, names[i]))
			return i;
	misused("neither fin nor rst nor silence");
}

static void step_limit(struct peer *p, char *args)
{
	char *number = strsep(&args, ",");

	conn_limit(&p->conn, field_number("limit", number, 1L << 30),
		   action_of(args));
}

/* Time and ends */

static void step_pause(struct peer *p, char *args)
{
	(void)p;
	sleep_ms(field_seconds("pause", args));
}

/* There should not be anything. */
static void complain(struct peer *p)
{
	struct conn *c = &p->conn;

	if (c->in_from < c->in_to)
		wrong("there came %s",
		      to_hex(c->in + c->in_from, c->in_to - c->in_from));
	wrong("%s", ending_name(c->ended));
}

static void step_stop(struct peer *p, char *args)
{
	(void)p;
	(void)args;
	raise(SIGSTOP);
}

static void step_quiet(struct peer *p, char *args)
{
	if (conn_wait(&p->conn, field_seconds("quiet", args)))
		complain(p);
	say("quiet");
}

static void step_fin(struct peer *p, char *args)
{
	(void)args;
	conn_act(&p->conn, SEND_FIN);
}

static void step_rst(struct peer *p, char *args)
{
	(void)args;
	conn_act(&p->conn, SEND_RST);
}

/* Drop all octets up to the end of it. */
static size_t drop_rest(struct conn *c)
{
	size_t n, dropped = 0;

	while ((n = conn_read(c, octets, sizeof(octets))))
		dropped += n;
	return dropped;
}

static bool ending_fits(enum ending ending, const char *wanted)
{
	if (!*wanted)
		return ending == FIN || ending == RESET;
	return !strcmp(wanted, ending_name(ending));
}

/* A connection that this side has reset has ended already. */
static void step_end(struct peer *p, char *args)
{
	struct conn *c = &p->conn;
	char *wanted = strsep(&args, ","), *rest = args;

	if (c->ended == GONE)
		return;
	if (wanted && !strcmp(wanted, "rest")) {
		rest = wanted;
		wanted = NULL;
	}
	if (rest && strcmp(rest, "rest"))
		misused("fin, reset, rest, not %s", rest);
	if (rest)
		say("dropped: %zu octets", drop_rest(c));
	conn_wait(c, c->timeout);
	if (c->in_from < c->in_to)
		complain(p);
	if (!ending_fits(c->ended, wanted ? wanted : ""))
		wrong("%s", ending_name(c->ended));
	say("%s", ending_name(c->ended));
}

/* Frames */

static void set_crc(struct peer *p, bool on)
{
	p->out.crc = on;
	p->in.crc = on;
}

/* RFC 5044 section 7.1.1; with a Rev 0 peer, Appendix C */
static void settle(struct peer *p)
{
	const uint16_t *ours = p->ours.number, *theirs = p->theirs.number;
	bool rev0 = !ours[REV] || !theirs[REV];

	if (!p->sent_frame || !p->got_frame)
		return;
	p->out.markers = theirs[FLAGS] & FLAG_M || rev0;
	p->in.markers = ours[FLAGS] & FLAG_M || rev0;
	set_crc(p, (ours[FLAGS] | theirs[FLAGS]) & FLAG_C || rev0);
}

static void send_frame(struct peer *p, bool reply, char *args)
{
	frame_send(&p->conn, &p->ours, reply, args);
	p->sent_frame = true;
	settle(p);
}

static void step_request(struct peer *p, char *args)
{
	send_frame(p, false, args);
}

static void step_reply(struct peer *p, char *args)
{
	send_frame(p, true, args);
}

static void expect_frame(struct peer *p, bool reply, char *args)
{
	frame_expect(&p->conn, &p->theirs, reply, args);
	p->got_frame = true;
	settle(p);
}

static void step_expect_request(struct peer *p, char *args)
{
	expect_frame(p, false, args);
}

static void step_expect_reply(struct peer *p, char *args)
{
	expect_frame(p, true, args);
}

/* Full operation */

static void step_set(struct peer *p, char *args)
{
	char *name, *value;
	bool on;

	while (field_next(&args, &name, &value)) {
		on = field_number(name, value, 1);
		if (!strcmp(name, "out"))
			p->out.markers = on;
		else if (!strcmp(name, "in"))
			p->in.markers = on;
		else if (!strcmp(name, "crc"))
			set_crc(p, on);
		else if (!strcmp(name, "lead"))
			p->out.lead = on;
		else
			misused("out, in, crc or lead, not %s", name);
	}
}

static void step_immediate(struct peer *p, char *args)
{
	(void)args;
	p->out = (struct stream) { .markers = true, .crc = true };
	p->in = p->out;
}

/* Arguments of a step other than the FPDU's contents */
struct wish {
	unsigned int	count;
	unsigned int	batch;
	long		size;
	long		step;
	long		flip;		/* octet with a wrong bit; -1: none */
	bool		every;		/* once for each place to split it */
	bool		ulpdu;		/* given by its octets */
	const char	*rtr;		/* or so */
};

static bool wish_field(struct wish *w, const char *name, const char *value)
{
	if (!strcmp(name, "count"))
		w->count = field_number(name, value, 100000);
	else if (!strcmp(name, "batch"))
		w->batch = field_number(name, value, 1000);
	else if (!strcmp(name, "size"))
		w->size = field_number(name, value, ULPDU_SPACE);
	else if (!strcmp(name, "step"))
		w->step = field_number(name, value, ULPDU_SPACE);
	else if (!strcmp(name, "flip"))
		w->flip = field_number(name, value, FPDU_SPACE);
	else if (!strcmp(name, "split") && value && !strcmp(value, "every"))
		w->every = true;
	else
		return false;
	return true;
}

/* The ULPDU by its octets */
static bool ulpdu_field(struct wish *w, struct fpdu *f, const char *name,
			const char *value)
{
	if (!strcmp(name, "ulpdu")) {
		f->len = field_hex(name, value, f->ulpdu, sizeof(f->ulpdu));
		w->ulpdu = true;
	} else if (!strcmp(name, "rtr")) {
		fpdu_rtr(f, value);
		w->ulpdu = true;
		w->rtr = value;
	} else {
		return false;
	}
	return true;
}

static void crc_field(struct fpdu *f, const char *value)
{
	f->crc_bad = value && !strcmp(value, "bad");
	f->crc_given = !f->crc_bad;
	if (f->crc_given && field_hex("crc", value, f->crc, 4) != 4)
		misused("a CRC has 4 octets");
}

static void fpdu_field(struct fpdu *f, const char *name, const char *value)
{
	if (!strcmp(name, "len"))
		f->stated = field_number(name, value, 0xffff);
	else if (!strcmp(name, "pad"))
		f->pad = field_number(name, value, 0xff);
	else if (!strcmp(name, "reserved"))
		f->reserved = field_number(name, value, 0xffff);
	else if (!strcmp(name, "ptr"))
		f->ptr = field_number(name, value, 0xffff);
	else if (!strcmp(name, "marker"))
		f->which = field_number(name, value, 200);
	else if (!strcmp(name, "ptradd"))
		f->ptr_add = field_number(name, value, 0xffff);
	else if (!strcmp(name, "crc"))
		crc_field(f, value);
	else
		misused("an FPDU has no field %s", name);
}

static const struct wish no_wish = {
	.count = 1, .batch = 1, .size = 42, .flip = -1,
};

/* Into w and fpdu; @plain: no fields but those of a wish and the ULPDU */
static void parse_fpdu(struct wish *w, char *args, bool plain)
{
	char *name, *value;

	*w = no_wish;
	fpdu_init(&fpdu);
	while (field_next(&args, &name, &value)) {
		if (wish_field(w, name, value) ||
		    ulpdu_field(w, &fpdu, name, value))
			continue;
		if (plain)
			misused("no field %s here", name);
		else
			fpdu_field(&fpdu, name, value);
	}
	if (w->size + w->step * (w->count - 1L) > ULPDU_SPACE)
		misused("such ULPDUs are too long");
}

static void send_fpdu(struct peer *p, const struct wish *w, unsigned int i)
{
	size_t len;

	if (!w->ulpdu)
		fpdu_pattern(&fpdu, p->fpdus_out, w->size + w->step * i);
	len = fpdu_build(&p->out, &fpdu, octets);
	if (w->flip >= (long)len)
		misused("the FPDU has %zu octets only", len);
	if (w->flip >= 0)
		octets[w->flip] ^= 1;
	conn_send(&p->conn, octets, len);
	p->fpdus_out++;
}

static void step_fpdu(struct peer *p, char *args)
{
	struct wish w;
	unsigned int i;

	parse_fpdu(&w, args, false);
	if (w.every)
		misused("split=every: only as an echo");
	for (i = 0; i < w.count; i++)
		send_fpdu(p, &w, i);
}

/* Reads into fpdu. */
static void need_fpdu(struct peer *p)
{
	if (!fpdu_read(&p->conn, &p->in, &fpdu))
		wrong("fin where an FPDU was due");
	p->fpdus_in++;
}

/* True if fpdu is the @i-th of those that @w describes */
static bool is_wanted(struct peer *p, const struct wish *w,
		      const struct fpdu *wanted, unsigned int i)
{
	if (w->rtr)
		return fpdu_is_rtr(&fpdu, w->rtr);
	if (w->ulpdu)
		return fpdu.len == wanted->len &&
		       !memcmp(fpdu.ulpdu, wanted->ulpdu, fpdu.len);
	return fpdu_is_pattern(&fpdu, p->fpdus_in - 1, w->size + w->step * i);
}

static void step_expect_fpdu(struct peer *p, char *args)
{
	static struct fpdu wanted;
	bool any = !args;
	struct wish w;
	unsigned int i;

	parse_fpdu(&w, args, true);
	wanted = fpdu;
	for (i = 0; i < w.count; i++) {
		need_fpdu(p);
		fpdu_show(&fpdu);
		if (!any && !is_wanted(p, &w, &wanted, i))
			wrong("that is another ULPDU");
	}
}

/* Of the ULPDU that was received last */
static void step_keep(struct peer *p, char *args)
{
	unsigned int from, to;
	char *name, *value;

	(void)p;
	while (field_next(&args, &name, &value)) {
		if (!value || sscanf(value, "%u-%u", &from, &to) != 2 ||
		    from > to)
			misused("keep: %s=FROM-TO", name);
		if (to >= fpdu.len)
			wrong("the ULPDU has %zu octets", fpdu.len);
		field_keep(*name, fpdu.ulpdu + from, to + 1 - from);
	}
}

/* FPDUs from @from to @to come back. */
static void take_echoes(struct peer *p, const struct wish *w,
			unsigned int from, unsigned int to)
{
	unsigned int i, first = p->fpdus_out - (to - from);

	for (i = from; i < to; i++) {
		need_fpdu(p);
		if (!fpdu_is_pattern(&fpdu, first + i - from,
				     w->size + w->step * i))
			wrong("echo %u differs from the FPDU sent", i);
	}
}

/* An FPDU for each place to split it, of which it has @len - 1 */
static void echo_every_split(struct peer *p, const struct wish *w)
{
	size_t at, len = 2;

	for (at = 1; at < len; at++) {
		uint64_t before = p->out.pos;

		p->conn.split = at;
		fpdu_init(&fpdu);
		send_fpdu(p, w, 0);
		len = p->out.pos - before;
		take_echoes(p, w, 0, 1);
	}
	say("echoed: %zu fpdus, split", at - 1);
}

static void echo_batches(struct peer *p, const struct wish *w)
{
	unsigned int from, to, i;

	for (from = 0; from < w->count; from = to) {
		to = w->count - from < w->batch ? w->count : from + w->batch;
		fpdu_init(&fpdu);
		for (i = from; i < to; i++)
			send_fpdu(p, w, i);
		take_echoes(p, w, from, to);
	}
	say("echoed: %u fpdus", w->count);
}

static void step_echo(struct peer *p, char *args)
{
	struct wish w;

	parse_fpdu(&w, args, true);
	if (w.ulpdu || w.flip >= 0 || !w.batch || (w.every && w.count > 1))
		misused("count, size, step, batch, or size and split");
	if (w.every)
		echo_every_split(p, &w);
	else
		echo_batches(p, &w);
}

/* Echo FPDUs up to FIN, or @count of them. */
static void step_serve(struct peer *p, char *args)
{
	unsigned int count = 0, max = ~0u;
	uint64_t total = 0;
	char *name, *value;

	while (field_next(&args, &name, &value)) {
		if (strcmp(name, "count"))
			misused("count only");
		max = field_number(name, value, 1000000);
	}
	while (count < max && fpdu_read(&p->conn, &p->in, &fpdu)) {
		conn_send(&p->conn, octets, fpdu_build(&p->out, &fpdu, octets));
		total += fpdu.len;
		count++;
	}
	say("served: %u fpdus, %llu octets", count, (unsigned long long)total);
}

struct step {
	const char	*name;
	void		(*run)(struct peer *p, char *args);
};

static const struct step steps[] = {
	{ "send", step_send },
	{ "read", step_read },
	{ "data", step_data },
	{ "hold", step_hold },
	{ "push", step_push },
	{ "dribble", step_dribble },
	{ "whole", step_whole },
	{ "split", step_split },
	{ "limit", step_limit },
	{ "request", step_request },
	{ "reply", step_reply },
	{ "expect-request", step_expect_request },
	{ "expect-reply", step_expect_reply },
	{ "set", step_set },
	{ "immediate", step_immediate },
	{ "fpdu", step_fpdu },
	{ "expect-fpdu", step_expect_fpdu },
	{ "keep", step_keep },
	{ "echo", step_echo },
	{ "serve", step_serve },
	{ NULL, NULL }
};

/* Also done after the limit was reached */
static const struct step end_steps[] = {
	{ "pause", step_pause },
	{ "stop", step_stop },
	{ "quiet", step_quiet },
	{ "fin", step_fin },
	{ "rst", step_rst },
	{ "end", step_end },
	{ NULL, NULL }
};

static const struct step *step_find(const struct step *step, const char *name)
{
	while (step->name && strcmp(step->name, name))
		step++;
	return step->name ? step : NULL;
}

/* @text is changed */
void step_run(struct peer *p, char *text)
{
	const struct step *step;
	char *args = text;

	strsep(&args, ":");
	if (args && !*args)
		args = NULL;
	step = step_find(end_steps, text);
	if (!step) {
		step = step_find(steps, text);
		if (!step)
			misused("no such step: %s", text);
		if (p->conn.cut)
			return;
	}
	step->run(p, args);
}
