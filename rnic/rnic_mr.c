// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions: STags, what may be done with them, and copies.
 *
 * A user of a region increments its users from 1 or more, and then looks at its
 * key, domain, rights and bounds; at key and domain before that as well, since
 * an invalidation counts users of other domains, too. Invalidation takes away
 * the 1 that stands for "valid", and is complete when users is 0.
 * REG_MR changes a region only while users is 0. So no reader sees half of a
 * registration, and after an invalidation nothing is placed.
 *
 * The structure is freed after a grace period: a reader of the xarray, and the
 * user who brings users to 0, may still look at it.
 *
 * Blocks are named by their kernel addresses: there is no highmem, and with a
 * NULL dma_device the RDMA core's DMA addresses are kernel addresses.
 */
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

#define DEREG_TIMEOUT	HZ	/* then connections that hold users end */
#define DEREG_AGAIN	(10 * HZ) /* the next that a context is patient */
#define GLOBAL_MAX	SZ_16M	/* octets that a peer may use at a time */
#define MANY_WAITERS	U32_MAX	/* no QP has this number */

static int mr_number(struct rnic_mr *mr, u8 key)
{
	u32 index;
	int err;

	err = rnic_object_new(mr->ib.device, RNIC_MR, RNIC_MAX_MR);
	if (err)
		return err;
	err = rnic_number(&to_rnic(mr->ib.device)->mrs, &index, mr);
	if (err) {
		rnic_object_gone(mr->ib.device, RNIC_MR);
		return err;
	}
	mr->stag = index << 8 | key;
	mr->ib.lkey = mr->stag;
	mr->ib.rkey = mr->stag;
	return 0;
}

static struct rnic_mr *mr_new(struct ib_pd *pd, int access)
{
	gfp_t gfp = pd->uobject ? GFP_KERNEL_ACCOUNT : GFP_KERNEL;
	struct rnic_mr *mr = kzalloc(sizeof(*mr), gfp);

	if (!mr)
		return NULL;
	mr->ib.device = pd->device;
	mr->pd = pd;
	mr->access = access;
	init_waitqueue_head(&mr->idle);
	spin_lock_init(&mr->lock);
	return mr;
}

static void mr_free(struct rnic_mr *mr)
{
	if (mr->umem)
		ib_umem_release(mr->umem);
	kvfree(mr->block);
	kvfree(mr->next);
	kfree_rcu(mr, rcu);
}

/* From now on it can be used. */
static void mr_validate(struct rnic_mr *mr)
{
	WRITE_ONCE(mr->valid, true);
	/* Pairs with the increment in rnic_mr_get(): a user sees all fields. */
	atomic_set_release(&mr->users, 1);
}

static struct ib_mr *mr_finish(struct rnic_mr *mr, u8 key, bool valid)
{
	int err = mr_number(mr, key);

	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	if (valid)
		mr_validate(mr);
	return &mr->ib;
}

/* All of the kernel's memory, by its addresses */
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access)
{
	struct rnic_mr *mr;

	/* ib_alloc_pd() does not ask for it, but Reads may write here. */
	if (access & IB_ACCESS_REMOTE_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE;
	mr = mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->len = U64_MAX;
	return mr_finish(mr, get_random_u8(), true);
}

static int mr_pin(struct rnic_mr *mr, u64 start, u64 len, u64 virt)
{
	struct ib_block_iter it;
	unsigned long size;

	mr->umem = mpa_umem_get(mr->ib.device, start, len, mr->access);
	if (IS_ERR(mr->umem)) {
		int err = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return err;
	}
	size = ib_umem_find_best_pgsz(mr->umem, PAGE_MASK & GENMASK(30, 0),
				      virt);
	if (!size)
		return -EINVAL;
	mr->iova = virt;
	mr->len = len;
	mr->shift = ilog2(size);
	mr->first = virt & (size - 1);
	mr->max_blocks = ib_umem_num_dma_blocks(mr->umem, size);
	/* An application chooses how many: not a case for a warning */
	mr->block = kvmalloc_array(mr->max_blocks, sizeof(*mr->block),
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->block)
		return -ENOMEM;
	rdma_umem_for_each_dma_block(mr->umem, &it, size) {
		if (WARN_ON_ONCE(mr->nr_blocks == mr->max_blocks))
			return -EINVAL;
		mr->block[mr->nr_blocks++] = rdma_block_iter_dma_address(&it);
	}
	return 0;
}

struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 virt,
			       int access, struct ib_udata *udata)
{
	struct siw_uresp_reg_mr resp = {};
	struct siw_ureq_reg_mr req = {};
	struct rnic_mr *mr;
	struct ib_mr *res;
	int err;

	/* Programs ask for rights that they never use, atomics among them. */
	if (access & (IB_ZERO_BASED | IB_ACCESS_ON_DEMAND))
		return ERR_PTR(-EOPNOTSUPP);
	err = ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen));
	if (err)
		return ERR_PTR(err);
	mr = mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mr_pin(mr, start, len, virt);
	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	res = mr_finish(mr, req.stag_key, true);
	if (IS_ERR(res))
		return res;
	resp.stag = mr->stag;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (!err)
		return res;
	rnic_dereg_mr(res, udata);
	return ERR_PTR(err);
}

/* A handle says how a device is to write to memory: this one does not. */
struct ib_mr *rnic_reg_user_mr_dmah(struct ib_pd *pd, u64 start, u64 len,
				    u64 virt, int access, struct ib_dmah *dmah,
				    struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return rnic_reg_user_mr(pd, start, len, virt, access, udata);
}

struct ib_mr *rnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max)
{
	bool gaps = type == IB_MR_TYPE_SG_GAPS;
	struct rnic_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG && !gaps)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max || max > RNIC_MAX_FR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_new(pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->gaps = gaps;
	mr->max_blocks = max;
	if (gaps)
		max *= 2;
	mr->block = kvmalloc_array(max, sizeof(*mr->block), GFP_KERNEL);
	mr->next = kvmalloc_array(max, sizeof(*mr->next), GFP_KERNEL);
	if (!mr->block || !mr->next) {
		mr_free(mr);
		return ERR_PTR(-ENOMEM);
	}
	return mr_finish(mr, 0, false);
}

static int mr_next_block(struct ib_mr *ib, u64 addr)
{
	struct rnic_mr *mr = to_mr(ib);

	if (mr->nr_next == mr->max_blocks)
		return -ENOMEM;
	mr->next[mr->nr_next++] = addr;
	return 0;
}

/* Each entry is a block, whatever its address and length are. */
static int mr_next_gaps(struct rnic_mr *mr, struct scatterlist *sg, int nents,
			unsigned int *offset)
{
	unsigned int skip = offset ? *offset : 0;
	struct scatterlist *entry;
	u64 len = 0;
	int i;

	nents = min_t(int, nents, mr->max_blocks);
	mr->ib.iova = sg_dma_address(sg) + skip;
	for_each_sg(sg, entry, nents, i) {
		mr->next[i] = sg_dma_address(entry) + skip;
		mr->next[mr->max_blocks + i] = len;
		len += sg_dma_len(entry) - skip;
		skip = 0;
	}
	if (offset)
		*offset = 0;
	mr->ib.length = len;
	mr->nr_next = nents;
	return nents;
}

/* The old registration may still be in use: REG_MR takes over the new one. */
int rnic_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents,
		   unsigned int *offset)
{
	struct rnic_mr *mr = to_mr(ib);

	if (mr->gaps)
		return mr_next_gaps(mr, sg, nents, offset);
	mr->nr_next = 0;
	return ib_sg_to_pages(ib, sg, nents, offset, mr_next_block);
}

/* True if each octet has a block; false after a map_mr_sg() that failed. */
static bool next_is_whole(const struct rnic_mr *mr, u64 len, u32 page_size)
{
	u64 first = mr->ib.iova & (page_size - 1);

	if (mr->gaps)
		return mr->nr_next;
	return len && (u64)mr->nr_next * page_size >= first + len;
}

/*
 * REG_MR. The list stays for another one that no map_mr_sg() precedes. Returns
 * 0, or -EINVAL: in use, another domain or another STag, or no list.
 */
int rnic_mr_register(struct ib_pd *pd, struct ib_mr *ib, u32 key, int access)
{
	struct rnic_mr *mr = to_mr(ib);
	unsigned long flags;
	int err = -EINVAL;

	spin_lock_irqsave(&mr->lock, flags);
	if (!mr->next || mr->pd != pd || key >> 8 != mr->stag >> 8 ||
	    mr->valid || atomic_read(&mr->users) ||
	    !next_is_whole(mr, ib->length, ib->page_size))
		goto unlock;
	memcpy(mr->block, mr->next, mr->nr_next * sizeof(*mr->block));
	if (mr->gaps)
		memcpy(mr->block + mr->max_blocks, mr->next + mr->max_blocks,
		       mr->nr_next * sizeof(*mr->block));
	mr->nr_blocks = mr->nr_next;
	mr->iova = ib->iova;
	mr->len = ib->length;
	mr->shift = ilog2(ib->page_size);
	mr->first = ib->iova & (ib->page_size - 1);
	WRITE_ONCE(mr->stag, key);
	mr->access = access;
	mr_validate(mr);
	err = 0;
unlock:
	spin_unlock_irqrestore(&mr->lock, flags);
	return err;
}

/*
 * Kick the QP whose LOCAL_INV waits, or, if there are several, each QP of the
 * domain. May run in softirq, so without the xarray's lock: destroy_qp() frees
 * a QP after a grace period.
 */
static void mr_kick(const struct rnic_mr *mr, u32 waiter)
{
	struct rnic_dev *dev = to_rnic(mr->ib.device);
	unsigned long number;
	struct rnic_qp *qp;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "no RCU for QPs");
	if (waiter != MANY_WAITERS) {
		qp = xa_load(&dev->qps, waiter);
		if (qp)
			rnic_qp_kick(qp);
		return;
	}
	xa_for_each(&dev->qps, number, qp)
		if (qp->ib.pd == mr->pd)
			rnic_qp_kick(qp);
}

/* With RCU: the region may be freed once users is 0. */
static void mr_drop(struct rnic_mr *mr)
{
	u32 waiter = 0;
	unsigned long flags;

	if (!atomic_dec_and_test(&mr->users))
		return;
	/*
	 * Of two QPs that wait, the first may have registered it again since:
	 * the other one must look, too.
	 */
	spin_lock_irqsave(&mr->lock, flags);
	swap(waiter, mr->waiter);
	spin_unlock_irqrestore(&mr->lock, flags);
	wake_up_all(&mr->idle);
	if (waiter)
		mr_kick(mr, waiter);
}

void rnic_mr_put(struct rnic_mr *mr)
{
	rcu_read_lock();
	mr_drop(mr);
	rcu_read_unlock();
}

/* It is not valid any longer. Returns how many users are left. */
static int mr_invalidate(struct rnic_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	if (!mr->valid)
		return atomic_read(&mr->users);
	WRITE_ONCE(mr->valid, false);
	return atomic_dec_return(&mr->users);
}

static void mr_add_waiter(struct rnic_mr *mr, u32 number)
{
	lockdep_assert_held(&mr->lock);
	if (mr->waiter && mr->waiter != number)
		number = MANY_WAITERS;
	mr->waiter = number;
}

/*
 * Invalidate @stag: for a peer if it is valid and gives any of the rights
 * @access (RFC 5040 section 7.2), for its owner, with @access 0, in any state.
 * Returns 0; -EINVAL if there is no such STag in the domain, or if it is no
 * fast registration; or -EBUSY if it has users. Then it gets no new ones, and
 * @waiter, unless it is NULL, is kicked when the last one is gone, and calls
 * again.
 */
int rnic_mr_invalidate(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
		       int access, struct rnic_qp *waiter)
{
	unsigned long flags;
	struct rnic_mr *mr;
	int err = -EINVAL;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (!mr)
		goto out;
	spin_lock_irqsave(&mr->lock, flags);
	/*
	 * Others than fast registrations are for all streams of the domain:
	 * no peer may end them (RFC 5040 section 8.1.1).
	 */
	if (mr->next && mr->stag == stag && mr->pd == pd &&
	    (!access || (mr->valid && mr->access & access))) {
		/* The last user takes the lock, too, and finds the waiter. */
		err = mr_invalidate(mr) ? -EBUSY : 0;
		if (err && waiter)
			mr_add_waiter(mr, waiter->ib.qp_num);
	}
	spin_unlock_irqrestore(&mr->lock, flags);
	if (!err)
		wake_up_all(&mr->idle);
out:
	rcu_read_unlock();
	return err;
}

/*
 * End the connections that use it: a peer that keeps its window shut, and so a
 * slot with a user, must not delay the caller of dereg_mr(). Which those are
 * only they know, in their own context.
 */
static void mr_end_users(struct rnic_mr *mr)
{
	struct rnic_dev *dev = to_rnic(mr->ib.device);
	unsigned long number;
	struct rnic_qp *qp;

	xa_lock(&dev->qps);
	xa_for_each(&dev->qps, number, qp)
		if (qp->ib.pd == mr->pd || rnic_recv_pd(qp) == mr->pd)
			rnic_qp_check_dying(qp);
	xa_unlock(&dev->qps);
}

static bool timed_out_lately(const struct rnic_ucontext *ctx)
{
	u64 when = READ_ONCE(ctx->timed_out);

	return when && time_before64(get_jiffies_64(), when + DEREG_AGAIN);
}

/*
 * Waits for users, but for no peer: copies are short, and a slot ends with its
 * connection. The region is not in the xarray any longer, so no user is new. A
 * QP that has just looked for another region may not see this one: it is asked
 * again.
 *
 * The core deregisters the regions of a context that is closed, and all of a
 * device that goes, one after the other, each perhaps in use for a peer that
 * keeps its window shut. So a context is patient once in a while: a process
 * with thousands of regions could not be ended otherwise. A device that goes is
 * not patient.
 */
int rnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct rnic_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct rnic_ucontext, ib);
	struct rnic_dev *dev = to_rnic(ib->device);
	struct rnic_mr *mr = to_mr(ib);
	long patience = DEREG_TIMEOUT;

	xa_erase(&dev->mrs, mr->stag >> 8);
	spin_lock_irq(&mr->lock);
	mr_invalidate(mr);
	spin_unlock_irq(&mr->lock);
	if (READ_ONCE(dev->going) || (ctx && timed_out_lately(ctx)))
		patience = 0;
	for (; !wait_event_timeout(mr->idle, !atomic_read(&mr->users),
				   patience); patience = DEREG_TIMEOUT) {
		if (ctx)
			WRITE_ONCE(ctx->timed_out, get_jiffies_64());
		WRITE_ONCE(mr->dying, true);
		mr_end_users(mr);
	}
	rnic_object_gone(ib->device, RNIC_MR);
	mr_free(mr);
	return 0;
}

/*
 * True if there is memory at these kernel addresses, as far as one can know:
 * each page is in the kernel's map of all memory, and can be read. For a peer
 * that has the STag of all memory (IB_PD_UNSAFE_GLOBAL_RKEY): most wrong
 * addresses end its connection, not this kernel. GLOBAL_MAX bounds the time.
 * This is done for each segment, so without get_kernel_nofault(), which is a
 * call.
 */
static bool is_memory(u64 addr, u64 len)
{
	u64 end = addr + len;
	bool found = false;
	u8 octet;

	if (len > GLOBAL_MAX || addr < PAGE_OFFSET ||
	    end > (uintptr_t)high_memory)
		return false;
	pagefault_disable();
	for (; addr < end; addr = (addr & PAGE_MASK) + PAGE_SIZE)
		__get_kernel_nofault(&octet, (u8 *)(uintptr_t)addr, u8, hole);
	found = true;
hole:
	pagefault_enable();
	return found;
}

/*
 * Returns RNIC_MR_OK if @len octets at @addr may be used for @access. The
 * caller is a user of @mr.
 */
enum rnic_mr_error rnic_mr_check(const struct rnic_mr *mr, struct ib_pd *pd,
				 u32 stag, int access, u64 addr, u64 len)
{
	u64 end;

	/*
	 * An invalidation that waits for this user has cleared @valid already:
	 * what the user does from now on is refused.
	 */
	if (mr->stag != stag || !READ_ONCE(mr->valid))
		return RNIC_MR_STAG;
	if (mr->pd != pd)
		return RNIC_MR_PD;
	if ((mr->access & access) != access)
		return RNIC_MR_ACCESS;
	if (check_add_overflow(addr, len, &end))
		return RNIC_MR_WRAP;
	if (addr < mr->iova || end - mr->iova > mr->len)
		return RNIC_MR_BOUNDS;
	if (!mr->block && access & RNIC_REMOTE_ACCESS && !is_memory(addr, len))
		return RNIC_MR_BOUNDS;
	return RNIC_MR_OK;
}

/*
 * Use @len octets at @addr of a region, for @access. Returns it, with a user
 * that rnic_mr_put() gives back, or NULL, and says why.
 */
struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
			    int access, u64 addr, u64 len,
			    enum rnic_mr_error *err)
{
	struct rnic_mr *mr;

	*err = RNIC_MR_STAG;
	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	/*
	 * A connection of another domain does not become a user: an
	 * invalidation counts those.
	 */
	if (mr && (READ_ONCE(mr->stag) != stag || mr->pd != pd)) {
		*err = READ_ONCE(mr->stag) == stag &&
		       atomic_read(&mr->users) ? RNIC_MR_PD : RNIC_MR_STAG;
		mr = NULL;
	}
	if (mr && !atomic_inc_not_zero(&mr->users))
		mr = NULL;
	if (mr) {
		*err = rnic_mr_check(mr, pd, stag, access, addr, len);
		if (*err) {
			mr_drop(mr);
			mr = NULL;
		}
	}
	rcu_read_unlock();
	return mr;
}

/* The block with the octet at @off: the last one that begins there or before */
static void *gaps_at(const struct rnic_mr *mr, u64 off, u32 *room)
{
	const u64 *begin = mr->block + mr->max_blocks;
	u32 low = 0, high = mr->nr_blocks;
	u64 end;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (begin[mid] <= off)
			low = mid;
		else
			high = mid;
	}
	end = high < mr->nr_blocks ? begin[high] : mr->len;
	*room = min_t(u64, end - off, U32_MAX);
	return (void *)(uintptr_t)(mr->block[low] + (off - begin[low]));
}

/*
 * Returns where the octet at @addr is, and in *@room how many octets are there
 * from it on. The caller is a user of @mr.
 */
void *rnic_mr_at(const struct rnic_mr *mr, u64 addr, u32 *room)
{
	u64 off, size;

	if (!mr->block) {
		*room = U32_MAX;
		return (void *)(uintptr_t)addr;
	}
	if (mr->gaps)
		return gaps_at(mr, addr - mr->iova, room);
	off = addr - mr->iova + mr->first;
	size = 1ULL << mr->shift;
	*room = size - (off & (size - 1));
	return (void *)(uintptr_t)(mr->block[off >> mr->shift] +
				   (off & (size - 1)));
}

/*
 * Copy @len octets to @addr, which rnic_mr_check() has allowed. The caller is a
 * user of @mr.
 */
void rnic_mr_place(const struct rnic_mr *mr, u64 addr,
		   struct rnic_payload *from, u32 len)
{
	u32 part;

	for (; len; len -= part) {
		void *to = rnic_mr_at(mr, addr, &part);

		part = min(len, part);
		rnic_payload_take(from, to, part);
		addr += part;
	}
}

/*
 * Count the octets of an element. Memory that is sent must be one message, of
 * 2^32 - 1 octets at most. Memory that is written to may have room for more.
 */
static enum rnic_mr_error sgl_add(struct rnic_sgl *sgl, u32 len, int access)
{
	if (!check_add_overflow(sgl->len, len, &sgl->len))
		return RNIC_MR_OK;
	sgl->len = U32_MAX;
	return access & IB_ACCESS_LOCAL_WRITE ? RNIC_MR_OK : RNIC_MR_LEN;
}

/*
 * Resolve the elements of a work request, by regions of @pd. The kernel's may
 * have the device's local_dma_lkey: kernel addresses. Returns why not; then
 * nothing is held.
 */
enum rnic_mr_error rnic_sgl_get(struct rnic_sgl *sgl, struct rnic_qp *qp,
				struct ib_pd *pd, int access)
{
	enum rnic_mr_error err = RNIC_MR_OK;
	int i;

	sgl->len = 0;
	for (i = 0; i < sgl->nr && !err; i++) {
		const struct siw_sge *sge = &sgl->sge[i];

		sgl->mr[i] = NULL;
		err = sgl_add(sgl, sge->length, access);
		if (err || !sge->length ||
		    (qp->kernel && sge->lkey == qp->dev->ib.local_dma_lkey))
			continue;
		sgl->mr[i] = rnic_mr_get(qp->dev, pd, sge->lkey, access,
					 sge->laddr, sge->length, &err);
	}
	if (err) {
		sgl->nr = i;	/* the rest was not looked at */
		rnic_sgl_put(sgl);
	}
	return err;
}

/* True if dereg_mr() waits for a region of it to have no users. */
bool rnic_sgl_dying(const struct rnic_sgl *sgl)
{
	int i;

	for (i = 0; i < sgl->nr; i++)
		if (sgl->mr[i] && READ_ONCE(sgl->mr[i]->dying))
			return true;
	return false;
}

void rnic_sgl_put(struct rnic_sgl *sgl)
{
	int i;

	for (i = 0; i < sgl->nr; i++)
		if (sgl->mr[i])
			rnic_mr_put(sgl->mr[i]);
	sgl->nr = 0;
}

/* As rnic_sgl_at() */
void *rnic_sgl_find(const struct rnic_sgl *sgl, struct rnic_at *at, u32 *room)
{
	const struct siw_sge *sge = &sgl->sge[at->i];
	u32 left;
	void *res;

	while (at->off == sge->length) {
		at->off = 0;
		sge = &sgl->sge[++at->i];
	}
	left = sge->length - at->off;
	if (!sgl->mr[at->i]) {
		*room = left;
		return (void *)(uintptr_t)(sge->laddr + at->off);
	}
	res = rnic_mr_at(sgl->mr[at->i], sge->laddr + at->off, room);
	*room = min(*room, left);
	return res;
}
