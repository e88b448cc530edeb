/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Model of a stream that arrives with holes: TCP's queues, a receiver that
 * passes ULPDUs out of order with mpa_ooo_map.c, and the expected results,
 * computed octet by octet. The model checks every arrival; a test case supplies
 * the arrivals.
 */
#ifndef _MPA_OOO_MODEL_H
#define _MPA_OOO_MODEL_H

#include <kunit/test.h>
#include "mpa_ooo_map.h"
#include "mpa_ref.h"

enum {
	OOO_STREAM	= 288 * 1024,
	OOO_POOL	= 65536 + 1024,
	OOO_FRAGS	= 136,		/* above those of any FPDU */
};

/**
 * struct ooo_model - a stream and its receiver
 * @test: the test, for assertions
 * @map: the map under test
 * @src: TCP's octets as mpa_ooo_map.c sees them
 * @behind: @src covers octets after holes; otherwise those in order
 * @start: stream position of the first octet; offsets count from it
 * @end: number of octets sent
 * @next: all octets before this offset have arrived (RCV.NXT)
 * @at: all ULPDUs before this offset have been delivered
 * @batch: FPDUs verified in one call
 * @decodes: decode passed FPDUs when the stream reaches them, do not step over
 * @mixed: switch @decodes after each FPDU
 * @altered: octets have arrived that differ from those sent
 * @diverged: the stream has reached passed FPDUs whose octets differ now
 * @full: the last search had no range left
 * @reason: the error that ended the stream
 * @wanted: octets that the current search has to pass
 * @ooo: octets of FPDUs passed out of order
 * @bad: FPDUs found bad before the stream reached them
 * @read: octets read by mpa_ooo_map.c
 * @run: number of the current reception, for messages
 * @what: parameters of the current reception, for messages
 * @where: buffer for such a message
 * @frag: fragments of the FPDU being decoded
 * @len: length of the ULPDU sent at each offset, index: offset / 4
 * @size: size of the FPDU sent at each offset, index: offset / 4
 * @kept: size of the passed FPDU at each offset, index: offset / 4
 * @pool: source of the ULPDUs' octets
 * @ref_ulpdu: ULPDU as decoded by the reference
 * @sent: octets sent
 * @data: octets received
 * @placed: octets of ULPDUs passed
 * @have: 1 for each octet that has arrived
 * @state: receiver's state of each octet
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
