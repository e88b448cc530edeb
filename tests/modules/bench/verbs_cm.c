// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connects two ends through the connection manager of RDMA. */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <net/net_namespace.h>

#include "verbs.h"

#define TIMEOUT_MS	10000

static void step_done(struct verbs_conn *conn, int status)
{
	conn->status = status;
	complete(&conn->step);
}

/* Handle an event of a connection */
static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct verbs_conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		step_done(conn, 0);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		verbs_conn_fail(conn, -ECONNRESET);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		step_done(conn, event->status < 0 ? event->status :
						    -ECONNREFUSED);
	}
	return 0;
}

/* siw has no limit of its own. */
static struct rdma_conn_param conn_param(void)
{
	return (struct rdma_conn_param) {
		.initiator_depth	= VERBS_DEPTH,
		.responder_resources	= VERBS_DEPTH,
	};
}

/* The one connection that is asked for; a second one is refused. */
static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = conn_param();
	struct verbs_conn *conn = id->context;
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST || conn->id)
		return -ECONNREFUSED;
	conn->id = id;
	id->event_handler = conn_event;
	err = verbs_conn_open(conn);
	err = err ?: rdma_accept(id, &param);
	if (err)
		step_done(conn, err);
	/* It is freed with its end. */
	return 0;
}

static int wait_step(struct verbs_conn *conn)
{
	unsigned long left;

	left = wait_for_completion_timeout(&conn->step,
					   msecs_to_jiffies(TIMEOUT_MS));
	return left ? conn->status : -ETIMEDOUT;
}

/*
 * siw creates its sockets in the namespace of the caller: switch to it for a
 * moment. Returns the namespaces to switch back to.
 */
static struct nsproxy *enter(struct nsproxy *space, struct net *net)
{
	struct nsproxy *own = current->nsproxy;

	*space = *own;
	space->net_ns = net;
	task_lock(current);
	current->nsproxy = space;
	task_unlock(current);
	return own;
}

static void leave(struct nsproxy *own)
{
	task_lock(current);
	current->nsproxy = own;
	task_unlock(current);
}

static int listen_in(struct net *net, struct rdma_cm_id *id)
{
	struct nsproxy space, *own = enter(&space, net);
	int err = rdma_listen(id, 1);

	leave(own);
	return err;
}

static int connect_in(struct net *net, struct rdma_cm_id *id)
{
	struct nsproxy space, *own = enter(&space, net);
	struct rdma_conn_param param = conn_param();
	int err = rdma_connect(id, &param);

	leave(own);
	return err;
}

/* Listen at a free port */
static struct rdma_cm_id *listener(struct verbs_conn *conn)
{
	struct bench_run *run = conn->end->run;
	struct sockaddr_storage addr = run->opts.addr;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(run->rx_net, listen_event, conn, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	err = rdma_bind_addr(id, (struct sockaddr *)&addr);
	err = err ?: listen_in(run->rx_net, id);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

static int resolve(struct verbs_conn *conn, const struct sockaddr *addr)
{
	int err;

	err = rdma_resolve_addr(conn->id, NULL, addr, TIMEOUT_MS);
	err = err ?: wait_step(conn);
	err = err ?: rdma_resolve_route(conn->id, TIMEOUT_MS);
	return err ?: wait_step(conn);
}

static int connect_to(struct verbs_conn *conn, const struct sockaddr *addr)
{
	struct net *net = conn->end->run->tx_net;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(net, conn_event, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->id = id;
	err = resolve(conn, addr);
	err = err ?: verbs_conn_open(conn);
	err = err ?: connect_in(net, id);
	return err ?: wait_step(conn);
}

/*
 * Both ends are established when it returns 0: siw does not look at octets that
 * arrive between its Reply and that until more arrive.
 */
int verbs_connect(struct verbs_conn *tx, struct verbs_conn *rx)
{
	struct rdma_cm_id *id = listener(rx);
	int err;

	if (IS_ERR(id))
		return PTR_ERR(id);
	err = connect_to(tx, (struct sockaddr *)&id->route.addr.src_addr);
	err = err ?: wait_step(rx);
	rdma_destroy_id(id);
	return err;
}

void verbs_disconnect(struct verbs_conn *conn)
{
	WRITE_ONCE(conn->ending, true);
	if (conn->id && conn->id->qp)
		rdma_disconnect(conn->id);
}
