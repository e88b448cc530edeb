// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Page fragments for each CPU, for octets to send. TCP keeps all of a page
 * until the last octet in it is acknowledged, and counts only the octets. So
 * connections share pages, as sockets share those of a task. With fragments of
 * its own a connection would keep a page while it is idle; or, if it dropped
 * it, a peer that withholds ACKs would pin a page by each short FPDU.
 *
 * One is for tasks, the other for softirq, which may interrupt a task that is
 * taking or leaving the first.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include "mpa_conn.h"
#include "mpa_tx_train.h"

static DEFINE_PER_CPU(struct page_frag [2], mpa_frags);

/* The fragment of this CPU and context; put_cpu_ptr() follows. */
static struct page_frag *mpa_frag_here(void)
{
	return *get_cpu_ptr(&mpa_frags) + !!in_softirq();
}

/* Take the fragment of this CPU, maybe none, until mpa_frag_give(). */
void mpa_frag_take(struct page_frag *frag)
{
	struct page_frag *here = mpa_frag_here();

	*frag = *here;
	here->page = NULL;
	put_cpu_ptr(&mpa_frags);
}

/*
 * Leave @frag to this CPU. Drop it if another has been left since; or if it is
 * of the memory reserves: skbs of most sockets that had it would be dropped.
 */
void mpa_frag_give(struct page_frag *frag)
{
	struct page_frag *here;
	bool left;

	if (!frag->page)
		return;
	here = mpa_frag_here();
	left = !here->page && !page_is_pfmemalloc(frag->page);
	if (left)
		*here = *frag;
	put_cpu_ptr(&mpa_frags);
	if (!left)
		put_page(frag->page);
	frag->page = NULL;
}

/* Module unload: no connection is left. */
void mpa_frag_exit(void)
{
	struct page_frag *frags;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		frags = *per_cpu_ptr(&mpa_frags, cpu);
		for (i = 0; i < 2; i++)
			if (frags[i].page)
				put_page(frags[i].page);
	}
}
