// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The headers of DDP and RDMAP. They are those of the RDMA device, whose object
 * Kbuild does not let two modules have.
 */
#include "../rnic/ddp_wire.c"
