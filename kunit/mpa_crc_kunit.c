// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* CRC of an FPDU: known answers, and the reference's for all else. */
#include <kunit/test.h>
#include <linux/string.h>
#include "mpa_fpdu.h"
#include "mpa_ref.h"

/* @len octets: the first is @first, each next one is @step larger */
struct crc_answer {
	const char	*desc;
	const char	*data;		/* NULL: use @first and @step */
	u8		first;
	u8		step;
	u32		len;
	u8		field[4];	/* the CRC field on the wire */
};

/* RFC 3720 appendix B.4, and the customary check value of CRC32C */
static const struct crc_answer crc_answers[] = {
	{
		.desc = "CR-01 CR-14: check value",
		.data = "123456789", .len = 9,
		.field = { 0x83, 0x92, 0x06, 0xe3 },
	},
	{
		.desc = "CR-01 CR-14: 32 octets of zeros",
		.len = 32,
		.field = { 0xaa, 0x36, 0x91, 0x8a },
	},
	{
		.desc = "CR-01 CR-14: 32 octets of ones",
		.first = 0xff, .len = 32,
		.field = { 0x43, 0xab, 0xa8, 0x62 },
	},
	{
		.desc = "CR-01 CR-14: 32 octets counting up",
		.step = 1, .len = 32,
		.field = { 0x4e, 0x79, 0xdd, 0x46 },
	},
	{
		.desc = "CR-01 CR-14: 32 octets counting down",
		.first = 0x1f, .step = 0xff, .len = 32,
		.field = { 0x5c, 0xdb, 0x3f, 0x11 },
	},
	{
		.desc = "CR-01 CR-14: an iSCSI Read command",
		.data = "\x01\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0\0\0\4\0"
			"\0\0\0\x14\0\0\0\x18\x28\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0",
		.len = 48,
		.field = { 0x56, 0x3a, 0x96, 0xd9 },
	},
	{
		.desc = "CR-14: no octets",
		.len = 0,
		.field = { 0, 0, 0, 0 },
	},
};

KUNIT_ARRAY_PARAM_DESC(crc_answer, crc_answers, desc);

static void crc_known_answer(struct kunit *test)
{
	const struct crc_answer *a = test->param_value;
	u8 data[64];
	__le32 field;
	u32 i;

	for (i = 0; i < a->len; i++)
		data[i] = a->data ? a->data[i] : a->first + i * a->step;
	field = mpa_crc_field(mpa_crc_update(MPA_CRC_INIT, data, a->len));
	KUNIT_EXPECT_MEMEQ(test, &field, a->field, sizeof(field));
}

struct crc_size {
	const char	*desc;
	u32		len;
};

/* around the sizes at which fast implementations switch methods */
static const struct crc_size crc_sizes[] = {
	{ "CR-14: 52 octets", 52 },
	{ "CR-14: 508 octets, from marker to marker", 508 },
	{ "CR-14: 512 octets", 512 },
	{ "CR-14: 1456 octets, an FPDU on Ethernet", 1456 },
	{ "CR-14: 3073 octets", 3073 },
	{ "CR-14: 8956 octets, an FPDU in a jumbo frame", 8956 },
	{ "CR-14: 65284 octets, the longest FPDU", 65284 },
};

KUNIT_ARRAY_PARAM_DESC(crc_size, crc_sizes, desc);

/* At every alignment; in one piece and cut in two, at up to 97 places */
static void crc_is_reference(struct kunit *test)
{
	const struct crc_size *s = test->param_value;
	u8 *data = kunit_kmalloc(test, s->len + 16, GFP_KERNEL);
	u32 seed = 20071005;
	u32 crc, want, from, at;

	KUNIT_ASSERT_NOT_NULL(test, data);
	for (at = 0; at < s->len + 16; at++)
		data[at] = mpa_ref_random(&seed);
	for (from = 0; from < 16; from++) {
		want = mpa_ref_crc(data + from, s->len);
		for (at = 0; at <= s->len; at += 1 + s->len / 97) {
			crc = mpa_crc_update(MPA_CRC_INIT, data + from, at);
			crc = mpa_crc_update(crc, data + from + at,
					     s->len - at);
			KUNIT_ASSERT_EQ_MSG(test, want,
					    le32_to_cpu(mpa_crc_field(crc)),
					    "from %u, cut at %u", from, at);
		}
	}
}

static struct kunit_case crc_cases[] = {
	KUNIT_CASE_PARAM(crc_known_answer, crc_answer_gen_params),
	KUNIT_CASE_PARAM(crc_is_reference, crc_size_gen_params),
	{}
};

static struct kunit_suite crc_suite = {
	.name = "mpa_crc",
	.test_cases = crc_cases,
};

kunit_test_suite(crc_suite);
