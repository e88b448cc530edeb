// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* How a connection went, and its form as text. */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mpa_rdmap.h"

void rdmap_result_init(struct rdmap_result *res)
{
	*res = (struct rdmap_result) {
		.reason		= "ok",
		.info.rev	= MPA_REV_NONE,
		.peer_rev	= MPA_REV_NONE,
		.start		= ktime_get(),
	};
}

/* The peer's frame. Without memory for its private data there is none. */
void rdmap_result_peer(struct rdmap_result *res,
		       const struct mpa_startup *peer)
{
	res->peer_rev = peer->rev;
	if (peer->pd_len)
		res->pd = kvmemdup(peer->pd, peer->pd_len, GFP_KERNEL);
	res->pd_len = res->pd ? peer->pd_len : 0;
}

void rdmap_result_free(struct rdmap_result *res)
{
	if (!res)
		return;
	kvfree(res->pd);
	kfree(res);
}

/* From now on it is what "result" shows. The private data moves along. */
void rdmap_result_publish(struct rdmap_result *res, struct net *net,
			  enum rdmap_side side)
{
	struct rdmap_net *rn = rdmap_net(net);
	struct rdmap_result *copy;

	res->elapsed = ktime_to_ns(ktime_sub(ktime_get(), res->start));
	copy = kmemdup(res, sizeof(*res), GFP_KERNEL | __GFP_NOFAIL);
	res->pd = NULL;
	mutex_lock(&rn->lock);
	copy->number = ++rn->results[side];
	swap(rn->last[side], copy);
	mutex_unlock(&rn->lock);
	rdmap_result_free(copy);
}

static void show_u64(struct seq_file *seq, const char *name, u64 val)
{
	seq_printf(seq, "%s=%llu\n", name, val);
}

static void show_pd(struct seq_file *seq, const struct rdmap_result *res)
{
	u32 i;

	seq_puts(seq, "peer_pdata=");
	for (i = 0; i < res->pd_len; i++)
		seq_printf(seq, "%02x", res->pd[i]);
	seq_putc(seq, '\n');
}

static void show_revision(struct seq_file *seq, const struct rdmap_result *res)
{
	int rev = res->info.rev;

	if (rev == MPA_REV_NONE)
		rev = res->peer_rev;
	if (rev == MPA_REV_NONE)
		seq_puts(seq, "revision=none\n");
	else
		seq_printf(seq, "revision=%d\n", rev);
}

static const char *rtr_name(u8 rtr)
{
	switch (rtr) {
	case MPA_RTR_SEND:
		return "send";
	case MPA_RTR_WRITE:
		return "write";
	case MPA_RTR_READ:
		return "read";
	}
	return "none";
}

static void show_negotiated(struct seq_file *seq,
			    const struct rdmap_result *res)
{
	const struct mpa_info *info = &res->info;

	show_revision(seq, res);
	seq_printf(seq, "crc=%d\n", info->crc);
	seq_printf(seq, "markers_tx=%d\n", info->markers_tx);
	seq_printf(seq, "markers_rx=%d\n", info->markers_rx);
	show_u64(seq, "ird", res->ird);
	show_u64(seq, "ord", res->ord);
	seq_printf(seq, "rtr=%s\n", rtr_name(res->rtr));
	show_u64(seq, "emss", info->emss);
	show_u64(seq, "mulpdu", info->mulpdu);
	show_u64(seq, "ulpdus_tx", info->ulpdus_tx);
	show_u64(seq, "ulpdus_rx", info->ulpdus_rx);
}

static void show_early(struct seq_file *seq, const struct rdmap_result *res)
{
	const struct mpa_info *info = &res->info;

	show_u64(seq, "ulpdus_ooo", info->ulpdus_ooo);
	show_u64(seq, "octets_ooo", info->octets_ooo);
	show_u64(seq, "ooo_suppressed", info->ooo_suppressed);
	show_u64(seq, "placed_early", res->placed_early);
}

static void show_count(struct seq_file *seq, const struct rdmap_count *count,
		       const char *way)
{
	seq_printf(seq, "messages_%s=%llu\n", way, count->messages);
	seq_printf(seq, "writes_%s=%llu\n", way, count->writes);
	seq_printf(seq, "reads_%s=%llu\n", way, count->reads);
	seq_printf(seq, "octets_%s=%llu\n", way, count->octets);
}

static void show_term(struct seq_file *seq, const char *name, u32 err)
{
	if (!err)
		seq_printf(seq, "%s=none\n", name);
	else
		seq_printf(seq, "%s=%u/%u/%u\n", name, rdmap_err_layer(err),
			   rdmap_err_type(err), rdmap_err_code(err));
}

/* One key=value a line; scripts rely on the names. */
void rdmap_result_show(struct seq_file *seq, const struct rdmap_result *res)
{
	show_u64(seq, "number", res->number);
	seq_printf(seq, "status=%d\n", res->status);
	seq_printf(seq, "reason=%s\n", res->reason);
	show_negotiated(seq, res);
	show_early(seq, res);
	show_u64(seq, "iterations", res->iterations);
	show_count(seq, &res->tx, "tx");
	show_count(seq, &res->rx, "rx");
	show_u64(seq, "mismatches", res->mismatches);
	show_term(seq, "terminate_tx", res->term_tx);
	show_term(seq, "terminate_rx", res->term_rx);
	seq_printf(seq, "terminate_swapped=%d\n", res->term_swapped);
	seq_printf(seq, "mpa_error=%d\n", res->mpa_error);
	show_pd(seq, res);
	show_u64(seq, "elapsed_ns", res->elapsed);
	if (!res->info.peer.ss_family)
		return;
	seq_printf(seq, "local=%pISpc\n", &res->info.local);
	seq_printf(seq, "peer=%pISpc\n", &res->info.peer);
}
