/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that the cases of ULPDUs after a hole share. */
#ifndef _MPA_CONN_OOO_H
#define _MPA_CONN_OOO_H

#include "mpa_conn_test.h"

/* The peer's stream, whose segments the case injects. */
void gap_begin(struct kunit *test);
void gap_open(struct kunit *test, enum conn_role role, u32 flags);
void gap_default(struct kunit *test);
void gap_widen(struct kunit *test);
void gap_put_as(struct kunit *test, u32 from, u32 to, u32 flags);
void gap_put(struct kunit *test, u32 from, u32 to);
void gap_put_split(struct kunit *test, u32 from, u32 to, u32 chunk);
void gap_fpdus(struct kunit *test, u32 nr, u32 len);
u64 gap_pos(const struct conn_test *t, u32 k);
u32 gap_at(const struct conn_test *t, u32 k);
void gap_three(struct kunit *test);
void gap_alter(struct conn_test *t, u32 from, u32 to);

/* Checks of the ULPDUs that have been passed and delivered. */
void gap_same(struct kunit *test, u32 i, u32 k);
void gap_ooo(struct kunit *test, u32 from, u32 to);
void gap_none(struct kunit *test);
void gap_all(struct kunit *test);
void gap_alive(struct kunit *test);
const void *gap_af_ops(const struct socket *sock);
void gap_kept_same(struct kunit *test);
u32 gap_queued(struct conn_test *t);
void gap_drop(struct kunit *test, u32 at);
void gap_clone(struct conn_test *t, struct sk_buff_head *clones);
int gap_rcvbuf(struct conn_test *t, int to);

#endif /* _MPA_CONN_OOO_H */
