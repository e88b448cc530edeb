/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * FPDUs by the letter of RFC 5044, octet by octet: the reference for the
 * module. Shares no code, constant or formula with it.
 */
#ifndef _MPA_REF_H
#define _MPA_REF_H

#include <linux/types.h>

/* Results of mpa_ref_decode(); values from 2 on are error codes of section 8 */
enum mpa_ref_verdict {
	MPA_REF_GOOD	= 0,
	MPA_REF_MORE	= 1,
	MPA_REF_CRC	= 2,
	MPA_REF_MARKER	= 3,
};

u32 mpa_ref_crc(const u8 *data, size_t len);
void mpa_ref_fix_crc(u8 *fpdu, u32 size);
u32 mpa_ref_head(u64 pos, bool markers);
bool mpa_ref_length_ok(u32 len);
u32 mpa_ref_size(u64 pos, u32 len, bool markers);
u32 mpa_ref_encode(u8 *to, u64 pos, const u8 *ulpdu, u32 len, bool markers,
		   bool crc);
enum mpa_ref_verdict mpa_ref_decode(const u8 *from, u32 have, u64 pos,
				    bool markers, bool crc, u8 *ulpdu,
				    u32 *len, u32 *size);
enum mpa_ref_verdict mpa_ref_decode_drafts(const u8 *from, u32 have, u64 pos,
					   bool markers, bool crc, u8 *ulpdu,
					   u32 *len, u32 *size);
void mpa_ref_pattern(u8 *to, u32 len, u32 first);
u32 mpa_ref_unhex(u8 *to, const char *const *lines);
u32 mpa_ref_random(u32 *state);

#endif /* _MPA_REF_H */
