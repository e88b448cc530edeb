# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What to build is in Kbuild; this is what to call.

# The running kernel's headers, or else the newest there are, or else the
# guest's kernel where it is built
ifndef KDIR
KDIR := $(wildcard /lib/modules/$(shell uname -r)/build)
ifeq ($(KDIR),)
KDIR := $(shell ls -d /lib/modules/*/build 2>/dev/null | sort -V | tail -n 1)
endif
ifeq ($(KDIR),)
KDIR := $(shell tools/vm/kernel --if-built plain 2>/dev/null)
endif
endif

# KUnit is off in Debian's own kernels
MODULES = CONFIG_MPA=m CONFIG_MPA_SAMPLES=m
MODULES += $(if $(shell grep -s '^CONFIG_KUNIT=' \
	$(KDIR)/include/config/auto.conf),CONFIG_MPA_KUNIT_TEST=m)

BUILD = $(MAKE) -C $(KDIR) M=$(CURDIR) $(MODULES)

.PHONY: all modules modules_install demo check harden fuzz net faults races \
	kcsan dos exit_order dos-cost soak fuzz-core integrity lint interop \
	ooo bench bench-compare bench-profile shell coverage mutants \
	conformance htmldocs clean distclean help need-kdir

all: modules

need-kdir:
	@[ -n "$(KDIR)" ] || { \
	echo "No kernel to build for. Install the headers of the running one:"; \
	echo "    apt-get install linux-headers-$(shell uname -r)"; \
	echo "or those of Debian's newest: apt-get install linux-headers-amd64"; \
	echo "or name a kernel's build directory: make KDIR=DIR"; \
	echo "(make demo and make check build a kernel of their own)"; \
	exit 1; } >&2

modules: need-kdir
	$(BUILD) modules

modules_install: need-kdir
	$(BUILD) modules_install

demo:
	tools/demo

check:
	tools/check $(if $(KERNEL),--kernel $(KERNEL)) $(if $(LONG),--long) \
		$(if $(ONLY),--only '$(ONLY)') $(if $(CASE),--case '$(CASE)')

HARDEN = tools/harden $(if $(SEED),--seed $(SEED)) \
	$(if $(MINUTES),--minutes $(MINUTES)) $(if $(COUNT),--count $(COUNT)) \
	$(if $(KERNEL),--kernel $(KERNEL)) $(if $(LONG),--long)

harden:
	$(HARDEN) $(ONLY)

fuzz net faults races kcsan dos exit_order:
	$(HARDEN) $(if $(ONLY),--only '$(ONLY)') $@

dos-cost:
	tools/harden.d/dos.d/cost

soak:
	$(HARDEN) --soak $(if $(SLICE),--slice $(SLICE)) $(ONLY)

interop:
	tools/interop $(if $(ONLY),'$(ONLY)')

ooo:
	tools/ooo

bench:
	tools/bench $(if $(filter quick,$(BENCH)),--quick) $(if $(DOC),--doc)

bench-compare:
	tools/bench --compare '$(BASE)'

bench-profile:
	tools/bench-profile $(if $(LINES),--lines $(LINES)) \
		$(if $(OF),--of '$(OF)' --again) \
		$(if $(THAN),--than '$(THAN)') '$(ROW)'

shell:
	tools/vm/run --shell $(if $(KERNEL),--kernel $(KERNEL))

coverage:
	tools/coverage

fuzz-core:
	tools/fuzz-core $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(ONLY)

integrity:
	tools/integrity

lint:
	tools/lint $(if $(ONLY),'$(ONLY)')

mutants:
	tools/deps check
	tools/mutants

conformance:
	tools/deps check
	tools/conformance --break $(or $(SEED),1) build/check/results.tap

htmldocs:
	tools/htmldocs

clean:
	$(if $(KDIR),$(BUILD) clean)
	rm -rf build

distclean: clean
	rm -rf "$${MPA_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/mpa}"

help:
	@echo "make                  the modules, for the running kernel or KDIR=DIR"
	@echo "make modules_install  install them there (then: modprobe mpa)"
	@echo "make demo             a file goes through MPA in a guest"
	@echo "make check            all tests; KERNEL=debug all on the debug kernel,"
	@echo "                      LONG=1 with the exhaustive sweeps, and the guest's own"
	@echo "                      tests on the debug kernel,"
	@echo "                      ONLY=PATTERN some jobs alone (ONLY='kunit-*'),"
	@echo "                      CASE=NAME one case alone (mpa_conn.ooo, socket.error.crc)"
	@echo "make harden           what is meant to break it, in short, or ONLY='PART...';"
	@echo "                      LONG=1 kcsan as well"
	@echo "make fuzz             hostile peers; REPLAY='...' a connection it has found"
	@echo "make net              a bad network; ONLY='CELL...' some of its cells"
	@echo "make faults           allocations that fail, on the debug kernel"
	@echo "make races            all calls at once, namespaces and modules that go"
	@echo "make kcsan            the same, on the kernel that looks for data races"
	@echo "make dos              what a peer can use up; ONLY='CASE...' some cases"
	@echo "                      Each for MINUTES=N, or for COUNT=N connections (fuzz),"
	@echo "                      cells (net), reloads (races), closes (dos); SEED=S as"
	@echo "                      that time; KERNEL=plain, debug or kcsan (data races)"
	@echo "make exit_order       mpa is unloaded while a task is about to queue a work item"
	@echo "make dos-cost         instructions that small pieces cost, beside plain TCP"
	@echo "make soak             these side by side, MINUTES=N (10), on the debug kernel"
	@echo "                      or KERNEL=FLAVOUR; SEED=S, SLICE=N that slice alone,"
	@echo "                      ONLY='PART...' some parts"
	@echo "make interop          against siw, and with outside decoders; ONLY=JOB one job"
	@echo "make ooo              what passing ULPDUs out of order brings, and costs"
	@echo "make bench            what MPA costs; BENCH=quick the goals alone,"
	@echo "                      DOC=1 with the documentation's tables and plot"
	@echo "make bench-compare BASE=COMMIT  what costs more than there?"
	@echo "make bench-profile ROW=NAME  the instructions of a row by function;"
	@echo "                      LINES=N so many, OF=FUNCTION inside one, THAN=NAME"
	@echo "                      what is more than of another one"
	@echo "make shell            a guest to type in, with everything loaded"
	@echo "make coverage         which lines the tests reach"
	@echo "make lint             clang, analyzers, semantic patches: what make check has"
	@echo "                      no time for; ONLY=JOB one job"
	@echo "make mutants          do the tests notice small breakages?"
	@echo "make conformance      after make check: ten rows of the conformance table, drawn"
	@echo "                      by SEED=N: does a case fail where a row's function is broken?"
	@echo "make fuzz-core        the framing core under libFuzzer; MINUTES=N SEED=S,"
	@echo "                      ONLY='TARGET...' some targets alone"
	@echo "make integrity        wrong bits in FPDUs, all there are, at all places"
	@echo "make htmldocs         Documentation/ as HTML, in build/htmldocs"
	@echo "make clean            remove what was built here"
	@echo "make distclean        the guest's kernels as well"
