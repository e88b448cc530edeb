// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whether the other side has conformed to RFC 5044 and RFC 6581. FPDUs are
 * decoded by the reference of kunit/, which shares no code with the module.
 */
#include <string.h>

#include "fuzz.h"

#define REPLY_REJECTS	0x20

/* the ULPDUs of one direction of a connection */
struct reader {
	const uint8_t	*octets;	/* what is left of it */
	size_t		left;		/* how many these are */
	struct stream	format;		/* with the position of @octets */
	u32		len;		/* length of the last ULPDU */
	uint8_t		ulpdu[ULPDU_SPACE];	/* the last ULPDU */
};

static const struct setup *setup_of(const struct play *p)
{
	return &setups[p->seed->setup];
}

static void reader_init(struct reader *r, const struct play *p,
			const uint8_t *octets, size_t len,
			const struct stream *format)
{
	size_t skip = setup_of(p)->immediate ? 0 : frame_len(octets);

	if (skip > len)
		skip = len;
	r->octets = octets + skip;
	r->left = len - skip;
	r->format = *format;
	r->format.pos = 0;
}

static enum mpa_ref_verdict reader_next(struct reader *r)
{
	enum mpa_ref_verdict verdict;
	u32 size;

	verdict = (r->format.lead ? mpa_ref_decode_drafts : mpa_ref_decode)
		(r->octets, r->left, r->format.pos, r->format.markers,
		 r->format.crc, r->ulpdu, &r->len, &size);
	if (verdict != MPA_REF_GOOD)
		return verdict;
	r->octets += size;
	r->left -= size;
	r->format.pos += size;
	return verdict;
}

static void reader_of_in(struct reader *r, const struct play *p)
{
	reader_init(r, p, p->in, p->nr_in, &p->from);
}

/* We send one reading of the drafts; both are good. */
static void reader_of_out(struct reader *r, const struct play *p)
{
	reader_init(r, p, p->out, p->nr_out, &p->to);
	r->format.lead = setup_of(p)->immediate || !p->in[17] || !p->out[17];
}

/* True if @octets begin with a complete and valid frame of the given side */
static bool frame_good(const uint8_t *octets, size_t len, bool reply, int rev)
{
	size_t size;

	if (len < FRAME_LEN || memcmp(octets, frame_key(reply), 16) ||
	    octets[17] > rev)
		return false;
	size = frame_len(octets);
	return len >= size && (!octets[17] || size <= FRAME_LEN + PD_MAX);
}

/*
 * Of several urgent octets TCP skips those up to which all was read, as long as
 * MPA does not have the socket. Then the octets sent are not those received.
 */
static bool may_skip(const struct play *p)
{
	return p->urgent > 1;
}

/* It has sent a frame, and went on after ours only if that was good. */
static const char *judge_frames(const struct play *p)
{
	const struct setup *setup = setup_of(p);

	if (setup->immediate)
		return NULL;
	if (p->nr_in >= FRAME_LEN &&
	    (memcmp(p->in, frame_key(setup->listens), 16) || p->in[17] > 2))
		return "the octets are no startup frame";
	if (!setup->listens || !p->settled || p->in[16] & REPLY_REJECTS ||
	    may_skip(p))
		return NULL;
	/* Rev 1 can be answered in Rev 0. */
	if (!frame_good(p->out, p->nr_out, false, setup->rev ? setup->rev : 1))
		return "a bad Request was accepted";
	return NULL;
}

/* We have to receive a stream of FPDUs, valid as far as it goes. */
static const char *judge_in(const struct play *p)
{
	static __thread struct reader in;
	enum mpa_ref_verdict verdict;

	reader_of_in(&in, p);
	while ((verdict = reader_next(&in)) == MPA_REF_GOOD)
		;
	return verdict == MPA_REF_MORE ? NULL : "a bad FPDU was sent to us";
}

/* True if each ULPDU received is one that we have sent well formed, in order */
static bool is_echo(const struct play *p)
{
	static __thread struct reader in, out;

	reader_of_in(&in, p);
	reader_of_out(&out, p);
	while (reader_next(&in) == MPA_REF_GOOD)
		if (reader_next(&out) != MPA_REF_GOOD || in.len != out.len ||
		    memcmp(in.ulpdu, out.ulpdu, in.len))
			return false;
	return true;
}

/* The RTR of RFC 6581 is not echoed, and may be answered by a message. */
static bool has_echo(const struct play *p)
{
	return setup_of(p)->echo && !(p->settled && p->in[16] & FLAG_S);
}

/* Returns NULL, or a violation by the other side */
const char *play_judge(const struct play *p)
{
	const struct setup *setup = setup_of(p);
	const char *wrong = judge_frames(p);

	if (wrong || !p->settled || p->lost_track || p->nr_in == IN_SPACE ||
	    may_skip(p))
		return wrong;
	if (!setup->immediate && (p->in[16] & REPLY_REJECTS ||
				  p->nr_out < FRAME_LEN))
		return NULL;
	wrong = judge_in(p);
	if (wrong || !setup->listens || p->urgent || !has_echo(p))
		return wrong;
	return is_echo(p) ? NULL : "octets came back that were not sent so";
}

/*
 * A successful ping has received the octets it sent.
 */
const char *play_judge_status(const struct play *p, int status)
{
	const struct setup *setup = setup_of(p);

	if (setup->listens || status || !p->settled || p->urgent || p->reset ||
	    p->lost || p->lost_track)
		return NULL;
	if (!setup->immediate &&
	    !frame_good(p->out, p->nr_out, true, setup->rev))
		return "a bad Reply was taken for a good one";
	if (!has_echo(p) || is_echo(p))
		return NULL;
	return "a wrong echo was taken for a good one";
}
