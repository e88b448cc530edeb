// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The steps of a seed. Arguments not given are 0.
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
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"

#define FRAME_MS	100	/* for the other side's frame */
#define PIECES		400	/* in one push */

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

static void put32(uint8_t *to, uint32_t value)
{
	put16(to, value >> 16);
	put16(to + 2, value);
}

/* Putting octets together */

static void append(struct play *p, const uint8_t *octets, size_t n)
{
	n = at_most(n, OUT_SPACE - p->nr_pending);
	memcpy(p->pending + p->nr_pending, octets, n);
	p->nr_pending += n;
}

static void do_frame(struct play *p, const struct step *step)
{
	uint32_t pd = at_most(step->frame.pd, 65535), len = FRAME_LEN;
	uint32_t key = step->frame.key;
	bool enhanced = step->frame.ird || step->frame.ord;
	uint8_t *octets = p->built;

	memcpy(octets, frame_key(step->frame.reply), 16);
	if (key)
		octets[(key - 1) % 16] ^= 1 << key / 16 % 8;
	octets[16] = step->frame.flags;
	octets[17] = step->frame.rev;
	put16(octets + 18, pd + 4 * enhanced + step->frame.lie);
	if (enhanced) {
		put16(octets + 20, step->frame.ird);
		put16(octets + 22, step->frame.ord);
		len += 4;
	}
	memset(octets + len, 0xa5, pd);
	append(p, octets, len + pd);
}

/* DDP segments: T, L and the version; RDMAP's version and opcode; queue */
static const struct {
	uint8_t	ddp;
	uint8_t	rdmap;
	uint8_t	queue;
} kinds[] = {
	{ 0x41, 0x43, 0 }, { 0x01, 0x43, 0 }, { 0xc1, 0x40, 0 },
	{ 0x41, 0x41, 1 }, { 0xc1, 0x42, 0 }, { 0x41, 0x47, 2 },
	{ 0x41, 0x44, 0 }, { 0x81, 0x40, 0 },
};

#define DDP_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* Returns the octets of the header. */
static size_t ddp_header(uint8_t *to, uint32_t kind, uint32_t msn)
{
	kind = (kind - 1) % DDP_KINDS;
	memset(to, 0, 46);
	to[0] = kinds[kind].ddp;
	to[1] = kinds[kind].rdmap;
	put32(to + 2, 1);
	if (to[0] & 0x80)
		return 14;
	put32(to + 6, kinds[kind].queue);
	put32(to + 10, kinds[kind].queue ? 1 : msn);
	if (kinds[kind].queue != 1)
		return 18;
	put32(to + 18, 1);
	put32(to + 30, 64);
	put32(to + 34, 2);
	return 46;
}

static void make_ulpdu(struct play *p, const struct step *step)
{
	uint32_t what = step->fpdu.what;
	struct fpdu *f = &p->fpdu;
	size_t head = 0;

	fpdu_pattern(f, p->fpdus, at_most(step->fpdu.size, ULPDU_SPACE));
	if (what)
		head = ddp_header(f->ulpdu, what, p->fpdus + 1);
	if (f->len < head || what % 16 == 4)
		f->len = head;
	if (step->fpdu.xor && f->len)
		f->ulpdu[step->fpdu.at % f->len] ^= step->fpdu.xor;
}

static void put_fpdu(struct play *p, uint32_t lie, uint32_t crc)
{
	struct fpdu *f = &p->fpdu;

	if (lie)
		f->stated = (f->len + lie) & 0xffff;
	f->crc_bad = crc % 4 == 1;
	f->crc_given = crc % 4 == 2;
	append(p, p->built, fpdu_build(&p->to, f, p->built));
	p->fpdus++;
}

static void do_fpdu(struct play *p, const struct step *step)
{
	uint32_t i, n = at_most(step->fpdu.count, 40);

	for (i = 0; i < n && p->nr_pending < OUT_SPACE / 2; i++) {
		fpdu_init(&p->fpdu);
		make_ulpdu(p, step);
		p->fpdu.ptr_add = step->fpdu.ptr;
		p->fpdu.pad = step->fpdu.pad;
		p->fpdu.reserved = step->fpdu.reserved;
		p->fpdu.which = (long)step->fpdu.marker - 1;
		put_fpdu(p, step->fpdu.lie, step->fpdu.crc);
	}
}

/* Take the next FPDU of the other side into @f, if it is there and good. */
static bool next_fpdu(struct play *p, struct fpdu *f)
{
	u32 len, size;

	if (mpa_ref_decode(p->in + p->taken, p->nr_in - p->taken, p->from.pos,
			   p->from.markers, false, f->ulpdu, &len, &size))
		return false;
	f->len = len;
	p->from.pos += size;
	p->taken += size;
	return true;
}

static void do_echo(struct play *p, const struct step *step)
{
	uint32_t i, n = at_most(step->echo.count, 100);
	long until = now_ms() + FRAME_MS;

	if (!p->settled)
		return;
	for (i = 0; i < n && p->nr_pending < OUT_SPACE / 2; i++) {
		fpdu_init(&p->fpdu);
		while (!next_fpdu(p, &p->fpdu))
			if (!pump(p, 0, until))
				return;
		p->fpdu.ptr_add = step->echo.ptr;
		put_fpdu(p, step->echo.lie, step->echo.crc);
	}
}

static void do_raw(struct play *p, const struct step *step)
{
	uint32_t i, n = at_most(step->arg[1], 70000), state = step->arg[0] | 1;
	uint8_t octet = step->arg[0];

	for (i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		if (step->arg[2])
			octet = state >> 24;
		append(p, &octet, 1);
	}
}

/* Altering the pending octets */

static void do_set(struct play *p, const struct step *step)
{
	if (p->nr_pending >= 2)
		put16(p->pending + step->arg[0] % (p->nr_pending - 1),
		      step->arg[1]);
}

static void do_flip(struct play *p, const struct step *step)
{
	if (p->nr_pending)
		p->pending[step->arg[0] % p->nr_pending] ^=
			1 << step->arg[1] % 8;
}

static void do_cut(struct play *p, const struct step *step)
{
	p->nr_pending -= at_most(step->arg[0], p->nr_pending);
}

static void do_dup(struct play *p, const struct step *step)
{
	size_t at, n;

	if (!p->nr_pending)
		return;
	at = step->arg[0] % p->nr_pending;
	n = at_most(step->arg[1], p->nr_pending - at);
	if (n <= OUT_SPACE / 2 && at + n <= OUT_SPACE - p->nr_pending)
		append(p, p->pending + at, n);
}

static void do_swap(struct play *p, const struct step *step)
{
	uint32_t wanted = step->arg[1] ? step->arg[1] : 1;
	uint8_t *a, *b;
	size_t at, n;

	if (p->nr_pending < 2)
		return;
	at = step->arg[0] % (p->nr_pending - 1);
	n = at_most(at_most(wanted, FPDU_SPACE), (p->nr_pending - at) / 2);
	a = p->pending + at;
	b = a + n;
	memcpy(p->built, a, n);
	memcpy(a, b, n);
	memcpy(b, p->built, n);
}

/* Sending, waiting, the ends */

/*
 * The beginning may be lost. Then the rest goes in two pieces at most: three
 * duplicate ACKs would fill the hole before MPA looks past it.
 */
static void do_push(struct play *p, const struct step *step)
{
	size_t at = 0, n, piece = step->push.pieces, pieces = 0;

	if (step->push.lose && step->push.lose < p->nr_pending) {
		at = step->push.lose;
		send_lost(p, p->pending, at);
		n = (p->nr_pending - at + 1) / 2;
		if (piece && piece < n)
			piece = n;
	}
	for (; at < p->nr_pending; at += n) {
		n = p->nr_pending - at;
		if (piece && n > piece && ++pieces < PIECES)
			n = piece;
		send_piece(p, p->pending + at, n);
		if (step->push.apart)
			send_apart(p);
		if (step->push.ms && pieces < 20)
			pause_ms(p, step->push.ms);
	}
	if (step->push.apart)
		spill_drain(p);
	p->nr_pending = 0;
	settle(p);
}

/* A Request is nothing to wait for longer; a Reply settles it. */
static bool has_frame(struct play *p)
{
	settle(p);
	return p->settled || (!setups[p->seed->setup].listens &&
			      p->nr_in >= FRAME_LEN);
}

static void do_await(struct play *p, const struct step *step)
{
	long until = now_ms() + FRAME_MS;

	(void)step;
	while (!has_frame(p) && pump(p, 0, until))
		;
}

static void do_take(struct play *p, const struct step *step)
{
	size_t wanted = p->nr_in + at_most(step->arg[0], 100000);
	long until = now_ms() + at_most(step->arg[1], 200);

	while (p->nr_in < wanted && pump(p, 0, until))
		;
}

static void do_pause(struct play *p, const struct step *step)
{
	pause_ms(p, step->arg[0]);
}

static void do_urgent(struct play *p, const struct step *step)
{
	uint8_t octet = step->arg[0];

	p->urgent++;
	if (send(p->fd, &octet, 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
		sent(p, &octet, 1);
}

static void do_deaf(struct play *p, const struct step *step)
{
	(void)step;
	p->deaf = true;
}

static void do_fin(struct play *p, const struct step *step)
{
	(void)step;
	end_with_fin(p);
}

static void do_rst(struct play *p, const struct step *step)
{
	(void)step;
	end_with_rst(p);
}

static void do_silence(struct play *p, const struct step *step)
{
	(void)step;
	p->silent = true;
}

const struct op ops[] = {
	[OP_FRAME] = { "frame", do_frame, {
		{ "reply" },
		{ "flags", { 0x40, 0x40, 0x40, 0xc0, 0xc0, 0xc0, 0x80 } },
		{ "rev" },
		{ "pd", { 1, 8, 100, 508, 512, 513 } },
		{ "lie" },
		{ "key" },
		{ "ird", { 1, 16, 0x3ffe, 0x3fff, 0x8001, 0x8010, 0xbfff,
			   0xc001, 0xc010, 0xffff } },
		{ "ord", { 1, 8, 16, 0x3fff, 0x4010, 0x8008, 0x8010, 0xbfff,
			   0xc010, 0xffff } } } },
	[OP_FPDU] = { "fpdu", do_fpdu, {
		{ "size", { 1, 10, 42, 100, 200, 300, 500, 600, 1400, 5000 } },
		{ "count", { 1, 1, 1, 1, 1, 1, 2, 5, 10, 30 } },
		{ "what", { 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ "lie" }, { "crc" }, { "ptr" }, { "pad" }, { "at" }, { "xor" },
		{ "reserved" }, { "marker" } } },
	[OP_ECHO] = { "echo", do_echo, {
		{ "count", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
		{ "crc" }, { "lie" }, { "ptr" } } },
	[OP_PUSH] = { "push", do_push, {
		{ "pieces", { 2, 19, 20, 100, 512, 1448 } },
		{ "ms", { 1 } },
		{ "lose", { 1, 100, 700, 1500 } },
		{ "apart", { 1, 1, 1, 1, 1 } } } },
	[OP_AWAIT] = { "await", do_await },
	[OP_FIN] = { "fin", do_fin },
	[OP_RST] = { "rst", do_rst },
	[OP_SILENCE] = { "silence", do_silence },
	{ "raw", do_raw, { { "value" }, { "count" }, { "random" } } },
	{ "set", do_set, { { "at" }, { "value" } } },
	{ "flip", do_flip, { { "at" }, { "bit" } } },
	{ "cut", do_cut, { { "count" } } },
	{ "dup", do_dup, { { "at" }, { "count" } } },
	{ "swap", do_swap, { { "at" }, { "count" } } },
	{ "take", do_take, { { "octets" }, { "ms" } } },
	{ "pause", do_pause, { { "ms" } } },
	{ "urgent", do_urgent, { { "value" } } },
	{ "deaf", do_deaf },
};

const int nr_ops = sizeof(ops) / sizeof(ops[0]);
