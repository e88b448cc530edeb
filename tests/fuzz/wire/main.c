// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A fuzzer for MPA's consumers in the kernel, over real sockets.
 *
 * Workers play hostile peers, each one connection at a time, in both roles:
 * against servers of mpa_ping and over mpa_rnic, and against ping's clients. A
 * connection is a seed (steps.c), generated or altered from one of the corpus
 * (mutate.c); seeds that reach new code join the corpus (corpus.c). One more
 * worker runs clean peers of the same servers.
 *
 * Findings are a violation of the model (model.c), a connection that does not
 * end, a clean peer that is not served, an inconsistent counter, and half of
 * the memory in use. Reports of the kernel itself are left to the guest's
 * script.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define WORKERS_MAX	(COVER_SLOTS - 1)
#define FINDINGS	20	/* shown */
#define PROGRESS_S	10
#define SLOW_MS		500	/* one that takes longer is not altered further */

/* Kinds of findings */
enum kind {
	HOSTILE,	/* the model rejects the peer, or it does not end */
	CLEAN,		/* a good peer was not served */
	COUNTERS,	/* do not add up */
	MEMORY,		/* too much is held */
	KINDS
};

static struct worker *workers[COVER_SLOTS];	/* the last is clean */
static int nr_workers = 24;
static uint64_t first_seed = 1;
static long seconds = 60, count_max;
static const char *corpus_to;
static int replays;

static pthread_mutex_t say_lock = PTHREAD_MUTEX_INITIALIZER;
static int findings[KINDS];
static long begun;

static int all_findings(void)
{
	int i, n = 0;

	for (i = 0; i < KINDS; i++)
		n += findings[i];
	return n;
}

static void found(enum kind kind, const struct seed *seed, const char *what)
{
	char text[SEED_TEXT];

	pthread_mutex_lock(&say_lock);
	findings[kind]++;
	if (all_findings() <= FINDINGS)
		say("FOUND: %s", what);
	if (all_findings() <= FINDINGS && seed) {
		seed_print(seed, text, sizeof(text));
		say("  REPLAY='%s'", text);
	}
	pthread_mutex_unlock(&say_lock);
}

static void worker_do(struct worker *w, const struct seed *seed)
{
	const char *wrong = worker_run(w, seed);

	if (wrong)
		found(HOSTILE, seed, wrong);
}

static unsigned long all_done(void)
{
	unsigned long n = 0;
	int i;

	for (i = 0; i < nr_workers; i++)
		n += __atomic_load_n(&workers[i]->done, __ATOMIC_RELAXED);
	return n;
}

static bool is_time(void)
{
	return now_ms() - begun >= seconds * 1000 ||
	       (count_max && all_done() >= (unsigned long)count_max);
}

/* Sum of the values in a file of /proc whose names begin so */
static long sum_of(const char *file, const char *prefix)
{
	char line[200], name[64];
	FILE *from = fopen(file, "r");
	long n, sum = 0;

	if (!from)
		misused("%s: %s", file, strerror(errno));
	while (fgets(line, sizeof(line), from))
		if (sscanf(line, "%63s %ld", name, &n) == 2 &&
		    !strncmp(name, prefix, strlen(prefix)))
			sum += n;
	fclose(from);
	return sum;
}

static long counters(const char *prefix)
{
	return sum_of("/proc/thread-self/net/mpa_stat", prefix);
}

static bool all_released(long until)
{
	while (counters("MpaAttached") != counters("MpaReleased")) {
		if (now_ms() > until)
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * Nothing runs, so each connection is released, and has ended once; but for
 * those that the consumer has reset, when a peer took too long to close.
 */
static void check_counters(int space)
{
	long ends, left;

	enter_space(space);
	if (!all_released(now_ms() + patience)) {
		space_show("a connection is not released");
		found(COUNTERS, NULL, "a connection was not released");
		return;
	}
	ends = counters("MpaEndFin") + counters("MpaErr") +
	       counters("MpaRejects");
	left = counters("MpaAttached") - ends;
	if (left < 0 || left > counters("MpaResets"))
		found(COUNTERS, NULL, "a connection has ended twice, or never");
}

static long least_free;		/* KB */

/* The few connections cannot need this much memory. */
static void check_memory(void)
{
	long now = sum_of("/proc/meminfo", "MemAvailable:");
	static long first;

	if (!first)
		first = now;
	if (!least_free || now < least_free)
		least_free = now;
	if (now >= first / 2 || findings[MEMORY])
		return;
	found(MEMORY, NULL, "half of the memory is in use");
	enter_space(0);
	space_show("memory is short");
}

/* Workers */

static void choose(struct worker *w, struct seed *seed)
{
	struct seed other;

	if (!rnd_below(&w->rnd, 8) || !corpus_pick(seed, &w->rnd)) {
		seed_make(seed, &w->rnd);
		if (rnd_below(&w->rnd, 2))
			return;
	}
	if (!corpus_pick(&other, &w->rnd))
		other = *seed;
	seed_mutate(seed, &other, &w->rnd);
}

static void *hostile_main(void *arg)
{
	struct worker *w = arg;
	unsigned int fresh;
	struct seed seed;
	bool kept;

	while (corpus_is_due() || !is_time()) {
		kept = corpus_next_kept(&seed);
		if (!kept)
			choose(w, &seed);
		fresh = cover->fresh;
		worker_do(w, &seed);
		if (!kept && cover->fresh != fresh && w->last < SLOW_MS)
			corpus_add(&seed);
	}
	return NULL;
}

static void *clean_main(void *arg)
{
	struct worker *w = arg;
	const char *wrong;

	while (!is_time()) {
		wrong = worker_clean(w);
		if (wrong)
			found(CLEAN, NULL, wrong);
	}
	return NULL;
}

static void workers_make(void)
{
	int i;

	for (i = 0; i <= nr_workers; i++) {
		workers[i] = calloc(1, sizeof(*workers[i]));
		if (!workers[i])
			misused("no memory");
		workers[i]->rnd.state = first_seed * 1000003 + i * 7919 + 1;
		worker_init(workers[i], i);
	}
}

static void workers_start(void)
{
	int i;

	for (i = 0; i <= nr_workers; i++)
		if (pthread_create(&workers[i]->thread, NULL,
				   i < nr_workers ? hostile_main : clean_main,
				   workers[i]))
			misused("no more threads");
}

/* Results */

static void progress(const char *prefix)
{
	const struct worker *clean = workers[nr_workers];
	long ms = now_ms() - begun;
	unsigned long n = all_done();
	char reached[100];

	corpus_figures(reached, sizeof(reached));
	say("%s s=%ld connections=%lu per_s=%lu %s clean=%lu clean_ms=%ld free_kb=%ld found=%d",
	    prefix, ms / 1000, n, n * 1000 / (ms + 1), reached, clean->done,
	    clean->worst, least_free, all_findings());
}

static void verdict(void)
{
	static const char * const names[KINDS] = { "hostile", "clean",
						   "counters", "held" };
	int i;

	for (i = 0; i < KINDS; i++)
		say("%sok - fuzz.%s", findings[i] ? "not " : "", names[i]);
}

static void workers_wait(void)
{
	long next = PROGRESS_S;
	int i;

	while (!is_time()) {
		usleep(100000);
		check_memory();
		if (now_ms() - begun < next * 1000)
			continue;
		progress("fuzz:");
		next = (now_ms() - begun) / 1000 + PROGRESS_S;
	}
	for (i = 0; i <= nr_workers; i++)
		pthread_join(workers[i]->thread, NULL);
}

/* Lines that are no seeds are comments. */
static void read_kept(const char *file)
{
	char line[SEED_TEXT];
	FILE *from = fopen(file, "r");
	struct seed seed;
	int rounds;

	if (!from)
		misused("%s: %s", file, strerror(errno));
	while (fgets(line, sizeof(line), from)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (!seed_parse(&seed, line))
			misused("%s: no seed: %s", file, line);
		for (rounds = 0; rounds < replays; rounds++)
			worker_do(workers[0], &seed);
		if (!replays)
			corpus_add(&seed);
	}
	fclose(from);
}

static void space_open(int space, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	space_fd[space] = open(path, O_RDONLY | O_CLOEXEC);
	if (space_fd[space] < 0)
		misused("%s: %s", path, strerror(errno));
}

static const char usage[] =
"usage: mpa-fuzz [-s SEED] [-t SECONDS] [-n CONNECTIONS] [-w WORKERS]\n"
"                [-p PATIENCE_MS] [-o CORPUS] [-r TIMES]\n"
"                NS NS-WITHOUT-CRC [KEPT...]\n"
"Begins with the seeds in the files KEPT, one a line. Writes those that reach\n"
"new code to CORPUS. -r runs those KEPT alone, each TIMES times.";

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:t:n:w:p:o:r:")) > 0) {
		if (c == 's')
			first_seed = strtoull(optarg, NULL, 0);
		else if (c == 't')
			seconds = atol(optarg);
		else if (c == 'n')
			count_max = atol(optarg);
		else if (c == 'w')
			nr_workers = atoi(optarg);
		else if (c == 'p')
			patience = atoi(optarg);
		else if (c == 'o')
			corpus_to = optarg;
		else if (c == 'r')
			replays = atoi(optarg);
		else
			misused("%s", usage);
	}
	if (argc - optind < SPACES || nr_workers < 1 ||
	    nr_workers > WORKERS_MAX)
		misused("%s", usage);
}

int main(int argc, char **argv)
{
	int i;

	parse(argc, argv);
	for (i = 0; i < SPACES; i++)
		space_open(i, argv[optind + i]);
	cover_open();
	servers_do(true);
	workers_make();
	for (i = optind + SPACES; i < argc; i++)
		read_kept(argv[i]);
	begun = now_ms();
	corpus_keep();
	if (!replays) {
		workers_start();
		workers_wait();
	}
	if (!replays && !workers[nr_workers]->done)
		found(CLEAN, NULL, "no clean peer has been served");
	for (i = 0; i < SPACES; i++)
		check_counters(i);
	servers_do(false);
	progress("#");
	verdict();
	if (corpus_to)
		corpus_write(corpus_to);
	return !!all_findings();
}
