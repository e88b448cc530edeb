// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The seeds that reach something. Many connections run at once, so it is not
 * known which one has reached something new: all that were under way are
 * suspects, and now and then, in a session, these run again one by one, with
 * nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define SEEDS		8192
#define SUSPECTS	100
#define SESSION_MS	2000	/* from one to the next, at least */
#define SESSION_PART	10	/* of the time may go into them */

struct cover *cover;
static unsigned char known[COVER_MAP];	/* reached by seeds of the corpus */
static unsigned char seen[COVER_MAP];	/* reached by anything before */
static unsigned char news[COVER_MAP];	/* reached by one seed first */
static struct seed corpus[SEEDS];
static int nr_corpus, nr_kept, next_kept;
static struct seed suspects[SUSPECTS];
static int nr_suspects;
static long next_session;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Without coverage in the modules, use a map that stays empty */
void cover_open(void)
{
	int fd = open("/sys/kernel/debug/mpa_cover", O_RDWR | O_CLOEXEC);
	int flags = fd < 0 ? MAP_ANONYMOUS | MAP_SHARED : MAP_SHARED;

	cover = mmap(NULL, sizeof(*cover), PROT_READ | PROT_WRITE, flags, fd,
		     0);
	if (cover == MAP_FAILED)
		misused("mmap: %s", strerror(errno));
}

static unsigned int reached(unsigned int from, unsigned int to)
{
	unsigned int i, n = 0;

	for (i = from; i < to; i++)
		n += seen[i] | cover->map[i];
	return n;
}

void corpus_figures(char *to, size_t space)
{
	snprintf(to, space, "corpus=%d places=%u edges=%u", nr_corpus,
		 reached(0, COVER_PCS), reached(COVER_PCS, COVER_MAP));
}

void corpus_add(const struct seed *seed)
{
	pthread_mutex_lock(&lock);
	if (nr_corpus < SEEDS)
		corpus[nr_corpus++] = *seed;
	pthread_mutex_unlock(&lock);
}

/* Run all seeds that are in the corpus now before any other one. */
void corpus_keep(void)
{
	nr_kept = nr_corpus;
}

bool corpus_is_due(void)
{
	return next_kept < nr_kept;
}

/* Returns false when all of them have been. */
bool corpus_next_kept(struct seed *seed)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = corpus_is_due();
	if (is)
		*seed = corpus[next_kept++];
	pthread_mutex_unlock(&lock);
	return is;
}

/* Recent seeds are picked more often. Returns false if there is none. */
bool corpus_pick(struct seed *seed, struct rnd *r)
{
	int n, recent;

	pthread_mutex_lock(&lock);
	n = nr_corpus;
	recent = rnd_below(r, 2) && n > 40 ? 40 : n;
	if (n)
		*seed = corpus[n - 1 - rnd_below(r, recent)];
	pthread_mutex_unlock(&lock);
	return n;
}

/* Something new was reached while it ran. */
void corpus_suspect(const struct seed *seed)
{
	pthread_mutex_lock(&lock);
	if (nr_suspects < SUSPECTS)
		suspects[nr_suspects++] = *seed;
	pthread_mutex_unlock(&lock);
}

bool corpus_session_due(void)
{
	return nr_suspects && !corpus_is_due() && now_ms() > next_session;
}

/* Add to @to all that was reached since forget(). */
static void learn(unsigned char *to)
{
	unsigned int i;

	for (i = 0; i < COVER_MAP; i++)
		to[i] |= cover->map[i];
}

static void forget(void)
{
	learn(seen);
	memset(cover->map, 0, COVER_MAP);
}

static void run_alone(struct worker *w, const struct seed *seed)
{
	forget();
	worker_do(w, seed);
	/* The kernel may still be running the last steps */
	usleep(2000);
}

/* Leave in @news what was reached, and is not known; false: nothing is left. */
static bool narrow_news(void)
{
	unsigned char any = 0;
	unsigned int i;

	for (i = 0; i < COVER_MAP; i++) {
		news[i] &= cover->map[i] & ~known[i];
		any |= news[i];
	}
	return any;
}

static bool all_news_reached(void)
{
	unsigned char missing = 0;
	unsigned int i;

	for (i = 0; i < COVER_MAP; i++)
		missing |= news[i] & ~cover->map[i];
	return !missing;
}

/* Leave out the steps that it can do without. */
static void minimize(struct worker *w, struct seed *seed)
{
	struct seed less;
	int i;

	for (i = seed->nr - 1; i >= 0; i--) {
		less = *seed;
		seed_drop(&less, i);
		run_alone(w, &less);
		if (all_news_reached())
			*seed = less;
	}
}

/* Keep the seed if it reaches something by itself that is not known, twice. */
static void corpus_try(struct worker *w, const struct seed *seed)
{
	struct seed least = *seed;

	memset(news, 1, COVER_MAP);
	run_alone(w, seed);
	if (!narrow_news())
		return;
	run_alone(w, seed);
	if (!narrow_news())
		return;
	learn(known);
	minimize(w, &least);
	corpus_add(&least);
}

/*
 * Try all suspects; to be called while nothing else runs. The first session
 * records what the kept seeds reached.
 */
void corpus_session(struct worker *w)
{
	long began = now_ms(), took;
	int i;

	if (!next_session)
		learn(known);
	for (i = 0; i < nr_suspects; i++)
		corpus_try(w, &suspects[i]);
	nr_suspects = 0;
	/* Places seen are no longer new. */
	forget();
	memcpy(cover->map, seen, COVER_MAP);
	took = now_ms() - began;
	next_session = now_ms() + SESSION_MS + took * (SESSION_PART - 1);
}

void corpus_write(const char *file)
{
	char text[SEED_TEXT];
	FILE *to = fopen(file, "w");
	int i;

	if (!to)
		misused("%s: %s", file, strerror(errno));
	for (i = 0; i < nr_corpus; i++) {
		seed_print(&corpus[i], text, sizeof(text));
		fprintf(to, "%s\n", text);
	}
	fclose(to);
}
