// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Worlds, their actors, and the two files in debugfs/mpa_races:
 *
 * cmd		"start KIND PEER PORT SEED LIMIT" in the writer's namespace
 *		(wild, polite, own, noref, noabort), or "stop" for all worlds
 * result	findings and counters
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "races.h"

#define STOP_TIME	(120 * HZ)
#define TOLD_TIME	(30 * HZ)

atomic_t race_counts[RACE_COUNTS];
bool race_closing;

static const char * const count_names[RACE_COUNTS] = {
	[RACE_N_FOUND]		= "found",
	[RACE_N_ENDS]		= "ends",
	[RACE_N_RELEASED]	= "released",
	[RACE_N_ESTABLISHED]	= "established",
	[RACE_N_REJECTED]	= "rejected",
	[RACE_N_GRACEFUL]	= "ended_fin",
	[RACE_N_RESET]		= "ended_reset",
	[RACE_N_ABORTED]	= "ended_aborted",
	[RACE_N_TIMEOUT]	= "ended_timeout",
	[RACE_N_FAILED]		= "ended_error",
	[RACE_N_POLITE]		= "complete",
	[RACE_N_SENT]		= "messages_sent",
	[RACE_N_CANCELED]	= "messages_canceled",
	[RACE_N_ZEROCOPY]	= "zero_copy",
	[RACE_N_SOURCES]	= "sources",
	[RACE_N_RECEIVED]	= "messages_received",
	[RACE_N_KEPT]		= "kept",
	[RACE_N_KEPT_LATE]	= "put_after_released",
	[RACE_N_HELD]		= "held",
	[RACE_N_DETACH_SYNC]	= "detach_sync",
	[RACE_N_CONNECT_CLOSED]	= "connect_closed",
	[RACE_N_REATTACHED]	= "attached_again",
	[RACE_N_RAW]		= "raw_peers",
	[RACE_N_SPACES]		= "namespaces_gone",
	[RACE_N_DOOMED]		= "established_at_exit",
	[RACE_N_LINGERED]	= "returned_after_exit",
	[RACE_N_ACTIONS]	= "actions",
};

static const char * const kind_names[RACE_KINDS] = {
	[RACE_WILD]	= "wild",
	[RACE_POLITE]	= "polite",
	[RACE_OWN]	= "own",
	[RACE_NOREF]	= "noref",
	[RACE_NOABORT]	= "noabort",
};

static DEFINE_MUTEX(worlds_lock);	/* protects both lists */
static LIST_HEAD(worlds);
static LIST_HEAD(stopped);		/* to be freed */
static struct dentry *files;

/* A promise was broken. */
void race_found(const struct race_end *e, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	if (atomic_inc_return(&race_counts[RACE_N_FOUND]) < 50)
		pr_err("FOUND: end %u (%s, %s%s): %pV\n", e ? e->id : 0,
		       e ? kind_names[e->world->kind] : "",
		       e && e->initiator ? "initiator" : "responder",
		       e && e->raw ? ", raw" : "", &vaf);
	va_end(args);
}

/* New ends are made between these two calls. */
bool race_world_enter(struct race_world *w, enum race_quiet below)
{
	down_read(&w->creating);
	if (w->quiet < below)
		return true;
	up_read(&w->creating);
	return false;
}

void race_world_leave(struct race_world *w)
{
	up_read(&w->creating);
}

static void world_quiet(struct race_world *w, enum race_quiet quiet)
{
	down_write(&w->creating);
	w->quiet = quiet;
	up_write(&w->creating);
}

static int actor_run(void *arg)
{
	struct race_thread *thread = arg;
	struct race_world *w = thread->world;
	struct rnd_state rnd;
	u32 n = 0;

	prandom_seed_state(&rnd, w->seed + thread->nr);
	while (!kthread_should_stop()) {
		race_act(w, &rnd, thread->nr);
		if (!thread->nr && ++n % 256 == 0)
			race_check_time(w);
		if (race_chance(&rnd, 30))
			usleep_range(10, 10 + race_pick(&rnd, 3000));
		cond_resched();
	}
	return 0;
}

static void world_timer(struct timer_list *timer)
{
	struct race_world *w = timer_container_of(w, timer, timer);

	race_act_timer(w);
	mod_timer(timer, jiffies + 1 + race_pick(&w->timer_rnd, 3));
}

static int world_start_actors(struct race_world *w)
{
	struct race_thread *thread;
	struct task_struct *task;
	u32 i;

	for (i = 0; i < RACE_THREADS; i++) {
		thread = &w->threads[i];
		thread->world = w;
		thread->nr = i;
		task = kthread_run(actor_run, thread, "mpa_races/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		thread->task = task;
	}
	mod_timer(&w->timer, jiffies + 1);
	return 0;
}

static void world_stop_actors(struct race_world *w)
{
	u32 i;

	for (i = 0; i < RACE_THREADS; i++) {
		if (w->threads[i].task)
			kthread_stop(w->threads[i].task);
		w->threads[i].task = NULL;
	}
	timer_shutdown_sync(&w->timer);
}

static bool world_empty(struct race_world *w)
{
	return !atomic_read(&w->nr_ends) && !atomic_read(&w->nr_dials);
}

/* Polite ends come to their end by themselves. */
static void world_let_finish(struct race_world *w)
{
	if (w->kind == RACE_POLITE &&
	    !wait_event_timeout(w->wait, world_empty(w), w->limit * HZ)) {
		race_found(NULL, "polite ends do not come to an end");
		race_end_each(w, race_end_show);
	}
}

static void world_put_kept(struct race_world *w)
{
	while (race_put_kept(w))
		;
}

/* End all connections; a pending mpa_connect() may still make one. */
static void world_clear(struct race_world *w)
{
	unsigned long limit = jiffies + STOP_TIME;
	bool told = false;

	do {
		race_hang_up(w);
		world_put_kept(w);
		race_end_each(w, race_end_force);
		if (!told && time_after(jiffies, limit)) {
			race_found(NULL, "ends are not released, %d; %d dials",
				   atomic_read(&w->nr_ends),
				   atomic_read(&w->nr_dials));
			race_end_each(w, race_end_show);
			told = true;
		}
	} while (!wait_event_timeout(w->wait, world_empty(w), HZ / 10));
	/* No end is left that could keep more. */
	world_put_kept(w);
}

/* Wait until all have heard that it is over; returns how many have not. */
static u32 world_let_hear(struct race_world *w)
{
	unsigned long limit = jiffies + TOLD_TIME;
	u32 untold;

	for (;;) {
		world_put_kept(w);
		untold = race_end_untold(w);
		if (!untold || time_after(jiffies, limit))
			return untold;
		msleep(20);
	}
}

/* When the namespace went away, only MPA ended its connections. */
static void world_check_exit(struct race_world *w)
{
	u32 untold = world_let_hear(w);

	if (untold) {
		race_found(NULL, "%u ends know of no exit of the namespace",
			   untold);
		race_end_each(w, race_end_show);
	}
	if (w->kind == RACE_NOABORT && atomic_read(&w->nr_doomed) &&
	    !atomic_read(&w->nr_aborted))
		race_found(NULL, "no end was aborted at the namespace's exit");
}

/* Nothing of it is left, but calls to it that are returning. */
static void world_free(struct race_world *w)
{
	mpa_barrier();
	race_hang_up(w);
	if (!race_noref(w))
		put_net(w->net);
	kfree(w);
}

static void world_stop(struct race_world *w)
{
	world_quiet(w, RACE_NO_ENDS);
	world_stop_actors(w);
	race_unlisten(w);
	race_raw_unlisten(w);
	world_clear(w);
}

/* Its namespace goes away: some callbacks return only after that. */
static void world_exit(struct race_world *w)
{
	world_stop_actors(w);
	world_check_exit(w);
	world_stop(w);
	WRITE_ONCE(w->gone, true);
	wake_up_all(&w->wait);
	list_move(&w->list, &stopped);
}

static struct race_world *world_new(struct net *net, u32 seed)
{
	struct race_world *w = kzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return NULL;
	init_rwsem(&w->creating);
	spin_lock_init(&w->lock);
	INIT_LIST_HEAD(&w->dials);
	INIT_LIST_HEAD(&w->kept);
	init_waitqueue_head(&w->wait);
	timer_setup(&w->timer, world_timer, 0);
	prandom_seed_state(&w->timer_rnd, seed + 300);
	w->seed = seed;
	w->net = net;
	return w;
}

static int world_start(struct race_world *w)
{
	int err;

	if (!race_noref(w))
		get_net(w->net);
	err = race_listen(w);
	if (!err)
		err = race_raw_listen(w);
	if (!err)
		err = world_start_actors(w);
	if (err) {
		world_stop(w);
		world_free(w);
	}
	return err;
}

static int run_start(struct net *net, const char *args)
{
	struct race_world *w;
	char kind[16], peer[48];
	u32 seed, limit;
	int err;
	u16 port;

	if (sscanf(args, "%15s %47s %hu %u %u", kind, peer, &port, &seed,
		   &limit) != 5)
		return -EINVAL;
	w = world_new(net, seed);
	if (!w)
		return -ENOMEM;
	err = match_string(kind_names, RACE_KINDS, kind);
	if (err < 0 || inet_pton_with_scope(net, AF_UNSPEC, peer, NULL,
					    &w->peer)) {
		kfree(w);
		return -EINVAL;
	}
	w->kind = err;
	w->port = port;
	w->limit = limit;
	WRITE_ONCE(race_closing, false);
	err = world_start(w);
	if (!err)
		list_add_tail(&w->list, &worlds);
	return err;
}

/* In unload nothing is waited for that a peer has to do. */
static void stop_all(bool unload)
{
	struct race_world *w, *tmp;

	list_for_each_entry(w, &worlds, list)
		world_quiet(w, RACE_NO_DIALS);
	if (!unload)
		list_for_each_entry(w, &worlds, list)
			world_let_finish(w);
	WRITE_ONCE(race_closing, true);
	list_for_each_entry_safe(w, tmp, &worlds, list) {
		world_stop(w);
		list_move(&w->list, &stopped);
	}
	list_for_each_entry_safe(w, tmp, &stopped, list) {
		list_del(&w->list);
		world_free(w);
	}
}

static int run(struct net *net, char *line)
{
	int err = 0;

	mutex_lock(&worlds_lock);
	if (!strncmp(line, "start ", 6))
		err = run_start(net, line + 6);
	else if (!strncmp(line, "stop", 4))
		stop_all(false);
	else
		err = -EINVAL;
	mutex_unlock(&worlds_lock);
	return err;
}

static ssize_t cmd_write(struct file *file, const char __user *from,
			 size_t len, loff_t *pos)
{
	char line[128] = "";
	int err;

	if (len >= sizeof(line))
		return -E2BIG;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	err = run(current->nsproxy->net_ns, line);
	return err ?: len;
}

static const struct file_operations cmd_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= cmd_write,
};

static int result_show(struct seq_file *seq, void *v)
{
	u32 i;

	for (i = 0; i < RACE_COUNTS; i++)
		seq_printf(seq, "%s=%d\n", count_names[i],
			   atomic_read(&race_counts[i]));
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(result);

/*
 * A namespace without a reference of our sockets goes away. No connection is
 * made from now on; MPA ends all others before its exit, while actors continue.
 */
static void __net_exit races_net_pre_exit(struct net *net)
{
	struct race_world *w;

	mutex_lock(&worlds_lock);
	list_for_each_entry(w, &worlds, list) {
		if (w->net != net)
			continue;
		world_quiet(w, RACE_NO_ENDS);
		race_end_doom_all(w);
	}
	mutex_unlock(&worlds_lock);
}

static void __net_exit races_net_exit(struct net *net)
{
	struct race_world *w, *tmp;

	mutex_lock(&worlds_lock);
	list_for_each_entry_safe(w, tmp, &worlds, list)
		if (w->net == net)
			world_exit(w);
	mutex_unlock(&worlds_lock);
	race_count(RACE_N_SPACES);
}

static struct pernet_operations races_net_ops = {
	.pre_exit	= races_net_pre_exit,
	.exit		= races_net_exit,
};

static int __init races_init(void)
{
	int err;

	err = race_check_init();
	if (err)
		return err;
	err = register_pernet_subsys(&races_net_ops);
	if (err)
		return err;
	files = debugfs_create_dir("mpa_races", NULL);
	debugfs_create_file("cmd", 0200, files, NULL, &cmd_fops);
	debugfs_create_file("result", 0400, files, NULL, &result_fops);
	return 0;
}

static void __exit races_exit(void)
{
	debugfs_remove(files);
	mutex_lock(&worlds_lock);
	stop_all(true);
	mutex_unlock(&worlds_lock);
	unregister_pernet_subsys(&races_net_ops);
	mpa_barrier();
	if (atomic_read(&race_counts[RACE_N_FOUND]))
		pr_err("FOUND %d in all\n",
		       atomic_read(&race_counts[RACE_N_FOUND]));
}

module_init(races_init);
module_exit(races_exit);
MODULE_DESCRIPTION("Everything at once, for MPA");
MODULE_LICENSE("Dual BSD/GPL");
