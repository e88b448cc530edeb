// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The consumers of MPA under test, with their settings. */
#include "fuzz.h"

#define SERVE(_name, _rev, _options, ...)				\
	{ .name = _name, .command = _options, .rev = _rev,		\
	  .listens = true, __VA_ARGS__ }
#define PING(_name, _rev, _options, ...)				\
	{ .name = _name, .command = _options, .rev = _rev, __VA_ARGS__ }

const struct setup setups[] = {
	/* The first, whose port fuzz.sh knows */
	SERVE("serve-rdma", 2, "", .program = true),
	SERVE("serve", 1, "rev=1", .echo = true, .clean = true),
	SERVE("serve-markers", 1, "rev=1 markers=1", .echo = true,
	      .clean = true),
	SERVE("serve-rev0", 0, "rev=0", .echo = true, .clean = true),
	SERVE("serve-rev2", 2, "rev=2", .echo = true, .clean = true),
	SERVE("serve-rev2-markers", 2, "rev=2 markers=1 rtr=send,read",
	      .echo = true, .clean = true),
	SERVE("serve-ooo", 1, "rev=1 ooo=1", .echo = true, .clean = true),
	SERVE("serve-rev2-ooo", 2, "rev=2 ooo=1 ird=4 ord=4", .echo = true),
	SERVE("serve-immediate", 0, "start=immediate", .echo = true,
	      .immediate = true),
	SERVE("serve-hold", 1, "rev=1 markers=1 hold=30", .echo = true),
	SERVE("serve-reject", 2, "rev=2 reject=1 pdata=no"),
	SERVE("serve-sink", 1, "rev=1 mode=sink capture=1"),
	SERVE("serve-lazy", 1, "rev=1 markers=1 mode=sink lazy=1"),
	SERVE("serve-source", 1,
	      "rev=1 markers=1 mode=sink source=1 size=1400 count=40"),
	PING("ping", 1, "rev=1 count=4 verify=1", .echo = true),
	PING("ping-markers", 1, "rev=1 markers=1 count=6 size=700 verify=1",
	     .echo = true),
	PING("ping-rev0", 0, "rev=0 count=3 size=300 verify=1", .echo = true),
	PING("ping-rev2", 2, "rev=2 rtr=send,write,read count=3 verify=1",
	     .echo = true),
	PING("ping-ird", 2, "rev=2 ird=4 ord=4 ird_max=10 rtr=read",
	     .echo = true),
	PING("ping-fallback", 2, "rev=2 fallback=1", .echo = true),
	PING("ping-ooo", 1, "rev=1 ooo=1 count=8 size=500 verify=1",
	     .echo = true),
	PING("ping-immediate", 0, "start=immediate count=4 size=900 verify=1",
	     .echo = true, .immediate = true),
	PING("ping-source", 1, "rev=1 source=1 count=8 size=4000 verify=1",
	     .echo = true),
	PING("ping-zerocopy", 1,
	     "rev=1 markers=1 zerocopy=1 size=5000 count=8 verify=1",
	     .echo = true),
	PING("ping-sink", 1, "rev=1 mode=sink size=100 count=200 batch=20"),
};

const int nr_setups = sizeof(setups) / sizeof(setups[0]);
