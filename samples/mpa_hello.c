// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The smallest consumer of MPA: accepts connections on port 5045, says hello on
 * each, and logs how many ULPDUs it receives. README.md shows the code between
 * the two marks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/mpa.h>
#include <net/net_namespace.h>

static const struct mpa_ops hello_ops;

/* README: begin */
static int hello_start(struct socket *sock, struct mpa_tx *hello)
{
	struct mpa_params p = { .ops = &hello_ops, .ctx = hello };
	struct mpa_conn *conn = mpa_attach(sock, &p);

	if (!IS_ERR(conn) && mpa_start_responder(conn, NULL, 0))
		mpa_detach(conn);
	return PTR_ERR_OR_ZERO(conn);	/* 0: released() frees @hello */
}

static void hello_request(struct mpa_conn *conn, const struct mpa_startup *req)
{
	if (mpa_accept(conn, NULL, 0))
		mpa_detach(conn);	/* no timer runs in this state */
}

static void hello_begin(struct mpa_conn *conn, const struct mpa_startup *reply)
{
	/* Queued until the peer's first FPDU: we are the Responder. */
	mpa_send(conn, mpa_conn_ctx(conn));
	mpa_resume(conn);	/* from now on recv() is called */
}

static void hello_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	pr_info("%u ULPDUs, all before %llu is here\n", rx->nr, rx->delivered);
}

/* TCP has taken all of the message, or status says why not. */
static void hello_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct mpa_tx *hello = list_first_entry(done, struct mpa_tx, list);

	pr_info("hello is handed back: %d\n", hello->status);
}

static void hello_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	mpa_detach(conn);	/* gives the socket back in released() */
}

/* The last callback: the socket, and the messages not handed back, are ours. */
static void hello_released(struct mpa_conn *conn, struct list_head *left)
{
	sock_release(mpa_conn_socket(conn));
	kfree(mpa_conn_ctx(conn));	/* the message */
	module_put(THIS_MODULE); /* mpa_barrier() waits for the return */
}

static const struct mpa_ops hello_ops = {
	.request	= hello_request,
	.established	= hello_begin,
	.recv		= hello_recv,
	.sent		= hello_sent,
	.ended		= hello_ended,
	.released	= hello_released,
};

/* README: end */

/* Each connection holds a reference on the module until released(). */
static void hello_accepted(void *ctx, struct socket *sock)
{
	struct mpa_tx *hello;

	if (!try_module_get(THIS_MODULE)) {
		sock_release(sock);
		return;
	}
	hello = kzalloc(sizeof(*hello), GFP_KERNEL);
	if (hello) {
		hello->hdr = "hello";
		hello->hdr_len = 5;
		if (!hello_start(sock, hello))
			return;
	}
	kfree(hello);
	sock_release(sock);
	module_put(THIS_MODULE);
}

static struct mpa_listener *hello_listener;

static int __init hello_init(void)
{
	struct mpa_sock_params params = { .net = &init_net };
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.local;

	sin->sin_family = AF_INET;
	sin->sin_port = htons(5045);
	hello_listener = mpa_listen(&params, hello_accepted);
	return PTR_ERR_OR_ZERO(hello_listener);
}

static void __exit hello_exit(void)
{
	mpa_listen_close_sync(hello_listener);
	mpa_barrier();	/* until the last released() has returned */
}

module_init(hello_init);
module_exit(hello_exit);

MODULE_AUTHOR("the mpa project");
MODULE_VERSION("0.1");
MODULE_DESCRIPTION("The smallest MPA consumer");
MODULE_LICENSE("Dual BSD/GPL");
