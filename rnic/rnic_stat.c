// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What "rdma statistic" and "rdma resource show -dd" tell about a device. */
#include <linux/errno.h>
#include <linux/percpu.h>
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include <uapi/rdma/rdma_netlink.h>

#include "rnic.h"

static const struct rdma_stat_desc descs[RNIC_STATS] = {
	[RNIC_STAT_CONNECTED].name	= "connected",
	[RNIC_STAT_TX_SEND].name	= "tx_send",
	[RNIC_STAT_TX_WRITE].name	= "tx_write",
	[RNIC_STAT_TX_READ].name	= "tx_read",
	[RNIC_STAT_TX_TERMINATE].name	= "tx_terminate",
	[RNIC_STAT_RX_SEND].name	= "rx_send",
	[RNIC_STAT_RX_WRITE].name	= "rx_write",
	[RNIC_STAT_RX_READ].name	= "rx_read",
	[RNIC_STAT_RX_TERMINATE].name	= "rx_terminate",
	[RNIC_STAT_RX_AHEAD].name	= "rx_ahead",
	[RNIC_STAT_CQ_OVERRUN].name	= "cq_overrun",
};

struct rdma_hw_stats *rnic_alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, RNIC_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int rnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	struct rnic_dev *dev = to_rnic(ib);
	int cpu, i;

	if (!port || !stats)
		return -EINVAL;
	memset(stats->value, 0, RNIC_STATS * sizeof(*stats->value));
	for_each_possible_cpu(cpu)
		for (i = 0; i < RNIC_STATS; i++)
			stats->value[i] += READ_ONCE(per_cpu_ptr(dev->stats,
								 cpu)->n[i]);
	return RNIC_STATS;
}

static int put_u32s(struct sk_buff *msg, const char *const *names,
		    const u32 *values, int nr)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < nr; i++)
		if (rdma_nl_put_driver_u32(msg, names[i], values[i])) {
			nla_nest_cancel(msg, nest);
			return -EMSGSIZE;
		}
	nla_nest_end(msg, nest);
	return 0;
}

int rnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib)
{
	static const char *const names[] = {
		"sq_size", "rq_size", "ird", "ord"
	};
	const struct rnic_qp *qp = to_qp(ib);
	const u32 values[] = { qp->sq.q.size, qp->rq.size, qp->ird, qp->ord };

	return put_u32s(msg, names, values, ARRAY_SIZE(values));
}

int rnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib)
{
	static const char *const names[] = { "size", "put", "overrun" };
	const struct rnic_cq *cq = to_cq(ib);
	const u32 values[] = { cq->size, cq->put, cq->overrun };

	return put_u32s(msg, names, values, ARRAY_SIZE(values));
}

int rnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib)
{
	static const char *const names[] = { "access", "users", "blocks" };
	const struct rnic_mr *mr = to_mr(ib);
	const u32 values[] = { mr->access, atomic_read(&mr->users),
			       mr->nr_blocks };

	return put_u32s(msg, names, values, ARRAY_SIZE(values));
}
