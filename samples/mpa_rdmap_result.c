// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Result of a connection, and its text form. */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mpa_rdmap.h"
#include "mpa_show.h"

void rdmap_result_init(struct rdmap_result *res)
{
	*res = (struct rdmap_result) {
		.reason		= "ok",
		.info.rev	= MPA_REV_NONE,
		.peer_rev	= MPA_REV_NONE,
		.start		= ktime_get(),
	};
}

/* Copy the peer's frame; omits the private data if there is no memory. */
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

/* Make it the result that "result" shows; takes over the private data. */
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

	mpa_show_revision(seq, info, res->peer_rev);
	mpa_show_markers(seq, info);
	mpa_show_u64(seq, "ird", res->ird);
	mpa_show_u64(seq, "ord", res->ord);
	seq_printf(seq, "rtr=%s\n", rtr_name(res->rtr));
	mpa_show_sizes(seq, info);
	mpa_show_u64(seq, "ulpdus_tx", info->ulpdus_tx);
	mpa_show_u64(seq, "ulpdus_rx", info->ulpdus_rx);
}

static void show_count(struct seq_file *seq, const struct rdmap_count *count,
		       const char *way)
{
	seq_printf(seq, "messages_%s=%llu\n", way, count->messages);
	seq_printf(seq, "writes_%s=%llu\n", way, count->writes);
	seq_printf(seq, "reads_%s=%llu\n", way, count->reads);
	seq_printf(seq, "bytes_%s=%llu\n", way, count->octets);
}

static void show_term(struct seq_file *seq, const char *name, u32 err)
{
	if (!err)
		seq_printf(seq, "%s=none\n", name);
	else
		seq_printf(seq, "%s=%u/%u/%u\n", name, rdmap_err_layer(err),
			   rdmap_err_type(err), rdmap_err_code(err));
}

/* One key=value per line; scripts rely on the keys. */
void rdmap_result_show(struct seq_file *seq, const struct rdmap_result *res)
{
	mpa_show_u64(seq, "number", res->number);
	seq_printf(seq, "status=%d\n", res->status);
	seq_printf(seq, "reason=%s\n", res->reason);
	show_negotiated(seq, res);
	mpa_show_ooo(seq, &res->info);
	mpa_show_u64(seq, "placed_ooo", res->placed_ooo);
	mpa_show_u64(seq, "iterations", res->iterations);
	show_count(seq, &res->tx, "tx");
	show_count(seq, &res->rx, "rx");
	mpa_show_u64(seq, "mismatches", res->mismatches);
	show_term(seq, "terminate_tx", res->term_tx);
	show_term(seq, "terminate_rx", res->term_rx);
	seq_printf(seq, "terminate_swapped=%d\n", res->term_swapped);
	seq_printf(seq, "mpa_error=%d\n", res->mpa_error);
	mpa_show_pd(seq, res->pd, res->pd_len);
	mpa_show_u64(seq, "elapsed_ns", res->elapsed);
	mpa_show_addresses(seq, &res->info);
	/* deprecated keys, for scripts that read them */
	mpa_show_u64(seq, "octets_tx", res->tx.octets);
	mpa_show_u64(seq, "octets_rx", res->rx.octets);
	mpa_show_u64(seq, "octets_ooo", res->info.bytes_ooo);
	mpa_show_u64(seq, "placed_early", res->placed_ooo);
}
