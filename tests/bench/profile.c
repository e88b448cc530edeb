// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Plugin of QEMU's TCG for tests/bench/bench-profile.py: how often the guest executed
 * each instruction of its kernel between two marks. One processor only.
 *
 * A mark is an instruction without effect, see mark.h. At each MARK_END
 * "interval N" is written to the file that out= names, N being the count while
 * idle; then for each instruction executed since MARK_BEGIN its address, in
 * hex, and how often. All of user space counts as address 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mark.h"

/*
 * As much of QEMU's interface for plugins, version 1, as is needed here: Debian
 * does not package the header.
 */
#define EXPORT	__attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { API_VERSION = 1, CB_NO_REGS = 0, INLINE_ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
		void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int cpu, void *data), int flags,
		void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
		int op, void *to, uint64_t add);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = API_VERSION;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc,
			       char **argv);

struct place {
	uint64_t addr;
	uint64_t count;
	uint64_t begin;		/* count at MARK_BEGIN, idle excluded */
	uint64_t idle;		/* count at MARK_IDLE */
};

enum {
	PLACE_BITS	= 21,
	PLACES		= 1 << PLACE_BITS,
	USER_SPACE	= 1,	/* an address; zero is a free place */
};

/* A hash table that never moves, as translated code has pointers into it */
static struct place place[PLACES];
static struct place *places[PLACES];	/* that are in use */
static unsigned int used;
static uint64_t idle;
static FILE *out;

static void die(const char *why)
{
	fprintf(stderr, "profile: %s\n", why);
	exit(1);
}

static struct place *find(uint64_t addr)
{
	size_t i = addr * 0x9e3779b97f4a7c15 >> (64 - PLACE_BITS);

	while (place[i].addr && place[i].addr != addr)
		i = (i + 1) % PLACES;
	if (!place[i].addr) {
		place[i].addr = addr;
		places[used++] = &place[i];
		if (used > PLACES / 4 * 3)
			die("more instructions than there are places");
	}
	return &place[i];
}

static void begin(unsigned int cpu, void *unused)
{
	unsigned int i;

	for (i = 0; i < used; i++)
		places[i]->begin = places[i]->count;
	idle = 0;
}

static void idle_begin(unsigned int cpu, void *unused)
{
	unsigned int i;

	for (i = 0; i < used; i++)
		places[i]->idle = places[i]->count;
}

static void idle_end(unsigned int cpu, void *unused)
{
	unsigned int i;
	uint64_t n;

	for (i = 0; i < used; i++) {
		n = places[i]->count - places[i]->idle;
		places[i]->begin += n;
		idle += n;
	}
}

static void end(unsigned int cpu, void *unused)
{
	unsigned int i;
	uint64_t n;

	fprintf(out, "interval %" PRIu64 "\n", idle);
	for (i = 0; i < used; i++) {
		n = places[i]->count - places[i]->begin;
		if (n)
			fprintf(out, "%" PRIx64 " %" PRIu64 "\n",
				places[i]->addr == USER_SPACE ?
				0 : places[i]->addr, n);
	}
	fflush(out);
	if (ferror(out))
		die("cannot write");
}

/* The mark of an instruction, 0 if it is none */
static int mark_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t before[] = { 0x0f, 0x1f, 0x80 };
	static const uint8_t after[] = { 0x41, 0x50, 0x4d };
	const uint8_t *octets = qemu_plugin_insn_data(insn);

	if (qemu_plugin_insn_size(insn) != 7 ||
	    memcmp(octets, before, 3) || memcmp(octets + 4, after, 3))
		return 0;
	return octets[3];
}

static void look_for_mark(struct qemu_plugin_insn *insn)
{
	static void (*const act[])(unsigned int cpu, void *unused) = {
		[MARK_BEGIN]	= begin,
		[MARK_END]	= end,
		[MARK_IDLE]	= idle_begin,
		[MARK_BUSY]	= idle_end,
	};
	unsigned int mark = mark_of(insn);

	if (mark < sizeof(act) / sizeof(*act) && act[mark])
		qemu_plugin_register_vcpu_insn_exec_cb(insn, act[mark],
						       CB_NO_REGS, NULL);
}

/*
 * By instructions and not by blocks: a block may be left early, by a fault, or
 * restarted at an access to a device.
 */
static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_insn *insn;
	uint64_t addr;
	size_t i;

	for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		addr = qemu_plugin_insn_vaddr(insn);
		if (!(addr >> 63))
			addr = USER_SPACE;
		qemu_plugin_register_vcpu_insn_exec_inline(insn, INLINE_ADD_U64,
							   &find(addr)->count,
							   1);
		look_for_mark(insn);
	}
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "profile: wants out=FILE\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
