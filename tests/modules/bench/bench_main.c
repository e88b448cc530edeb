// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Files in debugfs, mpa_bench/:
 *
 * cmd		commands, one per write; returns when the run is over
 * result	result of the last command, one key=value a line
 *
 * A command consists of options, see bench_opts.c.
 */
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "bench_int.h"

#define LINE_MAX	512

static struct dentry *bench_dir;
static DEFINE_MUTEX(run_lock);		/* one run at a time; last_* */
static struct bench_result last;
static int last_err = -ENODATA;

static DEFINE_MUTEX(transports_lock);	/* transports */
static LIST_HEAD(transports);

void bench_transport_register(struct bench_transport *transport)
{
	mutex_lock(&transports_lock);
	list_add_tail(&transport->list, &transports);
	mutex_unlock(&transports_lock);
}
EXPORT_SYMBOL_GPL(bench_transport_register);

void bench_transport_unregister(struct bench_transport *transport)
{
	mutex_lock(&transports_lock);
	list_del(&transport->list);
	mutex_unlock(&transports_lock);
}
EXPORT_SYMBOL_GPL(bench_transport_unregister);

/* The transport of that name, with its module held, or NULL. */
struct bench_transport *bench_transport_get(const char *name)
{
	struct bench_transport *t, *found = NULL;

	mutex_lock(&transports_lock);
	list_for_each_entry(t, &transports, list)
		if (!strcmp(t->name, name) && try_module_get(t->owner))
			found = t;
	mutex_unlock(&transports_lock);
	return found;
}

static int bench_command(char *line)
{
	struct bench_opts opts;
	int err;

	err = bench_opts_parse(line, &opts);
	if (err)
		return err;
	mutex_lock(&run_lock);
	memset(&last, 0, sizeof(last));
	err = bench_run(&opts, &last);
	last_err = err;
	mutex_unlock(&run_lock);
	return err;
}

static ssize_t cmd_write(struct file *file, const char __user *from, size_t len,
			 loff_t *pos)
{
	char *line;
	int err;

	if (len > LINE_MAX)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = bench_command(strim(line));
	kfree(line);
	return err ?: len;
}

static const struct file_operations cmd_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= cmd_write,
	.llseek	= noop_llseek,
};

static void show(struct seq_file *seq, const struct bench_result *res)
{
	const struct bench_counts *counts = &res->counts;

	seq_printf(seq, "messages=%llu\n", counts->messages);
	seq_printf(seq, "insns=%lld\n", counts->insns);
	seq_printf(seq, "ns=%llu\n", counts->ns);
	seq_printf(seq, "fpdus=%llu\n", counts->fpdus);
	seq_printf(seq, "calls=%llu\n", counts->calls);
	seq_printf(seq, "segments=%llu\n", counts->segments);
	seq_printf(seq, "emss_start=%u\n", res->emss_start);
	seq_printf(seq, "emss_end=%u\n", res->emss_end);
	seq_printf(seq, "octets_idle=%u\n", res->octets_idle);
	seq_printf(seq, "octets_used=%u\n", res->octets_used);
	seq_printf(seq, "verified=%d\n", res->verified);
}

static int result_show(struct seq_file *seq, void *unused)
{
	int err;

	mutex_lock(&run_lock);
	err = last_err;
	if (!err)
		show(seq, &last);
	mutex_unlock(&run_lock);
	return err;
}
DEFINE_SHOW_ATTRIBUTE(result);

static struct bench_transport *const own[] = {
	&bench_tcp,
	&bench_tcp_crc,
	&bench_tcp_pages,
	&bench_ktls,
	&bench_mpa,
	&bench_mpa_crc,
	&bench_mpa_pages,
	&bench_mpa_markers,
};

static int __init bench_init(void)
{
	unsigned int i;
	int err;

	err = bench_data_init();
	if (err)
		return err;
	err = bench_count_init();
	if (err) {
		bench_data_exit();
		return err;
	}
	for (i = 0; i < ARRAY_SIZE(own); i++)
		bench_transport_register(own[i]);
	bench_dir = debugfs_create_dir("mpa_bench", NULL);
	debugfs_create_file("cmd", 0200, bench_dir, NULL, &cmd_fops);
	debugfs_create_file("result", 0400, bench_dir, NULL, &result_fops);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(bench_dir);
	bench_count_exit();
	bench_data_exit();
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Cost of MPA and of other transports");
MODULE_LICENSE("Dual BSD/GPL");
