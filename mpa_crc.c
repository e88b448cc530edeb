// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The CRC of an FPDU: CRC32c as iSCSI has it, RFC 5044 section 4.4. */
#include "mpa_compat.h"
#include "mpa_fpdu.h"

struct mpa_crc32c mpa_crc;

/* Called once, before the other functions. */
int mpa_crc_init(void)
{
	return mpa_crc32c_init(&mpa_crc);
}

void mpa_crc_exit(void)
{
	mpa_crc32c_exit(&mpa_crc);
}
