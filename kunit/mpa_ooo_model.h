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

/* A stream and its receiver */
struct ooo_model {
	struct kunit		*test;
	struct mpa_ooo_map	map;		/* under test */
	struct mpa_stream	src;		/* TCP's octets, for the map */
	bool			behind;		/* @src: those after holes */
	u64			start;		/* offsets count from here */
	u32			end;		/* octets sent */
	u32			next;		/* RCV.NXT: all before came */
	u32			at;		/* before it all is delivered */
	u32			batch;		/* FPDUs verified in one call */
	bool			decodes;	/* passed FPDUs, when reached */
	bool			mixed;		/* @decodes changes each time */
	bool			altered;	/* other octets have arrived */
	bool			diverged;	/* passed FPDUs differ now */
	bool			full;		/* no range was left */
	enum mpa_reason		reason;		/* of the end of the stream */
	u32			wanted;		/* octets yet to be passed */
	u32			ooo;		/* octets passed out of order */
	u32			bad;		/* FPDUs found bad too early */
	u32			read;		/* octets read by the map */
	/* for messages: number and parameters of the current reception */
	u32			run;
	u32			what[3];
	char			where[96];
	struct kvec		frag[OOO_FRAGS];	/* of one FPDU */
	/* by offset / 4: length and size of the FPDU sent, size as passed */
	u16			len[OOO_STREAM / 4];
	u32			size[OOO_STREAM / 4];
	u32			kept[OOO_STREAM / 4];
	u8			pool[OOO_POOL];		/* source of ULPDUs */
	u8			ref_ulpdu[65536];	/* by the reference */
	/* octets sent, received, and of ULPDUs passed */
	u8			sent[OOO_STREAM];
	u8			data[OOO_STREAM];
	u8			placed[OOO_STREAM];
	u8			have[OOO_STREAM];	/* 1: has arrived */
	u8			state[OOO_STREAM];	/* of the receiver */
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

void ooo_expect_all(struct ooo_model *m);
void ooo_expect_verdict(struct ooo_model *m);

#endif /* _MPA_OOO_MODEL_H */
