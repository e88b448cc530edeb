// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Result of a connection, and its text form. */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mpa_ping.h"

void ping_result_init(struct ping_result *res)
{
	*res = (struct ping_result) {
		.reason		= "ok",
		.info.rev	= MPA_REV_NONE,
		.peer_rev	= MPA_REV_NONE,
		.start		= ktime_get(),
	};
}

/* Copy the peer's frame; omits the private data if there is no memory. */
void ping_result_peer(struct ping_result *res, const struct mpa_startup *peer)
{
	res->peer_rev = peer->rev;
	if (peer->enhanced)
		res->peer = *peer->enhanced;
	if (peer->pd_len)
		res->pd = kvmemdup(peer->pd, peer->pd_len, GFP_KERNEL);
	res->pd_len = res->pd ? peer->pd_len : 0;
}

/* Only the first failure is recorded. */
void ping_result_fail(struct ping_result *res, int status, const char *reason)
{
	if (res->status)
		return;
	res->status = status;
	res->reason = reason;
}

static const char *end_reason(const struct mpa_end *end)
{
	switch (end->reason) {
	case MPA_REASON_FIN:
	case MPA_REASON_TRUNCATED:
	case MPA_REASON_ABORTED:
		return "closed";
	case MPA_REASON_TIMEOUT:
		return "timeout";
	case MPA_REASON_RESET:
		return end->err == -ETIMEDOUT ? "timeout" : "reset";
	default:
		break;
	}
	switch (end->error) {
	case MPA_ERR_CRC:
		return "crc";
	case MPA_ERR_MARKER:
		return "marker";
	case MPA_ERR_FRAME:
	case MPA_ERR_LOCAL:
	case MPA_ERR_IRD:
	case MPA_ERR_RTR:
		return "frame";
	case MPA_ERR_NONE:
	case MPA_ERR_TCP:
		break;
	}
	return "closed";
}

/* Record an end of the connection that was not expected. */
void ping_result_end(struct ping_result *res, const struct mpa_end *end)
{
	res->mpa_error = end->error;
	ping_result_fail(res, end->err ?: -ECONNABORTED, end_reason(end));
}

void ping_result_rtt(struct ping_result *res, u64 ns)
{
	if (!res->rtts++ || ns < res->rtt_min)
		res->rtt_min = ns;
	if (ns > res->rtt_max)
		res->rtt_max = ns;
	res->rtt_sum += ns;
}

void ping_result_free(struct ping_result *res)
{
	if (!res)
		return;
	kvfree(res->pd);
	kfree(res);
}

/* Make it the last result of its namespace; takes over the private data. */
void ping_result_publish(struct ping_result *res, struct net *net,
			 enum ping_side side)
{
	struct ping_net *pn = ping_net(net);
	struct ping_result *copy;

	if (!res->elapsed)
		res->elapsed = ktime_to_ns(ktime_sub(ktime_get(), res->start));
	copy = kmemdup(res, sizeof(*res), GFP_KERNEL | __GFP_NOFAIL);
	res->pd = NULL;
	mutex_lock(&pn->lock);
	swap(pn->last[side], copy);
	mutex_unlock(&pn->lock);
	ping_result_free(copy);
}

static void show_u64(struct seq_file *seq, const char *name, u64 val)
{
	seq_printf(seq, "%s=%llu\n", name, val);
}

static void show_pd(struct seq_file *seq, const struct ping_result *res)
{
	u32 i;

	seq_puts(seq, "peer_pdata=");
	for (i = 0; i < res->pd_len; i++)
		seq_printf(seq, "%02x", res->pd[i]);
	seq_putc(seq, '\n');
}

/* Revision in use; if none was agreed on, that of the peer's frame */
static void show_revision(struct seq_file *seq, const struct ping_result *res)
{
	int rev = res->info.rev == MPA_REV_NONE ? res->peer_rev : res->info.rev;

	if (rev == MPA_REV_NONE)
		seq_puts(seq, "revision=none\n");
	else
		seq_printf(seq, "revision=%d\n", rev);
}

static void show_kinds(struct seq_file *seq, const char *name, u8 rtr)
{
	static const char * const kinds[] = { "send", "write", "read" };
	const char *sep = "";
	int i;

	seq_printf(seq, "%s=", name);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!(rtr & BIT(i)))
			continue;
		seq_printf(seq, "%s%s", sep, kinds[i]);
		sep = ",";
	}
	seq_puts(seq, rtr ? "\n" : "none\n");
}

static void show_enhanced(struct seq_file *seq, const struct ping_result *res)
{
	const struct mpa_info *info = &res->info;
	const struct mpa_enhanced *peer = info->enhanced ? &info->theirs :
							   &res->peer;

	seq_printf(seq, "enhanced=%d\n", info->enhanced);
	seq_printf(seq, "ird=%u\n", info->ird);
	seq_printf(seq, "ord=%u\n", info->ord);
	show_kinds(seq, "rtr", info->rtr);
	seq_printf(seq, "peer_ird=%u\n", peer->ird);
	seq_printf(seq, "peer_ord=%u\n", peer->ord);
	show_kinds(seq, "peer_rtr", peer->rtr);
}

/* One key=value per line; scripts rely on the keys. */
void ping_result_show(struct seq_file *seq, const struct ping_result *res)
{
	const struct mpa_info *info = &res->info;

	seq_printf(seq, "status=%d\n", res->status);
	seq_printf(seq, "reason=%s\n", res->reason);
	show_revision(seq, res);
	seq_printf(seq, "markers_tx=%d\n", info->markers_tx);
	seq_printf(seq, "markers_rx=%d\n", info->markers_rx);
	show_u64(seq, "emss", info->emss);
	show_u64(seq, "mulpdu", info->mulpdu);
	show_u64(seq, "ulpdus_tx", res->ulpdus_tx);
	show_u64(seq, "ulpdus_rx", res->ulpdus_rx);
	show_u64(seq, "bytes_tx", res->bytes_tx);
	show_u64(seq, "bytes_rx", res->bytes_rx);
	show_u64(seq, "mismatches", res->mismatches);
	seq_printf(seq, "mpa_error=%d\n", res->mpa_error);
	show_pd(seq, res);
	show_u64(seq, "rtt_min_ns", res->rtt_min);
	show_u64(seq, "rtt_avg_ns",
		 res->rtts ? div64_u64(res->rtt_sum, res->rtts) : 0);
	show_u64(seq, "rtt_max_ns", res->rtt_max);
	show_u64(seq, "elapsed_ns", res->elapsed);
	show_u64(seq, "mulpdu_changes", res->mulpdu_changes);
	if (info->peer.ss_family) {
		seq_printf(seq, "local=%pISpc\n", &info->local);
		seq_printf(seq, "peer=%pISpc\n", &info->peer);
	}
	show_enhanced(seq, res);
	show_u64(seq, "ulpdus_ooo", info->ulpdus_ooo);
	show_u64(seq, "bytes_ooo", info->octets_ooo);
	show_u64(seq, "ooo_suppressed", info->ooo_suppressed);
}
