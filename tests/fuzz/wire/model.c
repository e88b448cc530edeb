// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rules of RFC 5044 and RFC 6581 alone: the ULPDUs in a stream, and whether
 * the other side has conformed.
 */
#include <string.h>

#include "fuzz.h"

#define EVERY		512
#define FRAME_LEN	20
#define PD_MAX		512

static uint16_t get16(const uint8_t *from)
{
	return from[0] << 8 | from[1];
}

/**
 * struct reader - parser of a stream
 * @octets: the stream
 * @len: length of the stream
 * @at: position
 * @markers: it has markers
 * @lead: FPDUPTR may count from a leading marker, too
 * @first: beginning of the FPDU
 * @header: its header, after a leading marker
 * @begun: @first and @header are valid
 * @stop: why it stopped
 */
struct reader {
	const uint8_t	*octets;
	size_t		len;
	size_t		at;
	bool		markers;
	bool		lead;
	size_t		first;
	size_t		header;
	bool		begun;
	enum stop	stop;
};

/* Step over a marker if there is one; its low two bits are ignored. */
static bool skip_marker(struct reader *r, bool *wrong)
{
	uint16_t ptr = r->begun ? r->at - r->header : 0;
	uint16_t other = r->begun && r->lead ? r->at - r->first : ptr;
	uint16_t has;

	if (!r->markers || r->at % EVERY)
		return true;
	if (r->len - r->at < 4)
		return false;
	has = get16(r->octets + r->at + 2) & ~3;
	*wrong |= has != ptr && has != other;
	r->at += 4;
	return true;
}

/* The next @n octets that are no markers; @to may be NULL */
static bool take(struct reader *r, uint8_t *to, size_t n, bool *wrong)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!skip_marker(r, wrong) || r->at == r->len)
			return false;
		if (!r->begun) {
			r->begun = true;
			r->header = r->at;
		}
		if (to)
			to[i] = r->octets[r->at];
		r->at++;
	}
	return true;
}

static bool only_zeroes(const uint8_t *from, size_t n)
{
	while (n--)
		if (*from++)
			return false;
	return true;
}

/* Nothing more, or nothing but a marker */
static bool is_end(const struct reader *r)
{
	size_t left = r->len - r->at;

	return !left || (r->markers && r->at % EVERY == 0 && left == 4 &&
			 only_zeroes(r->octets + r->at, 4));
}

static uint32_t wire_crc(const uint8_t *from)
{
	return from[0] | from[1] << 8 | from[2] << 16 | (uint32_t)from[3] << 24;
}

/* An FPDU; if it returns false, @r->stop says why. */
static bool take_fpdu(struct reader *r, struct ulpdu *u, bool crc)
{
	uint8_t head[2], ulpdu[ULPDU_SPACE], sum[4];
	size_t begin = r->at, end;
	bool wrong = false;

	r->begun = false;
	r->first = r->at;
	r->stop = STOP_SHORT;
	if (!take(r, head, 2, &wrong))
		return false;
	u->len = get16(head);
	if (!u->len || u->len > 64768) {
		r->stop = STOP_BAD;
		return false;
	}
	if (!take(r, ulpdu, u->len, &wrong) ||
	    !take(r, NULL, -(2 + u->len) & 3, &wrong) ||
	    !skip_marker(r, &wrong))
		return false;
	end = r->at;
	if (!take(r, sum, 4, &wrong))
		return false;
	if (crc)
		wrong |= wire_crc(sum) != mpa_ref_crc(r->octets + begin,
						      end - begin);
	u->sum = mpa_ref_crc(ulpdu, u->len);
	r->stop = STOP_BAD;
	return !wrong;
}

/* All ULPDUs up to the first mistake */
void model_decode(struct ulpdus *u, const uint8_t *octets, size_t len,
		  const struct stream *s)
{
	struct reader r = {
		.octets = octets, .len = len, .markers = s->markers,
		.lead = s->lead,
	};

	u->nr = 0;
	u->stop = STOP_CLEAN;
	while (!is_end(&r) && u->nr < ULPDUS) {
		if (!take_fpdu(&r, &u->ulpdu[u->nr], s->crc)) {
			u->stop = r.stop;
			return;
		}
		u->nr++;
	}
}

static const struct setup *setup_of(const struct play *p)
{
	return &setups[p->seed->setup];
}

/* True if @octets begin with a complete and valid frame of the given side */
static bool frame_good(const uint8_t *octets, size_t len, bool reply, int rev)
{
	const char *key = reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
	size_t pd_len;

	if (len < FRAME_LEN || memcmp(octets, key, 16) || octets[17] > rev)
		return false;
	pd_len = get16(octets + 18);
	return len >= FRAME_LEN + pd_len && (!octets[17] || pd_len <= PD_MAX);
}

static size_t frame_len(const uint8_t *octets)
{
	return FRAME_LEN + get16(octets + 18);
}

/* The RTR of RFC 6581 is not echoed, and may be answered by a message. */
static bool has_rtr(const struct play *p)
{
	const uint8_t *theirs = p->in;

	return p->settled && theirs[16] & FLAG_S;
}

/* Frames of both sides were good where the other one went on with them. */
static const char *judge_frames(const struct play *p)
{
	const struct setup *setup = setup_of(p);

	if (setup->immediate)
		return NULL;
	if (p->nr_in >= FRAME_LEN &&
	    (memcmp(p->in, setup->listens ? "MPA ID Rep Frame" :
		    "MPA ID Req Frame", 16) || p->in[17] > 2))
		return "the octets are no startup frame";
	if (!setup->listens || !p->settled || p->in[16] & 0x20)
		return NULL;
	/* Rev 1 can be answered in Rev 0. */
	if (!frame_good(p->out, p->nr_out, false, setup->rev ? setup->rev : 1))
		return "a bad Request was accepted";
	return NULL;
}

/* We have to receive a stream of FPDUs, valid as far as it goes. */
static const char *decode_in(struct play *p)
{
	size_t skip = setup_of(p)->immediate ? 0 : frame_len(p->in);

	if (p->nr_in < skip)
		return NULL;
	model_decode(&p->got, p->in + skip, p->nr_in - skip, &p->from);
	return p->got.stop == STOP_BAD ? "a bad FPDU was sent to us" : NULL;
}

static void decode_out(struct play *p)
{
	size_t skip = setup_of(p)->immediate ? 0 : frame_len(p->out);
	struct stream sent = p->to;

	/* We send one reading of the drafts; both are good. */
	sent.lead = setup_of(p)->immediate || !p->in[17] || !p->out[17];
	p->sent.nr = 0;
	p->sent.stop = STOP_BAD;
	if (p->nr_out < skip)
		return;
	model_decode(&p->sent, p->out + skip, p->nr_out - skip, &sent);
}

static bool same(const struct ulpdus *a, const struct ulpdus *b, int nr)
{
	return !memcmp(a->ulpdu, b->ulpdu, nr * sizeof(a->ulpdu[0]));
}

static const char *judge_echo(const struct play *p)
{
	if (p->got.nr > p->sent.nr)
		return "there came more back than was good";
	if (!same(&p->got, &p->sent, p->got.nr))
		return "other octets came back";
	return NULL;
}

/* Octets that the other side may have seen before its turn, or not at all */
static bool is_plain(const struct play *p)
{
	return !p->urgent && !p->reset && !p->lost && !p->lost_track;
}

/* Returns NULL, or a violation by the other side */
const char *play_judge(struct play *p)
{
	const struct setup *setup = setup_of(p);
	const char *wrong = judge_frames(p);

	if (wrong || !p->settled || p->lost_track || p->nr_in == IN_SPACE ||
	    (!setup->immediate && (p->in[16] & 0x20 || p->nr_out < FRAME_LEN)))
		return wrong;
	wrong = decode_in(p);
	if (wrong || !setup->listens || p->urgent)
		return wrong;
	decode_out(p);
	if (!setup->echo || has_rtr(p))
		return NULL;
	return judge_echo(p);
}

/*
 * A successful ping has received the octets it sent. (mpa_rdmap compares the
 * contents of its messages.)
 */
const char *play_judge_status(struct play *p, int status)
{
	const struct setup *setup = setup_of(p);

	if (setup->listens || status || !is_plain(p) || !p->settled)
		return NULL;
	if (!setup->immediate &&
	    !frame_good(p->out, p->nr_out, true, setup->rev))
		return "a bad Reply was taken for a good one";
	decode_out(p);
	if (!setup->echo || setup->rdmap || has_rtr(p))
		return NULL;
	if (p->sent.nr < p->got.nr || !same(&p->sent, &p->got, p->got.nr))
		return "a wrong echo was taken for a good one";
	return NULL;
}
