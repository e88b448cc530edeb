// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A stream arrives with holes, out of order, more than once, and sometimes with
 * different octets: the FPDUs that mpa_ooo_map.c finds after holes, and its
 * verdict on them in order, are compared octet by octet by the model of the KUnit
 * suite.
 *
 * An input: options, position, the lengths of the ULPDUs, then the events.
 */
#include "fuzz.h"
#include "mpa_ooo_model.h"
#include "mpa_ref.h"

enum {
	FPDUS		= 24,
	STREAM_FULL	= 6 * 1024,
};

static struct kunit test;
/* the stream as it arrives now */
static u8 stream[STREAM_FULL + 4096];

static void send_stream(struct ooo_model *m, struct fuzz_input *in)
{
	u32 nr = 1 + fuzz_below(in, FPDUS);

	while (nr-- && m->end < STREAM_FULL) {
		u32 len = fuzz_u8(in);

		if (len >= 192)
			len = 1 + (len % 64) * 32 + fuzz_u8(in) % 32;
		ooo_send(m, max(len, 1));
	}
}

static u32 some_fpdu(const struct ooo_model *m, struct fuzz_input *in)
{
	u32 at = fuzz_below(in, m->end / 4);

	while (!m->size[at])
		at--;
	return 4 * at;
}

/* An octet of some FPDU, often of its framing */
static void alter_octet(struct ooo_model *m, struct fuzz_input *in)
{
	u32 at = some_fpdu(m, in);
	u32 size = m->size[at / 4];
	u32 what = fuzz_u8(in);
	u32 octet;

	if (what & 1)
		size = min(size, 12);
	octet = at + fuzz_below(in, size);
	stream[octet] = fuzz_u8(in);
	if (what & 2)
		mpa_ref_fix_crc(stream + at, m->size[at / 4]);
}

/* Some length, with the CRC right where it says that that is */
static void alter_length(struct ooo_model *m, struct fuzz_input *in)
{
	u32 at = some_fpdu(m, in);
	u32 len = fuzz_u16(in) % 2048;
	u32 size = mpa_ref_size(m->start + at, len, true);

	put_unaligned_be16(len, stream + at + mpa_ref_head(m->start + at, true) - 2);
	if (at + size <= m->end)
		mpa_ref_fix_crc(stream + at, size);
}

/* Where some marker points to */
static void alter_marker(struct ooo_model *m, struct fuzz_input *in)
{
	u32 at = -m->start % 512 + 512 * fuzz_below(in, 8);
	u32 ptr = fuzz_u16(in);
	u32 fpdu = at;

	if (at + 4 > m->end)
		return;
	stream[at + 2] = ptr >> 8;
	stream[at + 3] = ptr;
	fpdu -= fpdu % 4;
	while (fpdu && !m->size[fpdu / 4])
		fpdu -= 4;
	if (fuzz_u8(in) & 1)
		mpa_ref_fix_crc(stream + fpdu, m->size[fpdu / 4]);
}

static void arrive(struct ooo_model *m, struct fuzz_input *in, bool newer)
{
	u32 from = fuzz_below(in, m->end);
	u32 len = 2 * fuzz_u8(in);
	const u8 *octets = m->altered ? stream : m->sent;

	ooo_arrive_as(m, from, min(m->end, from + len), octets, newer);
}

static void happen(struct ooo_model *m, struct fuzz_input *in)
{
	u32 what = fuzz_u8(in) % 16;

	switch (what) {
	case 0 ... 6:
		arrive(m, in, false);
		break;
	case 7:		/* the next octets that are missing */
		ooo_arrive_as(m, m->next, min(m->end, m->next + fuzz_u8(in)),
			      m->altered ? stream : m->sent, false);
		break;
	case 8:
		arrive(m, in, true);
		break;
	case 9:
		ooo_drop(m, fuzz_below(in, m->end));
		break;
	case 10:
		memcpy(stream, m->sent, m->end);
		break;
	default:
		m->altered = true;
		if (what < 13)
			alter_octet(m, in);
		else if (what < 15)
			alter_length(m, in);
		else
			alter_marker(m, in);
		break;
	}
}

static void receive(struct ooo_model *m, struct fuzz_input *in)
{
	u32 i;

	for (i = 0; i < 64 && in->p < in->end && !m->reason; i++)
		happen(m, in);
	if (!m->altered) {
		ooo_arrive(m, 0, m->end);
		ooo_expect_all(m);
		return;
	}
	ooo_arrive_as(m, 0, m->end, stream, true);
	/* Two accidents in a row may make something that is valid. */
	if (!m->diverged)
		ooo_expect_verdict(m);
}

void fuzz_one(struct fuzz_input *in)
{
	u32 mode = fuzz_u8(in);
	struct ooo_model *m;

	if (!test.priv && ooo_model_init(&test))
		abort();
	m = test.priv;
	ooo_begin(m, fuzz_pos(in));
	send_stream(m, in);
	m->run = mode % 9;
	ooo_rewind(m);
	memcpy(stream, m->sent, m->end);
	receive(m, in);

	fuzz_count[FUZZ_STREAMS]++;
	fuzz_count[FUZZ_OOO] += m->ooo > 0;
	fuzz_count[FUZZ_BROKEN] += m->altered;
	fuzz_say("%u octets ooo, %s", m->ooo, fuzz_reason(m->reason));
}
