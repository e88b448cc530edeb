// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Coverage for the fuzzer. Its copy of the modules is compiled with
 * -fsanitize-coverage=trace-pc and so calls the function here at each block of
 * code, whichever work item or softirq runs it. Without CONFIG_KCOV, the kernel
 * has no function of that name. kcov itself would need a kernel of its own, and
 * follows remote work by a handle of the task that began it: a connection that
 * a listener's work item attaches has none.
 */
#include <linux/debugfs.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/vmalloc.h>

#include "mpa_cover.h"

/* Where the code was before, in a task and in a softirq */
struct cover_last {
	u32	at[2];
};

static DEFINE_PER_CPU(struct cover_last, cover_last);
static struct cover *cover;
static struct dentry *cover_file;

static void notrace cover_set(unsigned char *octet)
{
	if (READ_ONCE(*octet))
		return;
	WRITE_ONCE(*octet, 1);
	WRITE_ONCE(cover->fresh, cover->fresh + 1);
}

void __sanitizer_cov_trace_pc(void);

/* A task that sleeps, or moves, makes an edge that is none. They are few. */
void notrace __sanitizer_cov_trace_pc(void)
{
	u32 at = _RET_IP_ % COVER_PCS;
	u32 *last = &raw_cpu_ptr(&cover_last)->at[!!in_serving_softirq()];
	u32 edge = hash_32(*last * 3 ^ at, ilog2(COVER_EDGES));

	*last = at;
	cover_set(&cover->map[at]);
	cover_set(&cover->map[COVER_PCS + edge]);
}
EXPORT_SYMBOL_GPL(__sanitizer_cov_trace_pc);

static int cover_mmap(struct file *file, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, cover, vma->vm_pgoff);
}

static const struct file_operations cover_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.mmap	= cover_mmap,
};

/* Which connections were under way, so that one can be tried again */
static int cover_panic(struct notifier_block *nb, unsigned long event,
		       void *unused)
{
	const struct cover_slot *slot;
	int i;

	for (i = 0; i < COVER_SLOTS; i++) {
		slot = &cover->slots[i];
		if (slot->number)
			pr_emerg("under way, %lu: %.*s\n", slot->number,
				 COVER_TEXT, slot->text);
	}
	return NOTIFY_DONE;
}

static struct notifier_block cover_nb = {
	.notifier_call	= cover_panic,
};

static int __init cover_init(void)
{
	cover = vmalloc_user(sizeof(*cover));
	if (!cover)
		return -ENOMEM;
	atomic_notifier_chain_register(&panic_notifier_list, &cover_nb);
	cover_file = debugfs_create_file_unsafe("mpa_cover", 0600, NULL, NULL,
						&cover_fops);
	return 0;
}

static void __exit cover_exit(void)
{
	debugfs_remove(cover_file);
	atomic_notifier_chain_unregister(&panic_notifier_list, &cover_nb);
	vfree(cover);
}

module_init(cover_init);
module_exit(cover_exit);
MODULE_DESCRIPTION("Coverage of MPA for its fuzzer");
MODULE_LICENSE("Dual BSD/GPL");
