// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* How long a ULPDU may be: in some room, and the MULPDU. RFC 5044 section 4. */
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include "mpa_fpdu.h"
#include "mpa_wire.h"

/**
 * mpa_fpdu_fill - The longest ULPDU for some room
 * @pos: stream position where its FPDU begins, a multiple of four
 * @room: octets the FPDU may take
 * @markers: markers are in use
 *
 * Return: octets of the ULPDU, at most %MPA_ULPDU_MAX; 0 when not even one
 *	octet fits
 */
u32 mpa_fpdu_fill(u64 pos, u32 room, bool markers)
{
	u32 dist = mpa_marker_distance(pos);

	room = ALIGN_DOWN(min_t(u32, room, MPA_FPDU_MAX), MPA_ALIGN);
	if (markers && room > dist)
		room -= MPA_MARKER_SIZE *
			DIV_ROUND_UP(room - dist, MPA_MARKER_INTERVAL);
	if (room <= MPA_OVERHEAD)
		return 0;
	return min_t(u32, room - MPA_OVERHEAD, MPA_ULPDU_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_fill);

/**
 * mpa_mulpdu_of - MULPDU by the formulas of section 4.5 (SZ-08, SZ-09)
 * @emss: effective maximum segment size
 * @markers: allow for the worst number of markers
 *
 * Return: octets, %MPA_MULPDU_MIN to %MPA_MULPDU_MAX
 */
u32 mpa_mulpdu_of(u32 emss, bool markers)
{
	u32 over;

	/*
	 * With twice MPA_MULPDU_MAX the result is MPA_MULPDU_MAX whatever @over
	 * is; near U32_MAX, DIV_ROUND_UP() would overflow.
	 */
	emss = min_t(u32, emss, 2 * MPA_MULPDU_MAX);
	over = MPA_OVERHEAD + emss % MPA_ALIGN;
	if (markers)
		over += MPA_MARKER_SIZE *
			DIV_ROUND_UP(emss, MPA_MARKER_INTERVAL);
	if (emss < over + MPA_MULPDU_MIN)
		return MPA_MULPDU_MIN;
	return min_t(u32, emss - over, MPA_MULPDU_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_mulpdu_of);
