// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rings, which user space may map; the only file that reads requests.
 * (rnic_srq.c looks at a VALID flag, rnic_cq.c at that of an entry and at the
 * flags that arm.) An application can write to all of a ring at any time: an
 * entry is copied once, and only the copy is looked at. No index is read back.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

/* libsiw takes SIW_INVAL_UOBJ_KEY for a failure: all are above it. In pages */
#define FIRST_KEY	((SIW_INVAL_UOBJ_KEY >> PAGE_SHIFT) + 1)

int rnic_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata)
{
	struct siw_uresp_alloc_ctx resp = {};

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

void rnic_dealloc_ucontext(struct ib_ucontext *ctx)
{
}

/*
 * The core has destroyed the objects; mapped pages stay until they are
 * unmapped.
 */
void rnic_disassociate_ucontext(struct ib_ucontext *ctx)
{
}

/* The core has seen that it maps an entry as a whole. */
int rnic_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	unsigned long addr;
	int err = 0;
	void *mem;

	entry = rdma_user_mmap_entry_get(ctx, vma);
	if (!entry)
		return -EINVAL;
	mem = container_of(entry, struct rnic_map, entry)->mem;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	for (addr = vma->vm_start; addr < vma->vm_end && !err;
	     addr += PAGE_SIZE, mem += PAGE_SIZE)
		err = vm_insert_page(vma, addr, vmalloc_to_page(mem));
	rdma_user_mmap_entry_put(entry);
	return err;
}

/* It can no longer be mapped; what is mapped has references on the pages. */
void rnic_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct rnic_map *map = container_of(entry, struct rnic_map, entry);

	vfree(map->mem);
	kfree(map);
}

/*
 * Allocate a ring; with @udata it can be mapped, by @key, and is charged to the
 * memory cgroup of the caller. Returns an ERR_PTR() if that fails.
 */
void *rnic_ring_new(size_t size, struct ib_udata *udata, struct rnic_map **res,
		    u64 *key)
{
	struct ib_ucontext *ctx;
	struct rnic_map *map;
	void *mem;
	int err;

	*res = NULL;
	mem = __vmalloc(size, (udata ? GFP_KERNEL_ACCOUNT : GFP_KERNEL) |
			__GFP_ZERO);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	if (!udata)
		return mem;
	ctx = &rdma_udata_to_drv_context(udata, struct rnic_ucontext, ib)->ib;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	err = map ? 0 : -ENOMEM;
	if (!err) {
		map->mem = mem;
		err = rdma_user_mmap_entry_insert_range(ctx, &map->entry,
							PAGE_ALIGN(size),
							FIRST_KEY, U32_MAX);
	}
	if (err) {
		kfree(map);
		vfree(mem);
		return ERR_PTR(err);
	}
	*key = rdma_user_mmap_get_offset(&map->entry);
	*res = map;
	return mem;
}

void rnic_ring_free(void *mem, struct rnic_map *map)
{
	if (map)
		rdma_user_mmap_entry_remove(&map->entry);
	else
		vfree(mem);
}

int rnic_queue_new(struct rnic_queue *q, u32 wr, size_t entry,
		   struct ib_udata *udata, u64 *key)
{
	void *ring;

	spin_lock_init(&q->lock);
	q->size = roundup_pow_of_two(max(wr, 1U));
	ring = rnic_ring_new(q->size * entry, udata, &q->map, key);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	q->sqe = ring;
	return 0;
}

/* Post a receive request of the kernel. With the lock. */
static int rqe_post(struct rnic_queue *q, u32 max_sge,
		    const struct ib_recv_wr *wr)
{
	struct siw_rqe *rqe;
	int i;

	lockdep_assert_held(&q->lock);
	if (!q->size || wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	rqe = &q->rqe[q->put & (q->size - 1)];
	if (rqe->flags & SIW_WQE_VALID)
		return -ENOMEM;
	rqe->id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++)
		rqe->sge[i] = (struct siw_sge) {
			.laddr	= wr->sg_list[i].addr,
			.length	= wr->sg_list[i].length,
			.lkey	= wr->sg_list[i].lkey,
		};
	/* Pairs with rnic_rqe_take() */
	smp_store_release(&rqe->flags, SIW_WQE_VALID);
	q->put++;
	return 0;
}

/* Post receive requests of the kernel, up to the first that fails. */
int rnic_rqes_post(struct rnic_queue *q, u32 max_sge,
		   const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&q->lock, flags);
	while (wr && !err) {
		err = rqe_post(q, max_sge, wr);
		if (!err)
			wr = wr->next;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	if (err)
		*bad = wr;
	return err;
}

/*
 * Copy those of the @nr elements of an entry that follow the first, which is
 * copied with the entry. The caller refuses an entry that has too many.
 */
static void sges_take(struct siw_sge *to, const struct siw_sge *from, u32 nr)
{
	u32 i;

	for (i = 1; i < min_t(u32, nr, RNIC_MAX_SGE); i++)
		to[i] = from[i];
}

/*
 * The entry has been copied. VALID means "not taken yet": once it is cleared
 * the application may write the next request there; and libsiw rings the
 * doorbell only if the entry before its own is idle.
 */
static void entry_taken(struct rnic_queue *q, u16 *flags)
{
	/*
	 * Pairs with libsiw's load of the flags before it writes there: the
	 * copy comes before what it writes next.
	 */
	smp_store_release(flags, 0);
	/*
	 * Cleared before the next is looked at. Pairs with libsiw's order: it
	 * makes its entry VALID, then looks whether the one before is idle.
	 */
	smp_mb();
	WRITE_ONCE(q->get, q->get + 1);
}

/* Take the next entry of a ring. With the lock */
bool rnic_sqe_take(struct rnic_queue *q, struct siw_sqe *sqe)
{
	struct siw_sqe *from = &q->sqe[q->get & (q->size - 1)];
	u16 flags;

	lockdep_assert_held(&q->lock);
	/* VALID is written last: by sq_post() or, if it complies, libsiw. */
	flags = smp_load_acquire(&from->flags);
	if (!(flags & SIW_WQE_VALID))
		return false;
	memcpy(sqe, from, offsetof(struct siw_sqe, sge[1]));
	sqe->flags = flags;
	if (flags & SIW_WQE_INLINE)
		memcpy(&sqe->sge[1], &from->sge[1], RNIC_MAX_INLINE);
	else
		sges_take(sqe->sge, from->sge, sqe->num_sge);
	entry_taken(q, &from->flags);
	return true;
}

/* Entries that have not been taken. With the lock */
u32 rnic_sqe_posted(const struct rnic_queue *q)
{
	u32 n = 0;

	lockdep_assert_held(&q->lock);
	while (n < q->size &&
	       READ_ONCE(q->sqe[(q->get + n) & (q->size - 1)].flags) &
	       SIW_WQE_VALID)
		n++;
	return n;
}

bool rnic_rqe_take(struct rnic_queue *q, struct siw_rqe *rqe)
{
	struct siw_rqe *from = &q->rqe[q->get & (q->size - 1)];
	u16 flags;

	lockdep_assert_held(&q->lock);
	/* VALID is written last: by rqe_post() or libsiw. */
	flags = smp_load_acquire(&from->flags);
	if (!(flags & SIW_WQE_VALID))
		return false;
	memcpy(rqe, from, offsetof(struct siw_rqe, sge[1]));
	sges_take(rqe->sge, from->sge, rqe->num_sge);
	entry_taken(q, &from->flags);
	return true;
}
