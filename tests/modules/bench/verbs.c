// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP Send as transports of mpa_bench, by siw and by the RDMA device on MPA:
 *
 * siw-crc	with CRC, and FPDUs within the EMSS
 * siw-one	as siw-crc, but each Send is posted by itself and completed in a
 *		work queue, as most consumers do
 * siw-gso	with CRC, and FPDUs larger than the EMSS, which is not compliant
 *		(RFC 5044, section 5); needs a modified copy of siw
 * rnic		the device on MPA, as siw-crc
 * rnic-one	the same, as siw-one
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "verbs.h"

#define TRIES		64	/* to find two ports that are free */
#define FPDU_OVERHEAD	24	/* of a Send: length, DDP and RDMAP, CRC */

static u32 room(const struct verbs_conn *conn)
{
	const struct verbs_conn *peer = conn->end->peer->priv;
	u32 free = conn->nr_tx - (conn->posted - READ_ONCE(conn->sent));
	u32 ahead;

	if (!conn->queued || peer->left)
		return free;
	ahead = conn->posted - READ_ONCE(peer->received);
	return min(free, peer->nr_rx - ahead);
}

static int map_message(struct verbs_conn *conn, struct verbs_slot *slot)
{
	struct ib_device *dev = conn->id->device;
	const void *from = bench_message(conn->end);

	slot->sge.addr = ib_dma_map_single(dev, (void *)from, slot->sge.length,
					   DMA_TO_DEVICE);
	return ib_dma_mapping_error(dev, slot->sge.addr) ? -ENOMEM : 0;
}

static int post_list(struct verbs_conn *conn, u32 nr)
{
	struct ib_send_wr *next = NULL;
	struct verbs_slot *slot;
	u32 i;

	/* Backwards, as each points to the next one */
	for (i = nr; i--;) {
		slot = &conn->tx[(conn->posted + i) % conn->nr_tx];
		slot->next = conn->posted + i + 1;
		slot->send.next = next;
		next = &slot->send;
	}
	for (i = 0; i < nr; i++) {
		slot = &conn->tx[(conn->posted + i) % conn->nr_tx];
		if (map_message(conn, slot))
			return -ENOMEM;
	}
	conn->posted += nr;
	return ib_post_send(conn->id->qp, next, NULL);
}

static int verbs_post(struct bench_end *end, u32 nr)
{
	struct verbs_conn *conn = end->priv;
	int err = 0;
	u32 some;

	for (; !err && nr; nr -= some) {
		some = min(nr, conn->list);
		if (room(conn) < some &&
		    !bench_wait(end, room(conn) >= some))
			return -ESHUTDOWN;
		err = post_list(conn, some);
	}
	return err;
}

static void verbs_shut(struct bench_end *tx, struct bench_end *rx)
{
	struct verbs_conn *peer = rx->priv;

	WRITE_ONCE(peer->ending, true);
	verbs_disconnect(tx->priv);
}

static void verbs_close(struct bench_end *tx, struct bench_end *rx)
{
	verbs_sock_return(rx->priv);
	verbs_disconnect(rx->priv);
	verbs_conn_free(tx->priv);
	verbs_conn_free(rx->priv);
}

static int connect_ends(struct bench_end *tx, struct bench_end *rx)
{
	int err = verbs_connect(tx->priv, rx->priv);

	err = err ?: verbs_sock_find(tx->priv, bench_tx_net(tx->run));
	return err ?: verbs_sock_find(rx->priv, bench_rx_net(rx->run));
}

static int open_once(struct bench_end *tx, struct bench_end *rx, u32 list,
		     bool queued)
{
	int err;

	tx->priv = verbs_conn_alloc(tx, list, queued);
	rx->priv = verbs_conn_alloc(rx, list, queued);
	err = tx->priv && rx->priv ? connect_ends(tx, rx) : -ENOMEM;
	if (!err)
		return 0;
	if (rx->priv) {
		verbs_disconnect(rx->priv);
		verbs_conn_free(rx->priv);
	}
	if (tx->priv) {
		verbs_disconnect(tx->priv);
		verbs_conn_free(tx->priv);
	}
	return err;
}

/* RDMA CM takes ports without asking TCP whether they are free. */
static int open_ends(struct bench_end *tx, struct bench_end *rx, u32 list,
		     bool queued)
{
	int err, i = 0;

	do
		err = open_once(tx, rx, list, queued);
	while (err == -EADDRINUSE && ++i < TRIES);
	return err;
}

static int verbs_open(struct bench_end *tx, struct bench_end *rx)
{
	return open_ends(tx, rx, VERBS_LIST, false);
}

static int verbs_open_one(struct bench_end *tx, struct bench_end *rx)
{
	return open_ends(tx, rx, 1, true);
}

static int verbs_sink(struct bench_end *rx)
{
	return verbs_sock_leave(rx->priv);
}

/*
 * They do not count FPDUs. But each adds the same number of octets to those of
 * its message, which is padded in its last FPDU only.
 */
static u64 verbs_fpdus(struct bench_end *tx)
{
	struct verbs_conn *conn = tx->priv;
	u32 octets = tcp_sk(tx->sock->sk)->write_seq - conn->start;
	u32 payload = conn->posted * ALIGN(bench_size(tx->run), 4);

	return (octets - payload) / FPDU_OVERHEAD;
}

#define VERBS_TRANSPORT(_name, _open)					\
{									\
	.name	= _name,						\
	.owner	= THIS_MODULE,						\
	.open	= _open,						\
	.post	= verbs_post,						\
	.sink	= verbs_sink,						\
	.shut	= verbs_shut,						\
	.close	= verbs_close,						\
	.fpdus	= verbs_fpdus,						\
}

static struct bench_transport transports[] = {
	VERBS_TRANSPORT("siw-crc", verbs_open),
	VERBS_TRANSPORT("siw-one", verbs_open_one),
	VERBS_TRANSPORT("siw-gso", verbs_open),
	VERBS_TRANSPORT("rnic", verbs_open),
	VERBS_TRANSPORT("rnic-one", verbs_open_one),
};

static int __init verbs_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		bench_transport_register(&transports[i]);
	return 0;
}

static void __exit verbs_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		bench_transport_unregister(&transports[i]);
}

module_init(verbs_init);
module_exit(verbs_exit);

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("RDMAP Send by verbs, to be measured by mpa_bench");
