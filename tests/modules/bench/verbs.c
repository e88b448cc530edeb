// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP as transports of mpa_bench, by siw and by the RDMA device on MPA:
 *
 * siw-crc	with CRC, and FPDUs within the EMSS
 * siw-one	as siw-crc, but each Send is posted by itself and completed in a
 *		work queue, as most consumers do
 * siw-gso	with CRC, and FPDUs larger than the EMSS, which is not compliant
 *		(RFC 5044, section 5); needs a modified copy of siw
 * siw-gso-pages
 *		the same, but only each 64th Send is signalled: siw sends the
 *		others from their pages, if they are as long as a page
 * siw-write	with CRC: an RDMA Write for each message, and a Send without
 *		octets, by which the receiver knows that it is there
 * siw-read	with CRC: an RDMA Read for each message, posted at the receiver.
 *		A real consumer would first be sent where to read
 * rnic		the device on MPA, as siw-crc
 * rnic-one	the same, as siw-one
 * rnic-write	the same, as siw-write
 * rnic-read	the same, as siw-read
 *
 * Remote memory is all of the kernel's: what it costs to register memory, and
 * to look pages up, is not measured.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "verbs.h"

#define TRIES		64	/* to find two ports that are free */
/* Octets of an FPDU beside the payload: length, DDP and RDMAP, CRC */
#define SEND_OVERHEAD	24
#define TAGGED_OVERHEAD	20	/* of an RDMA Write or Read Response */

/**
 * struct verbs_transport - a transport
 * @bench: for mpa_bench
 * @mode: how it uses verbs
 */
struct verbs_transport {
	struct bench_transport	bench;
	struct verbs_mode	mode;
};

static u32 room(const struct verbs_conn *conn)
{
	const struct verbs_conn *peer = conn->end->peer->priv;
	u32 free = conn->nr_tx - (conn->posted - READ_ONCE(conn->sent));
	u32 ahead;

	if (!conn->mode->queued || peer->left)
		return free;
	ahead = conn->posted - READ_ONCE(peer->received);
	return min(free, peer->nr_rx - ahead);
}

/* Where the message is at the end that the other one writes to or reads from */
static u64 remote(struct verbs_conn *conn, const void *at)
{
	struct ib_device *dev = conn->id->device;

	return ib_dma_map_single(dev, (void *)at, conn->end->run->opts.size,
				 DMA_BIDIRECTIONAL);
}

static u8 *ring_at(const struct verbs_conn *conn, u64 nr)
{
	return conn->end->ring + nr % conn->nr_rx * conn->end->run->opts.size;
}

/* Name the memory of message @nr, which is posted at @conn. */
static int map_message(struct verbs_conn *conn, struct verbs_slot *slot, u64 nr)
{
	struct verbs_conn *peer = conn->end->peer->priv;
	struct ib_device *dev = conn->id->device;
	bool read = conn->mode->op == VERBS_READ;
	const void *from = bench_message(read ? peer->end : conn->end);
	const void *local = read ? ring_at(conn, nr) : from;

	slot->sge.addr = ib_dma_map_single(dev, (void *)local, slot->sge.length,
					   read ? DMA_FROM_DEVICE :
						  DMA_TO_DEVICE);
	if (read)
		slot->send.remote_addr = remote(peer, from);
	else if (conn->mode->op == VERBS_WRITE)
		slot->send.remote_addr = remote(peer, ring_at(peer, nr));
	slot->send.rkey = peer->pd->unsafe_global_rkey;
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
		slot->tell.next = next;
		slot->send.wr.next = conn->mode->op == VERBS_WRITE ?
				     &slot->tell : next;
		next = &slot->send.wr;
	}
	for (i = 0; i < nr; i++) {
		slot = &conn->tx[(conn->posted + i) % conn->nr_tx];
		if (map_message(conn, slot, conn->posted + i))
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

	if (conn->mode->op == VERBS_READ)
		conn = end->peer->priv;
	for (; !err && nr; nr -= some) {
		some = min(nr, conn->mode->list);
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

	err = err ?: verbs_sock_find(tx->priv, tx->run->tx_net);
	return err ?: verbs_sock_find(rx->priv, rx->run->rx_net);
}

static int open_once(struct bench_end *tx, struct bench_end *rx,
		     const struct verbs_mode *mode)
{
	int err = -ENOMEM;

	tx->priv = verbs_conn_alloc(tx, mode);
	rx->priv = verbs_conn_alloc(rx, mode);
	if (!tx->priv || !rx->priv)
		goto free;
	err = connect_ends(tx, rx);
	if (!err)
		return 0;
	verbs_shut(rx, tx);
	verbs_disconnect(tx->priv);
free:
	if (rx->priv)
		verbs_conn_free(rx->priv);
	if (tx->priv)
		verbs_conn_free(tx->priv);
	return err;
}

/* RDMA CM takes ports without asking TCP whether they are free. */
static int verbs_open(struct bench_end *tx, struct bench_end *rx)
{
	const struct verbs_mode *mode;
	int err, i = 0;

	mode = &container_of(tx->run->transport, struct verbs_transport,
			     bench)->mode;
	do
		err = open_once(tx, rx, mode);
	while (err == -EADDRINUSE && ++i < TRIES);
	return err;
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
	u32 size = ALIGN(tx->run->opts.size, 4);

	switch (conn->mode->op) {
	case VERBS_SEND:
		return (octets - conn->posted * size) / SEND_OVERHEAD;
	case VERBS_WRITE:
		octets -= conn->posted * (size + SEND_OVERHEAD);
		return octets / TAGGED_OVERHEAD + conn->posted;
	default:
		conn = tx->peer->priv;
		return (octets - conn->posted * size) / TAGGED_OVERHEAD;
	}
}

#define VERBS_TRANSPORT(_name, ...)					\
{									\
	.bench	= {							\
		.name	= _name,					\
		.owner	= THIS_MODULE,					\
		.open	= verbs_open,					\
		.post	= verbs_post,					\
		.sink	= verbs_sink,					\
		.shut	= verbs_shut,					\
		.close	= verbs_close,					\
		.fpdus	= verbs_fpdus,					\
	},								\
	.mode	= { __VA_ARGS__ },					\
}

#define READS	(VERBS_DEPTH / VERBS_LISTS)

static struct verbs_transport transports[] = {
	VERBS_TRANSPORT("siw-crc", VERBS_SEND, VERBS_LIST),
	VERBS_TRANSPORT("siw-one", VERBS_SEND, 1, .queued = true),
	VERBS_TRANSPORT("siw-gso", VERBS_SEND, VERBS_LIST),
	VERBS_TRANSPORT("siw-gso-pages", VERBS_SEND, VERBS_LIST, .pages = true),
	VERBS_TRANSPORT("siw-write", VERBS_WRITE, VERBS_LIST),
	VERBS_TRANSPORT("siw-read", VERBS_READ, READS),
	VERBS_TRANSPORT("rnic", VERBS_SEND, VERBS_LIST),
	VERBS_TRANSPORT("rnic-one", VERBS_SEND, 1, .queued = true),
	VERBS_TRANSPORT("rnic-write", VERBS_WRITE, VERBS_LIST),
	VERBS_TRANSPORT("rnic-read", VERBS_READ, READS),
};

static int __init verbs_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		bench_transport_register(&transports[i].bench);
	return 0;
}

static void __exit verbs_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		bench_transport_unregister(&transports[i].bench);
}

module_init(verbs_init);
module_exit(verbs_exit);

MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("RDMAP by verbs, to be measured by mpa_bench");
