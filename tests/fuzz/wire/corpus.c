// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The seeds that reach something. Many connections run at once, so it is not
 * known which one has reached something new: all that were under way are
 * suspects, and now and then these run again one by one, with nothing else.
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
#define NEWS		4096
#define SUSPECTS	100
#define SESSION_MS	2000	/* from one to the next, at least */
#define SESSION_PART	10	/* of the time may go into them */

struct cover *cover;
/* Reached by a seed of the corpus, and by anything */
static unsigned char known_pcs[COVER_PCS], seen_pcs[COVER_PCS];
static unsigned char known_edges[COVER_EDGES], seen_edges[COVER_EDGES];
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

/* Reached in all */
static unsigned int count(const unsigned char *seen, const unsigned char *map,
			  unsigned int size)
{
	unsigned int i, n = 0;

	for (i = 0; i < size; i++)
		n += seen[i] || map[i];
	return n;
}

unsigned int corpus_places(void)
{
	return count(seen_pcs, cover->pcs, COVER_PCS);
}

unsigned int corpus_edges(void)
{
	return count(seen_edges, cover->edges, COVER_EDGES);
}

int corpus_size(void)
{
	return nr_corpus;
}

void corpus_add(const struct seed *seed)
{
	pthread_mutex_lock(&lock);
	if (nr_corpus < SEEDS)
		corpus[nr_corpus++] = *seed;
	pthread_mutex_unlock(&lock);
}

/* Run all seeds of the corpus first. */
void corpus_kept(void)
{
	nr_kept = nr_corpus;
}

bool corpus_is_due(void)
{
	return next_kept < nr_kept;
}

/* Returns false when all of it has been. */
bool corpus_next_kept(struct seed *seed)
{
	bool is = false;

	pthread_mutex_lock(&lock);
	if (next_kept < nr_kept) {
		*seed = corpus[next_kept++];
		is = true;
	}
	pthread_mutex_unlock(&lock);
	return is;
}

/* Recent seeds are picked more often. */
bool corpus_pick(struct seed *seed, struct rnd *r)
{
	int n, i;

	pthread_mutex_lock(&lock);
	n = nr_corpus;
	if (n) {
		i = rnd_below(r, n);
		if (rnd_below(r, 2))
			i = n - 1 - rnd_below(r, n < 40 ? n : 40);
		*seed = corpus[i];
	}
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
	return nr_suspects && next_kept == nr_kept && now_ms() > next_session;
}

/* Add @map to @known. */
static void learn(unsigned char *known, const unsigned char *map,
		  unsigned int size)
{
	const uint64_t *words = (const void *)map;
	unsigned int i;

	for (i = 0; i < size; i++) {
		if (i % 8 == 0 && !words[i / 8]) {
			i += 7;
			continue;
		}
		known[i] |= map[i];
	}
}

static void forget(void)
{
	learn(seen_pcs, cover->pcs, sizeof(seen_pcs));
	learn(seen_edges, cover->edges, sizeof(seen_edges));
	memset(cover->pcs, 0, sizeof(cover->pcs));
	memset(cover->edges, 0, sizeof(cover->edges));
}

/* Places that one seed reached first, then edges after them */
static unsigned int news[NEWS];
static int nr_news;

static void run_alone(struct worker *w, const struct seed *seed)
{
	forget();
	worker_do(w, seed);
	/* The kernel may still be running the last steps */
	usleep(2000);
}

static void look_for_news(const unsigned char *known, const unsigned char *map,
			  unsigned int size, unsigned int base)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		if (map[i] && !known[i] && nr_news < NEWS)
			news[nr_news++] = base + i;
}

static bool is_reached(unsigned int at)
{
	return at < COVER_PCS ? cover->pcs[at] : cover->edges[at - COVER_PCS];
}

/* Forget places that were not reached again. */
static void sift_news(void)
{
	int i, n = 0;

	for (i = 0; i < nr_news; i++)
		if (is_reached(news[i]))
			news[n++] = news[i];
	nr_news = n;
}

static bool all_news_reached(void)
{
	int i;

	for (i = 0; i < nr_news; i++)
		if (!is_reached(news[i]))
			return false;
	return true;
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

/*
 * To be called while nothing else runs: keep the seed if it reaches something
 * by itself that is not known, twice.
 */
static void corpus_try(struct worker *w, const struct seed *seed)
{
	struct seed least = *seed;

	run_alone(w, seed);
	nr_news = 0;
	look_for_news(known_pcs, cover->pcs, COVER_PCS, 0);
	look_for_news(known_edges, cover->edges, COVER_EDGES, COVER_PCS);
	if (nr_news) {
		run_alone(w, seed);
		sift_news();
	}
	if (!nr_news)
		return;
	learn(known_pcs, cover->pcs, COVER_PCS);
	learn(known_edges, cover->edges, COVER_EDGES);
	minimize(w, &least);
	corpus_add(&least);
}

/* Try all suspects. The first session records what the kept seeds reached. */
void corpus_session(struct worker *w)
{
	long began = now_ms(), took;
	int i;

	if (!next_session) {
		learn(known_pcs, cover->pcs, COVER_PCS);
		learn(known_edges, cover->edges, COVER_EDGES);
	}
	for (i = 0; i < nr_suspects; i++)
		corpus_try(w, &suspects[i]);
	nr_suspects = 0;
	/* Places seen are no longer new. */
	forget();
	memcpy(cover->pcs, seen_pcs, sizeof(seen_pcs));
	memcpy(cover->edges, seen_edges, sizeof(seen_edges));
	took = now_ms() - began;
	next_session = now_ms() + SESSION_MS + took * (SESSION_PART - 1);
}

void corpus_write(const char *file)
{
	char text[COVER_TEXT * 4];
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
