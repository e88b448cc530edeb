/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * For cppcheck, which gets none of the kernel's headers: loops and attributes
 * that it cannot guess from their looks, and what mpa_main.c insists on.
 */
#define __uninitialized
#define CONFIG_INET 1
#define CONFIG_PROC_FS 1
#define CONFIG_SYSCTL 1
#define list_for_each_entry(p, head, member) \
	for (p = list_first(head); p; p = list_next(p))
#define list_for_each_entry_safe(p, n, head, member) \
	for (p = list_first(head), n = list_next(p); p; p = n)
#define rbtree_postorder_for_each_entry_safe(p, n, root, member) \
	for (p = rb_first(root), n = rb_next(p); p; p = n)
#define for_each_online_cpu(cpu) for (cpu = 0; cpu < nr_cpu_ids; cpu++)
#define for_each_possible_cpu(cpu) for (cpu = 0; cpu < nr_cpu_ids; cpu++)
#define skb_queue_walk(queue, skb) \
	for (skb = skb_first(queue); skb; skb = skb_next(skb))
#define skb_rbtree_walk(skb, root) \
	for (skb = skb_first(root); skb; skb = skb_next(skb))
#define xa_for_each(xa, index, p) \
	for (index = 0, p = xa_first(xa); p; p = xa_next(xa, &index))
#define TRACE_EVENT(...)
#define DECLARE_EVENT_CLASS(...)
#define DEFINE_EVENT(...)
#define __get_kernel_nofault(to, from, type, label) \
	do { memcpy(to, from, sizeof(type)); if (!(from)) goto label; } while (0)
