// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The smallest consumer of MPA: takes connections on port 5045, says hello on
 * each, and names what it receives in the log. The part between the marks is
 * shown in the README.
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
	struct mpa_params params = {
		.ops = &hello_ops, .ctx = hello, .rev = MPA_REV_1,
	};
	struct mpa_conn *conn = mpa_attach(sock, &params);

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	if (mpa_start_responder(conn, NULL, 0))
		mpa_detach(conn);
	return 0;
}

static void hello_request(struct mpa_conn *conn, const struct mpa_startup *req)
{
	mpa_accept(conn, NULL, 0);
}

static void hello_established(struct mpa_conn *conn,
			      const struct mpa_startup *reply)
{
	mpa_send(conn, mpa_conn_ctx(conn));
	mpa_resume(conn);	/* from now on recv() is called */
}

static void hello_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	for (unsigned int i = 0; i < rx->nr; i++)
		pr_info("ULPDU of %u octets, the first is %#x\n",
			rx->ulpdu[i].len, *(u8 *)rx->ulpdu[i].frag->iov_base);
}

static void hello_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	pr_info("ended: %s\n", mpa_reason_name(end->reason));
	mpa_detach(conn);
}

static void hello_released(struct mpa_conn *conn, struct list_head *left)
{
	sock_release(mpa_conn_socket(conn));
	kfree(mpa_conn_ctx(conn));
	module_put(THIS_MODULE);
}

/* README: end */

/* The message is freed with the connection. */
static void hello_sent(struct mpa_conn *conn, struct list_head *done)
{
}

static const struct mpa_ops hello_ops = {
	.request	= hello_request,
	.established	= hello_established,
	.recv		= hello_recv,
	.sent		= hello_sent,
	.ended		= hello_ended,
	.released	= hello_released,
};

/* Each connection holds the module, until released(). */
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
	mpa_barrier();	/* the last released() has returned */
}

module_init(hello_init);
module_exit(hello_exit);

MODULE_DESCRIPTION("The smallest MPA consumer");
MODULE_LICENSE("Dual BSD/GPL");
