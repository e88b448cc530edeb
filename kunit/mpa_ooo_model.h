/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A stream that arrives with holes: what TCP has of it, a receiver that passes
 * ULPDUs out of order by means of mpa_ooo_map.c, and what it has to do, found
 * octet by octet. Every arrival is checked; what a case adds are the arrivals.
 */
#ifndef _MPA_OOO_MODEL_H
#define _MPA_OOO_MODEL_H

#include <kunit/test.h>
#include "mpa_ooo_map.h"
#include "mpa_ref.h"

enum {
	OOO_STREAM	= 288 * 1024,
	OOO_POOL	= 65536 + 1024,
	OOO_FRAGS	= 136,		/* an FPDU in one piece has fewer */
};

/**
 * struct ooo_model - a stream and its receiver
 * @test: for assertions
 * @map: what is tested
 * @src: what TCP has, as mpa_ooo_map.c sees it
 * @behind: @src is what lies behind holes, otherwise what is in order
 * @start: stream position of the first octet; other places count from there
 * @end: octets sent
 * @next: all before has arrived (RCV.NXT)
 * @at: all before has been passed and delivered
 * @batch: FPDUs that are verified in one go
 * @decodes: FPDUs passed before are decoded, not stepped over, at their turn
 * @mixed: one time so, one time so
 * @altered: something arrived that was not sent so
 * @diverged: the stream has come to FPDUs passed, and they look different now
 * @full: there were no ranges left in the last search
 * @reason: the error, and the end
 * @wanted: octets that the search going on has to pass
 * @ooo: octets of FPDUs passed out of order
 * @bad: FPDUs that were bad before their turn
 * @read: octets that mpa_ooo_map.c has read
 * @run: how often the stream was received; for messages
 * @what: what is special about this time; for messages
 * @where: such a message
 * @frag: fragments of an FPDU being decoded
 * @len: of the FPDU sent that begins at a place, in units of four octets
 * @size: the same of the FPDU
 * @kept: size of the FPDU passed that begins there
 * @pool: ULPDUs are taken from here
 * @ref_ulpdu: what the reference makes of an FPDU
 * @sent: the stream
 * @data: what has arrived
 * @placed: what was passed
 * @have: there is an octet
 * @state: what the receiver knows of it
 */
struct ooo_model {
	struct kunit		*test;
	struct mpa_ooo_map	map;
	struct mpa_source	src;
	bool			behind;
	u64			start;
	u32			end;
	u32			next;
	u32			at;
	u32			batch;
	bool			decodes;
	bool			mixed;
	bool			altered;
	bool			diverged;
	bool			full;
	enum mpa_reason		reason;
	u32			wanted;
	u32			ooo;
	u32			bad;
	u32			read;
	u32			run;
	u32			what[3];
	char			where[96];
	struct kvec		frag[OOO_FRAGS];
	u16			len[OOO_STREAM / 4];
	u32			size[OOO_STREAM / 4];
	u32			kept[OOO_STREAM / 4];
	u8			pool[OOO_POOL];
	u8			ref_ulpdu[65536];
	u8			sent[OOO_STREAM];
	u8			data[OOO_STREAM];
	u8			placed[OOO_STREAM];
	u8			have[OOO_STREAM];
	u8			state[OOO_STREAM];
};

#define OOO_ASSERT_EQ(m, left, right) \
	KUNIT_ASSERT_EQ_MSG((m)->test, left, right, "%s", ooo_where(m))
#define OOO_ASSERT_LE(m, left, right) \
	KUNIT_ASSERT_LE_MSG((m)->test, left, right, "%s", ooo_where(m))
#define OOO_ASSERT_LT(m, left, right) \
	KUNIT_ASSERT_LT_MSG((m)->test, left, right, "%s", ooo_where(m))
#define OOO_ASSERT_TRUE(m, condition) \
	KUNIT_ASSERT_TRUE_MSG((m)->test, condition, "%s", ooo_where(m))

const char *ooo_where(struct ooo_model *m);

int ooo_model_init(struct kunit *test);
void ooo_model_exit(struct kunit *test);

void ooo_begin(struct ooo_model *m, u64 start);
void ooo_send(struct ooo_model *m, u32 len);
void ooo_send_ulpdu(struct ooo_model *m, const u8 *ulpdu, u32 len);
void ooo_rewind(struct ooo_model *m);

void ooo_arrive_as(struct ooo_model *m, u32 from, u32 to, const u8 *stream,
		   bool newer);
void ooo_arrive(struct ooo_model *m, u32 from, u32 to);
void ooo_drop(struct ooo_model *m, u32 from);
void ooo_search(struct ooo_model *m);

void ooo_expect_all(struct ooo_model *m);
void ooo_expect_verdict(struct ooo_model *m);

#endif /* _MPA_OOO_MODEL_H */
