/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that the cases of ULPDUs after a hole share. */
#ifndef _MPA_CONN_OOO_H
#define _MPA_CONN_OOO_H

#include "mpa_conn_test.h"

/* The peer's stream, whose segments the case injects. */
void gap_begin(struct conn_test *t);
void gap_open(struct conn_test *t, enum conn_role role, u32 flags);
void gap_default(struct conn_test *t);
void gap_widen(struct conn_test *t);
void gap_put_as(struct conn_test *t, u32 from, u32 to, u32 flags);
void gap_put(struct conn_test *t, u32 from, u32 to);
void gap_put_split(struct conn_test *t, u32 from, u32 to, u32 chunk);
void gap_fpdus(struct conn_test *t, u32 nr, u32 len);
u64 gap_pos(const struct conn_test *t, u32 k);
u32 gap_at(const struct conn_test *t, u32 k);
void gap_hole(struct conn_test *t, u32 nr, u32 len);
void gap_three(struct conn_test *t);
void gap_alter(struct conn_test *t, u32 from, u32 to);

/* Checks of the ULPDUs that have been passed and delivered. */
void gap_same(struct conn_test *t, u32 i, u32 k);
void gap_ooo(struct conn_test *t, u32 from, u32 to);
void gap_none(struct conn_test *t);
void gap_all(struct conn_test *t);
void gap_alive(struct conn_test *t);
const void *gap_af_ops(const struct socket *sock);
void gap_kept_same(struct conn_test *t);
u32 gap_queued(struct conn_test *t);
void gap_drop(struct conn_test *t, u32 at);
void gap_clone(struct conn_test *t, struct sk_buff_head *clones);
int gap_rcvbuf(struct conn_test *t, int to);

#endif /* _MPA_CONN_OOO_H */
