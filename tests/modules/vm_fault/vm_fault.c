// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Kernel faults on demand, to show that the guest's runner notices them: the
 * module's parameter names the one that loading it causes.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

struct fault {
	const char *name;
	void (*run)(void);
};

static char *fault_name = "";
module_param_named(fault, fault_name, charp, 0444);
MODULE_PARM_DESC(fault, "the fault to cause");

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);

static void fault_warn(void)
{
	WARN(1, "vm_fault: a warning\n");
}

static void fault_oops(void)
{
	int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	WRITE_ONCE(*nowhere, 1);
}

/* Taken in both orders one after the other: no deadlock, but a report. */
static void fault_lockdep(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static void fault_sleep(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static void fault_kasan(void)
{
	char *octets = kmalloc(24, GFP_KERNEL);

	if (!octets)
		return;
	kfree(octets);
	OPTIMIZER_HIDE_VAR(octets);
	WRITE_ONCE(octets[3], 1);
}

static void fault_leak(void)
{
	void *lost;
	int i;

	/* Several, for a stale register or stack slot may still point to one */
	for (i = 0; i < 16; i++) {
		lost = kmalloc(192, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(lost);
	}
}

static void spin_forever(void *unused)
{
	for (;;)
		cpu_relax();
}

/* No processor takes interrupts. */
static void fault_hang(void)
{
	on_each_cpu(spin_forever, NULL, 0);
}

static const struct fault faults[] = {
	{ "warn", fault_warn },
	{ "oops", fault_oops },
	{ "lockdep", fault_lockdep },
	{ "sleep", fault_sleep },
	{ "kasan", fault_kasan },
	{ "leak", fault_leak },
	{ "hang", fault_hang },
};

static int __init fault_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(fault_name, faults[i].name)) {
			faults[i].run();
			return 0;
		}
	}
	return -EINVAL;
}

module_init(fault_init);
MODULE_DESCRIPTION("Kernel faults on demand");
MODULE_LICENSE("Dual BSD/GPL");
