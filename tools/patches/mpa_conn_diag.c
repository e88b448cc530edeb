// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What inet_diag, and so ss, shows of a socket that MPA has. */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/inet_diag.h>
#include <linux/kthread.h>
#include <linux/sock_diag.h>
#include <net/inet_sock.h>
#include <net/netlink.h>
#include <net/tcp.h>
#include <uapi/linux/mpa.h>
#include "mpa_conn_test.h"

/**
 * struct diag_request - a request for one socket, as ss sends it
 * @nlh: header
 * @req: the socket
 */
struct diag_request {
	struct nlmsghdr			nlh;
	struct inet_diag_req_v2		req;
};

static void diag_fill(struct diag_request *ask, struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	*ask = (struct diag_request) {
		.nlh.nlmsg_len = sizeof(*ask),
		.nlh.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlh.nlmsg_flags = NLM_F_REQUEST,
		.req.sdiag_family = AF_INET,
		.req.sdiag_protocol = IPPROTO_TCP,
		.req.idiag_ext = -1,	/* among them INET_DIAG_INFO: ss -i */
		.req.idiag_states = -1,
		.req.id.idiag_sport = inet->inet_sport,
		.req.id.idiag_dport = inet->inet_dport,
		.req.id.idiag_src[0] = inet->inet_saddr,
		.req.id.idiag_dst[0] = inet->inet_daddr,
	};
	sock_diag_save_cookie(sk, ask->req.id.idiag_cookie);
}

/* Ask inet_diag for @sk. Returns 0 with the answer in @buf, or an errno. */
static int diag_exchange(struct socket *netlink, struct sock *sk, void *buf,
			 size_t len)
{
	struct diag_request ask;
	struct kvec iov = { .iov_base = &ask, .iov_len = sizeof(ask) };
	const struct nlmsghdr *nlh = buf;
	struct msghdr msg = {};
	int n;

	diag_fill(&ask, sk);
	n = kernel_sendmsg(netlink, &msg, &iov, 1, sizeof(ask));
	if (n < 0)
		return n;
	iov = (struct kvec) { .iov_base = buf, .iov_len = len };
	memset(&msg, 0, sizeof(msg));
	n = kernel_recvmsg(netlink, &msg, &iov, 1, len, MSG_DONTWAIT);
	if (n < 0)
		return n;
	if (!nlmsg_ok(nlh, n))
		return -EBADMSG;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)nlmsg_data(nlh))->error;
	return nlh->nlmsg_type == SOCK_DIAG_BY_FAMILY ? 0 : -EBADMSG;
}

/* With a file, whose credentials inet_diag checks beside those of the task. */
static struct file *diag_open(struct net *net)
{
	struct socket *netlink;
	int err;

	err = sock_create_kern(net, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG,
			       &netlink);
	return err ? ERR_PTR(err) : sock_alloc_file(netlink, 0, NULL);
}

static int diag_ask(struct sock *sk, void *buf, size_t len)
{
	struct file *file = diag_open(sock_net(sk));
	int err;

	if (IS_ERR(file))
		return PTR_ERR(file);
	err = diag_exchange(sock_from_file(file), sk, buf, len);
	fput(file);
	return err;
}

/* Returns the ULP that the answer in the buffer tells of, or NULL. */
static const struct nlattr *diag_find(const struct conn_test *t)
{
	return nlmsg_find_attr((void *)t->buf, sizeof(struct inet_diag_msg),
			       INET_DIAG_ULP_INFO);
}

/* Returns the ULP that inet_diag shows of @sk, or NULL; it is in the buffer. */
static const struct nlattr *diag_ulp(struct conn_test *t, struct sock *sk)
{
	if (!IS_ENABLED(CONFIG_INET_TCP_DIAG))
		kunit_skip(t->test, "needs CONFIG_INET_DIAG");
	ASSERT_EQ(t, diag_ask(sk, t->buf, CONN_BUF), 0);
	return diag_find(t);
}

/* Expect that the ULP is MPA's. Returns MPA's attributes, or NULL. */
static const struct nlattr *diag_mpa(struct conn_test *t, struct sock *sk)
{
	const struct nlattr *ulp = diag_ulp(t, sk), *name;

	ASSERT_NOT_NULL(t, ulp);
	name = nla_find_nested(ulp, INET_ULP_INFO_NAME);
	ASSERT_NOT_NULL(t, name);
	EXPECT_EQ(t, 0, nla_strcmp(name, MPA_ULP_NAME));
	return nla_find_nested(ulp, INET_ULP_INFO_MPA);
}

static void diag_terms(struct conn_test *t, struct sock *sk,
		       struct nlattr *tb[MPA_A_CONN_MAX + 1])
{
	const struct nlattr *mpa = diag_mpa(t, sk);

	ASSERT_NOT_NULL(t, mpa);
	ASSERT_EQ(t, 0, nla_parse_nested_deprecated(tb, MPA_A_CONN_MAX, mpa,
						    NULL, NULL));
}

/* Expect that inet_diag was told how much room all attributes take. */
static void diag_expect_size(struct conn_test *t, struct sock *sk)
{
	const struct tcp_ulp_ops *ulp = inet_csk(sk)->icsk_ulp_ops;
	const struct nlattr *mpa = diag_mpa(t, sk);

	ASSERT_NOT_NULL(t, mpa);
	EXPECT_EQ(t, nla_total_size(nla_len(mpa)),
		  ulp->get_info_size(sk, true));
}

static void diag_expect(struct conn_test *t, struct nlattr **tb, int attr,
			u32 value)
{
	KUNIT_ASSERT_NOT_NULL_MSG(t->test, tb[attr], "attribute %d", attr);
	EXPECT_EQ_MSG(t, nla_get_u32(tb[attr]), value, "attribute %d", attr);
}

/* Expect that no attributes but @attrs, bits of BIT(MPA_A_*), are there. */
static void diag_expect_attrs(struct conn_test *t, struct nlattr **tb,
			      u32 attrs)
{
	u32 i, found = 0;

	static_assert(MPA_A_CONN_MAX < 32);
	for (i = 0; i <= MPA_A_CONN_MAX; i++)
		if (tb[i])
			found |= BIT(i);
	EXPECT_EQ(t, found, attrs);
}

#define DIAG_ALWAYS	(BIT(MPA_A_CONN_STATE) | BIT(MPA_A_CONN_FLAGS) |  \
			 BIT(MPA_A_CONN_EMSS) | BIT(MPA_A_CONN_MULPDU))

static void diag_attached(struct conn_test *t)
{
	struct nlattr *tb[MPA_A_CONN_MAX + 1];

	conn_pair(t);
	EXPECT_NULL(t, diag_ulp(t, t->sock[0]->sk));
	conn_attach(t, 0);
	EXPECT_NULL(t, diag_ulp(t, t->peer.sock->sk));
	diag_terms(t, t->sock[0]->sk, tb);
	diag_expect_attrs(t, tb, DIAG_ALWAYS);
	diag_expect(t, tb, MPA_A_CONN_STATE, MPA_CONN_STATE_ATTACHED);
	diag_expect(t, tb, MPA_A_CONN_FLAGS, MPA_CONN_FLAG_HOLD);
}

static void diag_full(struct conn_test *t)
{
	struct nlattr *tb[MPA_A_CONN_MAX + 1];
	struct mpa_info info;

	conn_open(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_C);
	mpa_get_info(t->a.conn, &info);
	diag_terms(t, t->sock[0]->sk, tb);
	diag_expect_attrs(t, tb, DIAG_ALWAYS | BIT(MPA_A_CONN_ROLE) |
			  BIT(MPA_A_CONN_REVISION) |
			  BIT(MPA_A_CONN_PEER_REVISION));
	diag_expect(t, tb, MPA_A_CONN_STATE, MPA_CONN_STATE_FULL);
	diag_expect(t, tb, MPA_A_CONN_ROLE, MPA_CONN_ROLE_RESPONDER);
	diag_expect(t, tb, MPA_A_CONN_REVISION, 1);
	diag_expect(t, tb, MPA_A_CONN_PEER_REVISION, 1);
	diag_expect(t, tb, MPA_A_CONN_FLAGS, MPA_CONN_FLAG_CRC |
		    MPA_CONN_FLAG_MARKERS_RX);
	diag_expect(t, tb, MPA_A_CONN_EMSS, info.emss);
	diag_expect(t, tb, MPA_A_CONN_MULPDU, info.mulpdu);
}

static void diag_enhanced(struct conn_test *t)
{
	struct nlattr *tb[MPA_A_CONN_MAX + 1];

	t->a.params.rev = MPA_REV_2;
	t->a.params.enhanced = (struct mpa_enhanced) { 5, 7, MPA_RTR_SEND };
	t->b.params.rev = MPA_REV_2;
	t->b.params.enhanced = (struct mpa_enhanced) { 9, 3, MPA_RTR_SEND };
	conn_two(t, MPA_F_ENHANCED | MPA_F_OOO,
		 MPA_F_ENHANCED | MPA_F_MARKERS);
	diag_terms(t, t->sock[0]->sk, tb);
	diag_expect_attrs(t, tb, DIAG_ALWAYS | BIT(MPA_A_CONN_ROLE) |
			  BIT(MPA_A_CONN_REVISION) |
			  BIT(MPA_A_CONN_PEER_REVISION) |
			  BIT(MPA_A_CONN_IRD) | BIT(MPA_A_CONN_ORD));
	diag_expect(t, tb, MPA_A_CONN_ROLE, MPA_CONN_ROLE_INITIATOR);
	diag_expect(t, tb, MPA_A_CONN_REVISION, 2);
	diag_expect(t, tb, MPA_A_CONN_IRD, 5);
	diag_expect(t, tb, MPA_A_CONN_ORD, 7);
	diag_expect(t, tb, MPA_A_CONN_FLAGS, MPA_CONN_FLAG_CRC |
		    MPA_CONN_FLAG_MARKERS_RX | MPA_CONN_FLAG_MARKERS_TX |
		    MPA_CONN_FLAG_ENHANCED | MPA_CONN_FLAG_OOO);
	diag_expect_size(t, t->sock[0]->sk);
}

/* A socket with a file keeps the name of the ULP, without its functions. */
static void diag_left(struct conn_test *t)
{
	struct socket *sock;
	struct file *file;

	conn_default(t);
	ASSERT_NOT_NULL(t, diag_mpa(t, t->sock[0]->sk));
	conn_detach(t, &t->a);
	EXPECT_NULL(t, diag_ulp(t, t->sock[0]->sk));

	conn_reopen(t);
	conn_pair(t);
	sock = t->sock[0];
	file = sock_alloc_file(sock, 0, NULL);
	ASSERT_OK(t, file);
	conn_attach(t, 0);
	ASSERT_NOT_NULL(t, diag_mpa(t, sock->sk));
	conn_detach(t, &t->a);
	EXPECT_NULL(t, diag_mpa(t, sock->sk));
	EXPECT_NULL(t, inet_csk(sock->sk)->icsk_ulp_ops->get_info);
	conn_attach_to(t, &t->b, sock, 0);
	ASSERT_NOT_NULL(t, diag_mpa(t, sock->sk));
	conn_detach(t, &t->b);
	t->sock[0] = NULL;
	fput(file);
}

/* TCP closes before the detach: MPA has left the socket's callbacks. */
static void diag_closed(struct conn_test *t)
{
	struct sock *sk;

	conn_default(t);
	sk = t->sock[0]->sk;
	ASSERT_EQ(t, conn_disconnect(t->sock[0]), 0);
	EXPECT_NULL(t, inet_csk(sk)->icsk_ulp_ops);
}

/* A task without CAP_NET_ADMIN sees no attributes. */
static void diag_unprivileged(struct conn_test *t)
{
	const struct nlattr *ulp;
	const struct cred *old;
	struct cred *cred;
	int err;

	conn_default(t);
	ASSERT_NOT_NULL(t, diag_mpa(t, t->sock[0]->sk));
	cred = prepare_creds();
	ASSERT_NOT_NULL(t, cred);
	cred->cap_effective = CAP_EMPTY_SET;
	old = override_creds(cred);
	err = diag_ask(t->sock[0]->sk, t->buf, CONN_BUF);
	revert_creds(old);
	put_cred(cred);
	ASSERT_EQ(t, err, 0);
	ulp = diag_find(t);
	/* Older kernels do not show the ULP either. */
	if (ulp)
		EXPECT_NULL(t, nla_find_nested(ulp, INET_ULP_INFO_MPA));
}

static int diag_reader(void *arg)
{
	struct conn_asker *asker = arg;
	struct sock *sk = asker->sock->sk;
	struct file *file = diag_open(sock_net(sk));
	static u8 buf[2048] __aligned(NLMSG_ALIGNTO);

	while (!kthread_should_stop()) {
		if (IS_ERR(file) ||
		    diag_exchange(sock_from_file(file), sk, buf, sizeof(buf)))
			asker->wrong++;
		WRITE_ONCE(asker->asked, asker->asked + 1);
		cond_resched();
	}
	if (!IS_ERR(file))
		fput(file);
	return 0;
}

static void diag_attach_detach(struct conn_test *t)
{
	struct task_struct *task;
	u32 i, asked;

	conn_pair(t);
	EXPECT_NULL(t, diag_ulp(t, t->sock[0]->sk));
	t->asker.sock = t->sock[0];
	task = kthread_run(diag_reader, &t->asker, "mpa_kunit");
	ASSERT_FALSE(t, IS_ERR(task));
	t->asker.task = task;
	for (i = 0; i < 30; i++) {
		asked = READ_ONCE(t->asker.asked);
		mpa_consumer_exit(&t->a);
		ASSERT_EQ(t, mpa_consumer_init(&t->a), 0);
		conn_attach(t, 0);
		ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(t->asker.asked) - asked >=
					  2));
		conn_detach(t, &t->a);
	}
	EXPECT_EQ(t, READ_ONCE(t->asker.wrong), 0);
}

static const struct conn_row diag_rows[] = {
	{ "ss: a connection before the start", diag_attached },
	{ "ss: the terms of a connection", diag_full },
	{ "ss: enhanced startup, and all flags", diag_enhanced },
	{ "ss: a socket that MPA has left", diag_left },
	{ "ss: a socket that TCP has closed", diag_closed },
	{ "ss: without CAP_NET_ADMIN", diag_unprivileged },
	{ "ss: attach and detach while another task asks", diag_attach_detach },
};

CONN_ROWS(diag);
