// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Putting MPA on a consumer's socket, and waiting until it has left. */
#include <linux/module.h>
#include "mpa_conn.h"

bool mpa_params_ok(const struct mpa_params *params)
{
	const struct mpa_ops *ops = params->ops;

	if (!ops || !ops->recv || !ops->ended || !ops->released ||
	    params->rev > MPA_REV_2)
		return false;
	if (params->flags & MPA_F_REV0 && params->rev)
		return false;
	if (params->flags & MPA_F_ENHANCED &&
	    (params->rev < MPA_REV_2 ||
	     !mpa_enhanced_ok(&params->enhanced, params->ird_max)))
		return false;
	return !(params->flags & ~(MPA_F_MARKERS | MPA_F_STRICT |
				   MPA_F_MEMALLOC | MPA_F_ENHANCED |
				   MPA_F_OOO | MPA_F_REV0));
}

/**
 * mpa_attach() - put MPA on a connected TCP socket
 * @sock: the consumer's socket, in ESTABLISHED or CLOSE_WAIT
 * @params: what the consumer asks of the connection
 *
 * Replaces the callbacks of the socket and takes its sk_user_data. Nothing is
 * read or sent before the start, that is, mpa_start_initiator(),
 * mpa_start_responder() or mpa_start_immediate(), of which the consumer calls
 * one (CS-11). The first octet unread at the start is MPA's first (RFC 5044
 * section 7.1). The previous sk_data_ready() is called until the start, the
 * other previous callbacks until released(), with BH off, and these under the
 * read side of sk_callback_lock. sk_user_data is MPA's: a consumer whose
 * callbacks use it restores TCP's before it attaches. From the start until
 * released() TCP_NODELAY and SO_OOBINLINE are set, TCP_CORK is not set, and
 * SO_RCVLOWAT is 1, whatever they were before. IP_RECVERR and IPV6_RECVERR
 * should not be set: with them TCP reports ICMP errors that it would survive,
 * and the first one ends the connection. SO_TIMESTAMPING must not ask for
 * stamps of what is sent: MPA leaves them unread, and they fill the receive
 * buffer until the window stays closed.
 *
 * The socket stays the consumer's, but must be neither closed nor used before
 * released(), when it has its callbacks back; only sk_set_memalloc(),
 * sk_clear_memalloc() and sk_allocation may change what memory it takes, under
 * the socket lock: MPA sets flags of the socket, too. In released() the value
 * of sk_allocation is that before the attach. Until released(), or until TCP
 * closes, its upper layer protocol (TCP_ULP) is "mpa", and no other can be set.
 * If it has a file, it keeps "mpa" until it is closed, and can be attached
 * again. If the socket holds no reference on its namespace, it must be attached
 * and started before the namespace goes away, which ends the connection,
 * started or not.
 *
 * Context: process, may sleep; takes the socket lock.
 * Return: the connection, or an ERR_PTR():
 * %-EINVAL: callbacks missing, unknown flags or revision, %MPA_F_REV0 with a
 * revision, or enhanced startup with a revision other than 2 or with values
 * that do not exist;
 * %-EPROTOTYPE: not a TCP socket;
 * %-ENOTCONN: not connected, or in SYN_RECV: with TCP Fast Open accept() may
 * return such a socket, while its handshake is not over;
 * %-EBUSY: the socket has another owner (sk_user_data, or a ULP);
 * %-ENETDOWN: the namespace is going away;
 * %-ENOMEM
 */
struct mpa_conn *mpa_attach(struct socket *sock,
			    const struct mpa_params *params)
{
	struct mpa_conn *conn;
	int err;

	if (!mpa_params_ok(params))
		return ERR_PTR(-EINVAL);
	conn = mpa_conn_alloc(sock, params);
	if (!conn)
		return ERR_PTR(-ENOMEM);

	INIT_WORK(&conn->work, mpa_loop_work);
	conn->mn = mpa_net(sock_net(sock->sk));
	err = mpa_sk_on(conn);
	if (!err)
		return conn;
	mpa_conn_put(conn);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(mpa_attach);

/**
 * mpa_conn_ctx() - the consumer's context
 * @conn: connection
 *
 * RFC 5044 has no counterpart.
 *
 * Context: any.
 * Return: &mpa_params.ctx
 */
void *mpa_conn_ctx(const struct mpa_conn *conn)
{
	return conn->ctx;
}
EXPORT_SYMBOL_GPL(mpa_conn_ctx);

/**
 * mpa_conn_socket() - the consumer's socket
 * @conn: connection
 *
 * RFC 5044 has no counterpart.
 *
 * Context: any.
 * Return: the socket given to mpa_attach(); the consumer closes it, in or after
 * released()
 */
struct socket *mpa_conn_socket(const struct mpa_conn *conn)
{
	return conn->sock;
}
EXPORT_SYMBOL_GPL(mpa_conn_socket);

/**
 * mpa_detach_sync() - take MPA off the socket and wait for it
 * @conn: connection for which released() has not been called yet
 *
 * As mpa_detach() (RFC 5044 A.1); returns after released() has returned.
 *
 * Context: process, sleeps; no lock may be held that a callback takes. Must not
 * be called from a callback of any connection, nor from done() or accepted(): a
 * callback of this connection would wait for its own task, which calls
 * released() after it; one of another keeps a worker that released() may need.
 * Only in a callback of this connection, or in the work item of another, is
 * that detected: it warns, and detaches without waiting.
 * Return: 0, or %-EDEADLK: called from a callback of a connection
 */
int mpa_detach_sync(struct mpa_conn *conn)
{
	const struct work_struct *work = current_work();

	might_sleep();

	if (WARN_ON_ONCE(mpa_conn_is_runner(conn) ||
			 (work && mpa_loop_is_work(work)))) {
		mpa_detach(conn);
		return -EDEADLK;
	}
	mpa_conn_get(conn);
	mpa_detach(conn);
	wait_for_completion(&conn->done);
	mpa_conn_put(conn);
	return 0;
}
EXPORT_SYMBOL_GPL(mpa_detach_sync);
