// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The CRC of an FPDU: CRC32c as iSCSI has it, RFC 5044 section 4.4. */
#include <linux/crc32c.h>
#include "mpa_fpdu.h"

/**
 * mpa_crc_update - Add octets to a CRC
 * @crc: state after the octets before, %MPA_CRC_INIT if there are none
 * @data: the octets
 * @len: number of octets
 *
 * Return: the new state, not yet inverted
 */
u32 mpa_crc_update(u32 crc, const void *data, size_t len)
{
	return crc32c(crc, data, len);
}
