// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Model of a stream that arrives with holes; see mpa_ooo_model.h. */
#include <linux/mm.h>
#include <linux/string.h>
#include "mpa_ooo_model.h"

/* Receiver's state of an octet */
enum {
	OOO_PASSED	= 1,
	OOO_WANTED	= 2,	/* to be passed by the current search */
	OOO_DEAD	= 4,	/* begins an FPDU not tried again */
};

/* Called for failures only */
const char *ooo_where(struct ooo_model *m)
{
	snprintf(m->where, sizeof(m->where),
		 "time %u (%u %u %u): at %u, %u arrived", m->run, m->what[0],
		 m->what[1], m->what[2], m->at, m->next);
	return m->where;
}

/* TCP's queues */

static u32 run_of(const u8 *octets, u8 value, u32 from, u32 to)
{
	const u8 *p;

	if (from >= to)
		return 0;
	p = memchr_inv(octets + from, value, to - from);
	return p ? p - octets - from : to - from;
}

/* Number of octets from @at on without a hole */
static u32 ooo_contiguous(const struct ooo_model *m, u32 at)
{
	return run_of(m->have, 1, at, m->end);
}

static struct ooo_model *model_of(struct mpa_stream *src)
{
	return container_of(src, struct ooo_model, src);
}

/* Offset of @pos in the stream, or -1 if @m->src does not cover it */
static s64 ooo_place(const struct ooo_model *m, u64 pos)
{
	u32 from = m->behind ? m->next : m->at;
	u32 to = m->behind ? m->end : m->next;
	u64 at = pos - m->start;

	return pos >= m->start && at >= from && at < to ? at : -1;
}

static u64 src_next(struct mpa_stream *src, u64 pos)
{
	struct ooo_model *m = model_of(src);
	u32 from = m->behind ? m->next : m->at;
	u32 to = m->behind ? m->end : m->next;
	u32 n;

	src->steps++;
	if (pos > m->start + from)
		from = min_t(u64, pos - m->start, to);
	n = run_of(m->have, 0, from, to);
	return from + n < to ? m->start + from + n : MPA_POS_NONE;
}

static u32 src_have(struct mpa_stream *src, u64 pos, u32 max)
{
	struct ooo_model *m = model_of(src);
	u32 end = m->behind ? m->end : m->next;
	s64 at = ooo_place(m, pos);

	src->steps++;
	if (at < 0)
		return 0;
	return run_of(m->have, 1, at, min_t(u64, at + max, end));
}

static void src_read(struct mpa_stream *src, u64 pos, void *to, u32 len)
{
	struct ooo_model *m = model_of(src);
	s64 at = ooo_place(m, pos);

	src->steps++;
	m->read += len;
	OOO_ASSERT_LE(m, 0, at);
	OOO_ASSERT_EQ(m, len, run_of(m->have, 1, at, at + len));
	memcpy(to, m->data + at, len);
}

/* Octets arrive as in @stream; @newer: they replace those in TCP's queue. */
static void tcp_receive(struct ooo_model *m, u32 from, u32 to,
			const u8 *stream, bool newer)
{
	u32 at;

	for (at = max(from, m->next); at < to; at++) {
		if (m->have[at] && !newer)
			continue;
		m->have[at] = 1;
		m->data[at] = stream[at];
	}
	m->next += ooo_contiguous(m, m->next);
}

/* Expected results */

/* the pool's length is not a multiple of this, so that ULPDUs differ */
static const u8 *ooo_ulpdu(const struct ooo_model *m, u32 at)
{
	return m->pool + at / 4 % 1021;
}

/* Number of octets of an FPDU up to and including ULPDU_Length */
static u32 ref_head(const struct ooo_model *m, u32 at)
{
	return mpa_ref_head(m->start + at, true);
}

static u32 ref_length(const struct ooo_model *m, u32 at)
{
	at += ref_head(m, at) - 2;
	return m->data[at] * 256 + m->data[at + 1];
}

/* Any size is right for an FPDU that is longer than the stream. */
static u32 ref_size(const struct ooo_model *m, u32 at, u32 len)
{
	return len > m->end ? len : mpa_ref_size(m->start + at, len, true);
}

/*
 * Length and size of an FPDU if it is whole; otherwise @size is the number of
 * octets needed for the next step.
 */
static enum mpa_ref_verdict ref_whole(const struct ooo_model *m, u32 at,
				      u32 have, u32 *len, u32 *size)
{
	*size = ref_head(m, at);
	if (have < *size)
		return MPA_REF_MORE;
	*len = ref_length(m, at);
	if (!mpa_ref_length_ok(*len))
		return MPA_REF_MARKER;
	*size = ref_size(m, at, *len);
	return have < *size ? MPA_REF_MORE : MPA_REF_GOOD;
}

/* Like mpa_ref_decode(), which is called only for octets that were altered. */
static enum mpa_ref_verdict ref_verdict(struct ooo_model *m, u32 at, u32 have,
					const u8 **ulpdu, u32 *len, u32 *size)
{
	u32 sent = m->size[at / 4];
	enum mpa_ref_verdict verdict;

	if (sent && !memcmp(m->data + at, m->sent + at, min(have, sent))) {
		*len = m->len[at / 4];
		*ulpdu = ooo_ulpdu(m, at);
		*size = have < ref_head(m, at) ? ref_head(m, at) : sent;
		return have < sent ? MPA_REF_MORE : MPA_REF_GOOD;
	}
	*ulpdu = m->ref_ulpdu;
	verdict = ref_whole(m, at, have, len, size);
	if (verdict != MPA_REF_GOOD)
		return verdict;
	return mpa_ref_decode(m->data + at, have, m->start + at, true, true,
			      m->ref_ulpdu, len, size);
}

/* The rules of the search, octet by octet */

static bool ref_leads(const struct ooo_model *m, u32 at)
{
	return (m->start + at) % 512 == 0;
}

/* Offset of the FPDU that the marker at @marker points to */
static s64 ref_points_to(const struct ooo_model *m, u32 marker)
{
	u32 back = m->data[marker + 2] * 256 + m->data[marker + 3];
	s64 at = (s64)marker - (back - back % 4);

	if (at < 0 || back < 4)
		return at;
	return (m->start + at) % 512 == 4 ? at - 4 : at;
}

/* True if no marker of the FPDU at @fpdu comes before @marker */
static bool ref_first_marker(const struct ooo_model *m, u32 fpdu, u32 marker)
{
	for (; fpdu < marker; fpdu++)
		if (ref_leads(m, fpdu))
			return false;
	return true;
}

/*
 * Search from @at on, octet by octet while octets are present and new, for the
 * first FPDU that its first marker points to. Returns -1 if there is none; @at
 * is then where the search stopped.
 */
static s64 ref_search_marker(const struct ooo_model *m, u32 *at)
{
	u32 end = *at + min(ooo_contiguous(m, *at),
			    run_of(m->state, 0, *at, m->end));
	u32 marker;
	s64 fpdu;

	for (marker = *at; marker + 4 <= end; marker++) {
		if (!ref_leads(m, marker))
			continue;
		fpdu = ref_points_to(m, marker);
		if (fpdu >= *at && fpdu <= marker &&
		    ref_first_marker(m, fpdu, marker))
			return fpdu;
	}
	*at = end;
	return -1;
}

/* Judge the FPDU at @at; returns where the search continues. */
static u32 ref_search_try(struct ooo_model *m, u32 at)
{
	u32 have = ooo_contiguous(m, at);
	enum mpa_ref_verdict verdict;
	const u8 *ulpdu;
	u32 known;
	u32 size;
	u32 len;

	verdict = ref_verdict(m, at, have, &ulpdu, &len, &size);
	known = run_of(m->state, 0, at, m->end);
	if (at + known == m->end)
		known = U32_MAX;
	if (verdict == MPA_REF_MORE && size <= known)
		return at + have;
	if (verdict == MPA_REF_GOOD && size <= known) {
		memset(m->state + at, OOO_WANTED, size);
		m->wanted += size;
		return at + size;
	}
	memset(m->state + at, OOO_DEAD, 4);
	m->bad++;
	return at + 4;
}

/* Find the FPDUs that the search must pass. */
static void ref_search(struct ooo_model *m)
{
	u32 at = m->next;
	bool follows;
	s64 fpdu;

	while (at < m->end) {
		if (!m->have[at] || m->state[at]) {
			at++;
			continue;
		}
		follows = at && m->state[at - 1] & (OOO_PASSED | OOO_WANTED);
		fpdu = follows ? at : ref_search_marker(m, &at);
		if (fpdu >= 0)
			at = ref_search_try(m, fpdu);
	}
}

/* Receiving */

static void ooo_dec_init(struct ooo_model *m, struct mpa_dec *dec, u32 at)
{
	*dec = (struct mpa_dec) {
		.pos = m->start + at, .markers = true, .crc = true,
		.frag = m->frag, .max_frags = OOO_FRAGS,
	};
}

static int ooo_decode(struct ooo_model *m, struct mpa_dec *dec, u32 have)
{
	struct kvec v = { m->data + (u32)(dec->pos - m->start), have };
	struct mpa_octets in = { .v = &v, .nr = 1, .len = have };

	return mpa_fpdu_decode(dec, &in);
}

/* The ULPDU must be the one sent, and not have been passed before. */
static void ooo_pass(struct ooo_model *m, const struct mpa_dec *dec)
{
	u32 at = dec->pos - m->start;
	const u8 *ulpdu;
	u32 size = 0;
	u32 len = 0;
	u32 i;

	OOO_ASSERT_EQ(m, MPA_REF_GOOD,
		      ref_verdict(m, at, ooo_contiguous(m, at), &ulpdu, &len,
				  &size));
	OOO_ASSERT_EQ(m, len, dec->len);
	OOO_ASSERT_EQ(m, size, dec->size);
	for (i = 0; i < dec->nr_frags; i++) {
		OOO_ASSERT_EQ(m, 0, memcmp(ulpdu, dec->frag[i].iov_base,
					   dec->frag[i].iov_len));
		ulpdu += dec->frag[i].iov_len;
		len -= dec->frag[i].iov_len;
	}
	OOO_ASSERT_EQ(m, 0, len);
	for (i = at; i < at + size; i++)
		OOO_ASSERT_EQ(m, 0, m->state[i] & OOO_PASSED);
	memset(m->state + at, OOO_PASSED, size);
	memcpy(m->placed + at, m->data + at, size);
	m->kept[at / 4] = size;
}

static void ooo_pass_found(struct ooo_model *m, const struct mpa_dec *dec)
{
	u32 at = dec->pos - m->start;

	/* no statement about FPDUs for which no range was left */
	OOO_ASSERT_EQ(m, OOO_WANTED, m->state[at]);
	ooo_pass(m, dec);
	m->wanted -= dec->size;
	m->ooo += dec->size;
}

/* Verify the FPDUs found, as many as are whole, like mpa_rx_ooo.c. */
static void ooo_verify(struct ooo_model *m, u64 pos)
{
	u64 limit = mpa_ooo_map_limit(&m->map, pos);
	struct mpa_dec dec;
	u64 to = pos;
	u32 nr = 0;
	int err;
	u32 at;

	while (nr < m->batch && to < limit) {
		at = to - m->start;
		ooo_dec_init(m, &dec, at);
		err = ooo_decode(m, &dec, ooo_contiguous(m, at));
		if (!err && dec.size > limit - to)
			err = -EBADMSG;
		if (err)
			break;
		ooo_pass_found(m, &dec);
		to += dec.size;
		nr++;
	}
	if (nr)
		mpa_ooo_map_add_passed(&m->map, pos, to, nr);
	else
		mpa_ooo_map_add_bad(&m->map, pos);
	OOO_ASSERT_EQ(m, nr ? to : pos + 4, m->map.at);
}

static u32 count_state(const struct ooo_model *m, u8 state)
{
	u32 n = 0;
	u32 at;

	for (at = m->at; at < m->end; at += 4)
		if (m->state[at] == state)
			n += 4;
	return n;
}

/* Compare the map with a range, at its first octet and after its last one. */
static void ooo_check_range(struct ooo_model *m, const struct mpa_range *r,
			    u64 from)
{
	const struct mpa_range *next = r + 1;

	OOO_ASSERT_EQ(m, !!r->nr, mpa_ooo_map_was_passed(&m->map, from));
	if (next == m->map.range + m->map.nr)
		OOO_ASSERT_EQ(m, MPA_POS_NONE,
			      mpa_ooo_map_limit(&m->map, r->to));
	else
		OOO_ASSERT_EQ(m, next->from,
			      mpa_ooo_map_limit(&m->map, r->to));
}

/* The ranges must match the model, be sorted, and be as few as possible. */
static void ooo_check_ranges(struct ooo_model *m)
{
	const struct mpa_range *r = m->map.range;
	u64 behind = m->start + m->at;
	u32 passed = 0;
	bool touched;
	u32 dead = 0;
	u32 i;

	OOO_ASSERT_LE(m, m->map.nr, MPA_OOO_RANGES);
	for (i = 0; i < m->map.nr; i++, r++) {
		OOO_ASSERT_LT(m, max(behind, r->from), r->to);
		touched = i && r->from == behind && r[-1].nr && r->nr;
		OOO_ASSERT_TRUE(m, !i || (r->from >= behind && !touched));
		behind = max(behind, r->from);
		*(r->nr ? &passed : &dead) += r->to - behind;
		OOO_ASSERT_EQ(m, r->to - behind,
			      run_of(m->state, r->nr ? OOO_PASSED : OOO_DEAD,
				     behind - m->start, r->to - m->start));
		OOO_ASSERT_LE(m, r->reached, r->nr);
		ooo_check_range(m, r, behind);
		behind = r->to;
	}
	OOO_ASSERT_EQ(m, passed, count_state(m, OOO_PASSED));
	OOO_ASSERT_EQ(m, dead, count_state(m, OOO_DEAD));
}

/* No range was left: FPDUs not passed wait, and nothing records them. */
static void ooo_forget_wanted(struct ooo_model *m)
{
	const struct mpa_range *r;
	u32 at;

	for (at = 0; at < m->end; at++)
		m->state[at] &= OOO_PASSED;
	for (r = m->map.range; r < m->map.range + m->map.nr; r++)
		if (!r->nr && r->to > m->start + m->at)
			memset(m->state + (r->from - m->start), OOO_DEAD, 4);
	m->wanted = 0;
}

/* Pass exactly the FPDUs that can be found after holes. */
static void ooo_search(struct ooo_model *m)
{
	struct mpa_dec dec;
	u64 last;

	if (m->reason)
		return;
	ref_search(m);

	m->behind = true;
	m->map.at = m->start + m->at;
	while (m->map.at != MPA_POS_NONE) {
		last = m->map.at;
		ooo_dec_init(m, &dec, 0);
		if (mpa_ooo_map_find(&m->map, &m->src, &dec)) {
			OOO_ASSERT_EQ(m, m->map.at, dec.pos);
			OOO_ASSERT_LE(m, last, dec.pos);
			ooo_verify(m, dec.pos);
		}
		OOO_ASSERT_LT(m, last, m->map.at);
	}
	m->full = m->map.nr == MPA_OOO_RANGES;
	if (m->full)
		ooo_forget_wanted(m);
	OOO_ASSERT_EQ(m, 0, m->wanted);
	ooo_check_ranges(m);
}

static enum mpa_reason ref_reason(enum mpa_ref_verdict verdict, u32 len)
{
	if (verdict == MPA_REF_CRC)
		return MPA_REASON_CRC;
	return mpa_ref_length_ok(len) ? MPA_REASON_MARKER : MPA_REASON_LENGTH;
}

/* Expected result when the stream reaches an FPDU that was not passed */
static int ref_turn(struct ooo_model *m, enum mpa_reason *reason)
{
	enum mpa_ref_verdict verdict;
	const u8 *ulpdu;
	u32 size = 0;
	u32 len = 0;
	u32 i;

	verdict = ref_verdict(m, m->at, m->next - m->at, &ulpdu, &len, &size);
	if (verdict == MPA_REF_MORE)
		return -EAGAIN;
	*reason = ref_reason(verdict, len);
	if (verdict != MPA_REF_GOOD)
		return -EBADMSG;
	*reason = MPA_REASON_MARKER;
	for (i = m->at; i < m->at + size; i++)
		if (m->state[i] & OOO_PASSED)
			return -EBADMSG;
	return 0;
}

/* The stream reaches an FPDU that was not passed. */
static int ooo_turn_new(struct ooo_model *m, struct mpa_dec *dec)
{
	u64 limit = mpa_ooo_map_next_passed(&m->map, dec->pos);
	enum mpa_reason reason;
	int err;

	err = ooo_decode(m, dec, m->next - m->at);
	if (!err && m->decodes) {
		err = mpa_ooo_map_reach(&m->map, dec);
	} else if (!err && dec->size > limit - dec->pos) {
		dec->reason = MPA_REASON_MARKER;
		err = -EBADMSG;
	}
	OOO_ASSERT_EQ(m, ref_turn(m, &reason), err);
	if (err == -EBADMSG)
		OOO_ASSERT_EQ(m, reason, dec->reason);
	if (!err)
		ooo_pass(m, dec);
	return err;
}

/* True unless the FPDUs end where the passed range ends, in equal number */
static bool ref_disagrees(const struct ooo_model *m, u32 size, u32 left)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < left; i += 4)
		nr += !!m->kept[(m->at + i) / 4];
	return nr == 1 ? size != left : size >= left;
}

/*
 * Expected result when the stream reaches a passed FPDU whose octets changed.
 * An FPDU that extends past the passed range is not waited for.
 */
static int ref_turn_altered(struct ooo_model *m, u32 *size)
{
	u32 left = run_of(m->state, OOO_PASSED, m->at, m->end);
	u32 have = m->next - m->at;
	enum mpa_ref_verdict verdict;
	u32 len;

	verdict = ref_whole(m, m->at, have, &len, size);
	if (verdict == MPA_REF_MORE)
		return *size > left && !m->decodes ? -EBADMSG : -EAGAIN;
	if (verdict == MPA_REF_GOOD)
		verdict = mpa_ref_decode(m->data + m->at, have,
					 m->start + m->at, true, false,
					 m->ref_ulpdu, &len, size);
	if (verdict != MPA_REF_GOOD || ref_disagrees(m, *size, left))
		return -EBADMSG;
	return 0;
}

/* Octets of a passed FPDU; after an alteration the number of FPDUs is lost. */
static void ref_turn_passed(struct ooo_model *m, int err,
			    const struct mpa_dec *dec)
{
	u32 kept = m->kept[m->at / 4];
	u32 have = m->next - m->at;
	u32 size;
	int want;

	if (!m->diverged && !memcmp(m->data + m->at, m->placed + m->at,
				    min(have, kept))) {
		OOO_ASSERT_EQ(m, have < kept ? -EAGAIN : 0, err);
		if (!err)
			OOO_ASSERT_EQ(m, kept, dec->size);
		return;
	}
	want = ref_turn_altered(m, &size);
	if (!m->diverged || want == -EAGAIN)
		OOO_ASSERT_EQ(m, want, err);
	m->diverged |= size != kept;
}

/* Checks ULPDU_Length and markers only */
static int ooo_turn_step(struct ooo_model *m, struct mpa_dec *dec)
{
	int err;

	m->read = 0;
	err = mpa_ooo_map_step(&m->map, &m->src, dec);
	if (!err)
		OOO_ASSERT_LE(m, m->read, 6 + 4 * (dec->size / 512 + 1));
	return err;
}

static int ooo_turn_decode(struct ooo_model *m, struct mpa_dec *dec)
{
	int err;

	dec->crc = false;
	err = ooo_decode(m, dec, m->next - m->at);
	if (err)
		return err;
	err = mpa_ooo_map_reach(&m->map, dec);
	OOO_ASSERT_TRUE(m, err == 1 || err == -EBADMSG);
	return min(err, 0);
}

/* The stream reaches an FPDU that was passed. */
static int ooo_turn_passed(struct ooo_model *m, struct mpa_dec *dec)
{
	int err;

	if (m->decodes)
		err = ooo_turn_decode(m, dec);
	else
		err = ooo_turn_step(m, dec);
	ref_turn_passed(m, err, dec);
	if (err == -EBADMSG)
		OOO_ASSERT_TRUE(m, dec->reason == MPA_REASON_MARKER ||
				dec->reason == MPA_REASON_LENGTH);
	return err;
}

/* Process one FPDU that is in order; returns false if there is none. */
static bool ooo_turn(struct ooo_model *m)
{
	struct mpa_dec dec;
	bool passed;
	int err;

	m->behind = false;
	m->decodes ^= m->mixed;
	ooo_dec_init(m, &dec, m->at);
	passed = mpa_ooo_map_was_passed(&m->map, dec.pos);
	OOO_ASSERT_EQ(m, passed, !!(m->state[m->at] & OOO_PASSED));
	err = passed ? ooo_turn_passed(m, &dec) : ooo_turn_new(m, &dec);
	if (err == -EAGAIN)
		OOO_ASSERT_LT(m, m->next - m->at, dec.size);
	if (err == -EBADMSG)
		m->reason = dec.reason;
	if (err)
		return false;
	m->at += dec.size;
	if (!m->decodes)
		mpa_ooo_map_forget(&m->map, dec.pos + dec.size);
	return true;
}

/* Streams and arrivals */

/**
 * ooo_arrive_as - a segment arrives
 * @m: the stream
 * @from: offset of its first octet
 * @to: offset after its last octet
 * @stream: contents of the stream for this segment
 * @newer: the segment replaces octets in TCP's queue after a hole
 *
 * The receiver passes FPDUs in order, then those found after holes.
 */
void ooo_arrive_as(struct ooo_model *m, u32 from, u32 to, const u8 *stream,
		   bool newer)
{
	m->altered |= stream != m->sent;
	tcp_receive(m, from, to, stream, newer);
	while (!m->reason && m->at < m->next && ooo_turn(m))
		;
	ooo_search(m);
}

/* A segment arrives as it was sent; octets already received are kept. */
void ooo_arrive(struct ooo_model *m, u32 from, u32 to)
{
	ooo_arrive_as(m, from, to, m->sent, false);
}

/* TCP drops the octets from @from on that come after a hole. */
void ooo_drop(struct ooo_model *m, u32 from)
{
	from = max(from, m->next);
	if (from < m->end)
		memset(m->have + from, 0, m->end - from);
}

/* All ULPDUs were delivered, and the map is empty. */
void ooo_expect_all(struct ooo_model *m)
{
	OOO_ASSERT_EQ(m, MPA_REASON_NONE, m->reason);
	OOO_ASSERT_EQ(m, m->end, m->at);
	OOO_ASSERT_EQ(m, m->end, run_of(m->state, OOO_PASSED, 0, m->end));
	OOO_ASSERT_EQ(m, 0, m->map.nr);
}

/*
 * After the whole stream has arrived: all ULPDUs were delivered, or an error
 * was reported, or the last ULPDU_Length read asks for more. ULPDUs that were
 * passed and disagree are an error.
 */
void ooo_expect_verdict(struct ooo_model *m)
{
	u32 head;

	OOO_ASSERT_EQ(m, m->end, m->next);
	if (m->reason)
		return;
	OOO_ASSERT_TRUE(m, !m->diverged || (m->decodes && m->at < m->end));
	head = m->at < m->end ? ref_head(m, m->at) : 0;
	if (m->at + head < m->end)
		OOO_ASSERT_LT(m, m->end - m->at,
			      ref_size(m, m->at, ref_length(m, m->at)));
}

/* Restart the receiver: nothing has been received. */
void ooo_rewind(struct ooo_model *m)
{
	memset(&m->map, 0, sizeof(m->map));
	memset(m->have, 0, m->end);
	memset(m->state, 0, m->end);
	memset(m->kept, 0, m->end / 4 * sizeof(*m->kept));
	m->next = 0;
	m->at = 0;
	m->altered = false;
	m->diverged = false;
	m->reason = MPA_REASON_NONE;
	m->ooo = 0;
	m->bad = 0;
	m->run++;
	m->decodes = m->run % 3 == 1;
	m->mixed = m->run % 3 == 2;
	m->batch = 1 + m->run / 3 % 3 * 15;
}

/* Begin a new stream. */
void ooo_begin(struct ooo_model *m, u64 start)
{
	ooo_rewind(m);
	memset(m->len, 0, sizeof(m->len));
	memset(m->size, 0, sizeof(m->size));
	m->start = start;
	m->end = 0;
	m->run = 0;
}

/* Append an FPDU with the given ULPDU, which the model does not record. */
void ooo_send_ulpdu(struct ooo_model *m, const u8 *ulpdu, u32 len)
{
	OOO_ASSERT_LE(m, m->end + len + len / 100 + 16, OOO_STREAM);
	m->end += mpa_ref_encode(m->sent + m->end, m->start + m->end, ulpdu,
				 len, true, true);
}

/* Append an FPDU. */
void ooo_send(struct ooo_model *m, u32 len)
{
	u32 at = m->end;

	ooo_send_ulpdu(m, ooo_ulpdu(m, at), len);
	m->len[at / 4] = len;
	m->size[at / 4] = m->end - at;
}

int ooo_model_init(struct kunit *test)
{
	struct ooo_model *m = kvzalloc(sizeof(*m), GFP_KERNEL);
	u32 seed = 5044;
	u32 i;

	if (!m)
		return -ENOMEM;
	for (i = 0; i < OOO_POOL; i++)
		m->pool[i] = mpa_ref_random(&seed);
	m->test = test;
	m->src = (struct mpa_stream) {
		.next = src_next, .have = src_have, .read = src_read,
	};
	test->priv = m;
	return 0;
}

void ooo_model_exit(struct kunit *test)
{
	kvfree(test->priv);
}
