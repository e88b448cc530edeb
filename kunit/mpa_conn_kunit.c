// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections over real sockets on the loopback device, against a raw TCP
 * peer and against each other. The cases are in mpa_conn_*.c.
 */
#include <linux/moduleparam.h>
#include "mpa_conn_test.h"

static bool conn_slow = true;
module_param_named(slow, conn_slow, bool, 0444);
MODULE_PARM_DESC(slow, "run the rows that take 5 s and more on a debug kernel");

/* Returns the row after @prev, or the first one, that is to be run. */
const void *conn_next_row(const struct conn_row *rows, size_t nr,
			  const void *prev, char *desc)
{
	const struct conn_row *row = prev ? prev + sizeof(*row) : rows;

	for (; row < rows + nr; row++) {
		if (!glob_match(mpa_row, row->desc) ||
		    (row->named && !strcmp(mpa_row, "*")) ||
		    (row->slow && !conn_slow))
			continue;
		strscpy(desc, row->desc, KUNIT_PARAM_DESC_SIZE);
		return row;
	}
	return NULL;
}

static void conn_run(struct kunit *test)
{
	((const struct conn_row *)test->param_value)->run(test->priv);
}

#define CONN_CASE(title) {						\
	.run_case = conn_run, .name = #title,				\
	.generate_params = conn_##title##_rows,				\
	.module_name = KBUILD_MODNAME,					\
}

static struct kunit_case conn_cases[] = {
	CONN_CASE(attach),
	CONN_CASE(exchange),
	CONN_CASE(startup),
	CONN_CASE(frame),
	CONN_CASE(timeout),
	CONN_CASE(overflow),
	CONN_CASE(shared),
	CONN_CASE(reject),
	CONN_CASE(recv),
	CONN_CASE(keep),
	CONN_CASE(error),
	CONN_CASE(fin),
	CONN_CASE(may_send),
	CONN_CASE(send),
	CONN_CASE(train),
	CONN_CASE(series),
	CONN_CASE(template),
	CONN_CASE(zerocopy),
	CONN_CASE(scribble),
	CONN_CASE(splice),
	CONN_CASE(queue),
	CONN_CASE(end),
	CONN_CASE(borrow),
	CONN_CASE(info),
	CONN_CASE(sock),
	CONN_CASE(enhanced),
	CONN_CASE(connect),
	CONN_CASE(ooo),
	CONN_CASE(ooo_end),
	CONN_CASE(hook),
	CONN_CASE(bounds),
	CONN_CASE(run),
	CONN_CASE(softirq),
	CONN_CASE(cpu),
	{}
};

/* Wait until no callback of the suite is running: the module may be removed. */
static void conn_suite_exit(struct kunit_suite *suite)
{
	mpa_barrier();
}

static struct kunit_suite conn_suite = {
	.name		= "mpa_conn",
	.init		= conn_init,
	.exit		= conn_exit,
	.suite_exit	= conn_suite_exit,
	.test_cases	= conn_cases,
};

kunit_test_suite(conn_suite);
