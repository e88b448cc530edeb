// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Result lines that the samples share, one key=value per line. */
#include "mpa_show.h"

void mpa_show_u64(struct seq_file *seq, const char *name, u64 val)
{
	seq_printf(seq, "%s=%llu\n", name, val);
}

void mpa_show_pd(struct seq_file *seq, const u8 *pd, u32 len)
{
	u32 i;

	seq_puts(seq, "peer_pdata=");
	for (i = 0; i < len; i++)
		seq_printf(seq, "%02x", pd[i]);
	seq_putc(seq, '\n');
}

/* Revision in use; if none was agreed on, that of the peer's frame */
void mpa_show_revision(struct seq_file *seq, const struct mpa_info *info,
		       int peer_rev)
{
	int rev = info->rev == MPA_REV_NONE ? peer_rev : info->rev;

	if (rev == MPA_REV_NONE)
		seq_puts(seq, "revision=none\n");
	else
		seq_printf(seq, "revision=%d\n", rev);
}

void mpa_show_markers(struct seq_file *seq, const struct mpa_info *info)
{
	seq_printf(seq, "markers_tx=%d\n", info->markers_tx);
	seq_printf(seq, "markers_rx=%d\n", info->markers_rx);
}

void mpa_show_sizes(struct seq_file *seq, const struct mpa_info *info)
{
	mpa_show_u64(seq, "emss", info->emss);
	mpa_show_u64(seq, "mulpdu", info->mulpdu);
}

void mpa_show_ooo(struct seq_file *seq, const struct mpa_info *info)
{
	mpa_show_u64(seq, "ulpdus_ooo", info->ulpdus_ooo);
	mpa_show_u64(seq, "bytes_ooo", info->bytes_ooo);
	mpa_show_u64(seq, "ooo_suppressed", info->ooo_suppressed);
}

void mpa_show_addresses(struct seq_file *seq, const struct mpa_info *info)
{
	if (!info->peer.ss_family)
		return;
	seq_printf(seq, "local=%pISpc\n", &info->local);
	seq_printf(seq, "peer=%pISpc\n", &info->peer);
}
