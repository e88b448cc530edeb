// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The CPU of a connection: mpa_set_cpu() and net.mpa.cpus. */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include "mpa_conn_test.h"

/* Expect recv() on @cpu, once nothing runs or is queued elsewhere. */
static void cpu_expect(struct conn_test *t, unsigned int cpu)
{
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	conn_expect_rx(t, &t->a, t->nr_out);
	EXPECT_EQ(t, t->a.cpu, cpu);
}

/* Packets arrive where they are sent, on the loopback device. */
static void cpu_stay(unsigned int cpu)
{
	WARN_ON(set_cpus_allowed_ptr(current, cpumask_of(cpu)));
}

/* Expect callbacks on each CPU of the guest, wherever packets arrive. */
static void cpu_chosen(struct conn_test *t)
{
	unsigned int here, there;

	conn_default(t);
	for_each_online_cpu(here) {
		cpu_stay(here);
		for_each_online_cpu(there) {
			EXPECT_EQ(t, mpa_set_cpu(t->a.conn, there), 0);
			cpu_expect(t, there);
		}
		EXPECT_EQ(t, mpa_set_cpu(t->a.conn, -1), 0);
		cpu_expect(t, here);
	}
}

static void cpu_absent(struct conn_test *t)
{
	unsigned int last = cpumask_last(cpu_online_mask);

	conn_default(t);
	EXPECT_EQ(t, mpa_set_cpu(t->a.conn, last), 0);
	EXPECT_EQ(t, mpa_set_cpu(t->a.conn, nr_cpu_ids), -EINVAL);
	EXPECT_EQ(t, mpa_set_cpu(t->a.conn, INT_MAX), -EINVAL);
	EXPECT_EQ(t, mpa_set_cpu(t->a.conn, -2), -EINVAL);
	cpu_expect(t, last);
}

/* A CPU goes offline, and the connection goes on. */
static void cpu_offline(struct conn_test *t)
{
	unsigned int last = cpumask_last(cpu_online_mask);

	if (!last || !IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kunit_skip(t->test, "no CPU can go offline");
	conn_default(t);
	cpu_stay(0);
	EXPECT_EQ(t, mpa_set_cpu(t->a.conn, last), 0);
	ASSERT_EQ(t, remove_cpu(last), 0);
	cpu_expect(t, 0);
	EXPECT_EQ(t, mpa_set_cpu(t->a.conn, last), -EINVAL);
	EXPECT_EQ(t, add_cpu(last), 0);
	cpu_expect(t, last);
}

/* net.mpa.cpus: each connection gets the next of the CPUs that are online. */
static void cpu_in_turn(struct conn_test *t)
{
	unsigned int nr = num_online_cpus(), i, used[3];
	struct mpa_net *mn;

	conn_default(t);
	mn = t->a.conn->mn;
	mn->last_cpu = -1;
	cpumask_copy(mn->cpus, cpu_possible_mask);
	for (i = 0; i < ARRAY_SIZE(used); i++) {
		conn_reopen(t);
		conn_default(t);
		cpu_stay(i % nr);
		conn_settle(&t->a);
		conn_peer_send(t, 100);
		conn_expect_rx(t, &t->a, 1);
		used[i] = t->a.cpu;
	}
	cpumask_clear(mn->cpus);
	for (i = 0; i < ARRAY_SIZE(used); i++)
		EXPECT_EQ(t, used[i], i % nr);
	conn_reopen(t);
	conn_default(t);
	cpu_stay(nr - 1);
	cpu_expect(t, nr - 1);
}

static const struct conn_row cpu_rows[] = {
	{ "each CPU", cpu_chosen },
	{ "no such CPU", cpu_absent },
	{ "a CPU that goes offline", cpu_offline },
	{ "net.mpa.cpus", cpu_in_turn },
};

CONN_ROWS(cpu);
