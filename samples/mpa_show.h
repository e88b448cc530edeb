/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Result lines that the samples share. */
#ifndef _MPA_SHOW_H
#define _MPA_SHOW_H

#include <linux/seq_file.h>
#include <linux/types.h>
#include <net/mpa.h>

void mpa_show_u64(struct seq_file *seq, const char *name, u64 val);
void mpa_show_pd(struct seq_file *seq, const u8 *pd, u32 len);
void mpa_show_revision(struct seq_file *seq, const struct mpa_info *info,
		       int peer_rev);
void mpa_show_markers(struct seq_file *seq, const struct mpa_info *info);
void mpa_show_sizes(struct seq_file *seq, const struct mpa_info *info);
void mpa_show_ooo(struct seq_file *seq, const struct mpa_info *info);
void mpa_show_addresses(struct seq_file *seq, const struct mpa_info *info);

#endif /* _MPA_SHOW_H */
