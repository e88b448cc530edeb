// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The seeds that others are made of: those kept in files, and those during which
 * something was reached first. Many connections run at once, so not each of these has
 * reached it; but there is less and less to be reached first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"

#define SEEDS		8192
#define RECENT		40	/* seeds that are picked more often */

struct cover *cover;
static struct seed corpus[SEEDS];
static int nr_corpus, nr_kept, next_kept;
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
		n += cover->map[i];
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
	recent = rnd_below(r, 2) && n > RECENT ? RECENT : n;
	if (n)
		*seed = corpus[n - 1 - rnd_below(r, recent)];
	pthread_mutex_unlock(&lock);
	return n;
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
