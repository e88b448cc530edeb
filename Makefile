# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Targets to call; Kbuild lists what is built

# Modules are built for the running kernel, or for that of KDIR=DIR
RUNNING := $(shell uname -r)
KDIR ?= /lib/modules/$(RUNNING)/build
RELEASE := $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null)

# Kbuild leaves mpa_rnic out where the kernel has no RDMA
MODULES = CONFIG_MPA=m CONFIG_MPA_RNIC=m CONFIG_MPA_SAMPLES=m
# The unit tests only if asked for: some distributions' kernels have KUnit
MODULES += $(if $(KUNIT),CONFIG_MPA_KUNIT_TEST=m CONFIG_MPA_RNIC_KUNIT_TEST=m)

# Not empty if the headers found for the running kernel are those of another one
MISLED = $(and $(filter file,$(origin KDIR)),$(filter-out $(RUNNING),$(RELEASE)))

# 6.12 if the release is not older
OLDEST = $(shell printf '%s\n' 6.12 $(RELEASE) | sort -V | head -n 1)

# Lines that use it begin with + for make's job slots
BUILD = $(MAKE) -C $(KDIR) M=$(CURDIR) $(MODULES)

# rm would take a path with a blank for several paths
ifneq ($(filter %install,$(MAKECMDGOALS)),)
$(foreach name,CURDIR DESTDIR INSTALL_MOD_PATH INSTALL_MOD_DIR PREFIX,\
	$(if $(word 2,x$($(name))x),\
		$(error $(name) may have no blank: '$($(name))')))
endif

# install and uninstall: as in the kernel's modules_install, and for packages
# The kernel's make runs in another directory, so the path may not be a relative one;
# override is for one on the command line
override INSTALL_MOD_PATH := $(abspath $(or $(INSTALL_MOD_PATH),$(DESTDIR)))
INSTALL_MOD_DIR ?= updates
PREFIX ?= /usr
MODDIR = $(INSTALL_MOD_PATH)/lib/modules/$(RELEASE)
# What DKMS has installed, on Debian, and on Fedora: which of the two is loaded is chance
BY_DKMS = $(wildcard $(patsubst %,$(MODDIR)/%/mpa.ko*,$(filter-out $(INSTALL_MOD_DIR),\
	updates/dkms extra)))
DOCDIR = $(abspath $(or $(DESTDIR),$(INSTALL_MOD_PATH)))$(PREFIX)/share/doc/mpa
EXAMPLES = $(DOCDIR)/examples
# The release of the kernel that mpa.ko was built for
BUILT_FOR = PATH=$$PATH:/usr/sbin:/sbin modinfo -F vermagic ./mpa.ko | cut -d ' ' -f 1
# A directory that a package is made from has no kernel to know the modules of
DEPMOD = [ ! -e $(MODDIR)/modules.order ] || \
	PATH=$$PATH:/usr/sbin:/sbin depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(RELEASE)

.PHONY: all modules modules_install install uninstall deb packages demo check \
	matrix harden fuzz net faults races kcsan dos exit_order life scribble \
	integrity lint interop ulps bench bench-compare \
	bench-cpus bench-profile shell coverage mutants htmldocs patches \
	tools tools_install tools_uninstall clean distclean help need-kdir

all: modules

need-kdir:
	@[ -n "$(RELEASE)" ] || { \
	echo "$(KDIR) has no kernel to build for."; \
	echo "Install the headers of the running kernel:"; \
	has() { command -v $$1 >/dev/null; }; \
	if has apt-get; then echo "    apt-get install linux-headers-$(RUNNING)"; \
	elif has dnf; then echo "    dnf install kernel-devel-$(RUNNING)"; \
	elif has zypper; then echo "    zypper install kernel-default-devel"; \
	else echo "    in the way of your distribution"; fi; \
	echo "or name another kernel's build directory: make KDIR=DIR"; \
	ls -d /lib/modules/*/build/include/config 2>/dev/null | \
		sed 's|^|    make KDIR=|; s|/include/config$$||'; \
	echo "(make demo and make check build a kernel of their own)"; \
	exit 1; } >&2
	@[ -z "$(MISLED)" ] || { \
	echo "$(KDIR) is of Linux $(RELEASE), but $(RUNNING) is running:" \
		"name the kernel's build directory, make KDIR=DIR"; \
	exit 1; } >&2
	@[ "$(OLDEST)" = 6.12 ] || { \
	echo "mpa needs Linux 6.12, not $(RELEASE): on Debian 12 apt-get install" \
		"linux-image-6.12-amd64 linux-headers-6.12-amd64" \
		"(bookworm-security), and boot it"; \
	exit 1; } >&2

modules: need-kdir
	@echo "For Linux $(RELEASE), $(KDIR)"
	+$(BUILD) modules

# The kernel's own key is in its build directory only if it was built there; without it
# nothing is signed here. The kernel calls depmod only where it finds a System.map, which
# Debian's headers lack; so that is done here, and its warning left out.
modules_install: SHELL = /bin/bash
modules_install: .SHELLFLAGS = -o pipefail -c
modules_install: need-kdir
	@[ -e modules.order ] || { echo "Nothing is built: make first" >&2; exit 1; }
	@built=$$($(BUILT_FOR)); [ "$$built" = "$(RELEASE)" ] || { \
	echo "mpa.ko is built for Linux $${built:-?}, not $(RELEASE):" \
		"give make install the KDIR that make had, or make again" >&2; \
	exit 1; }
	@[ -z "$(BY_DKMS)" ] || { \
	echo "DKMS has installed $(BY_DKMS): remove that first, by apt-get purge mpa-dkms" \
		"or dkms remove mpa/VERSION --all" >&2; \
	exit 1; }
	+{ $(BUILD) modules_install INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) \
		INSTALL_MOD_DIR=$(INSTALL_MOD_DIR) INSTALL_MOD_STRIP=1 \
		$(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=) \
		2>&1 >&3 | sed "/missing 'System.map'/d" >&2; } 3>&1
	$(DEPMOD)
	@[ -e $(KDIR)/certs/signing_key.pem ] || echo "Not signed: the kernel's own key is" \
		"not there. For Secure Boot see Documentation/networking/mpa.rst."

install: modules_install
	install -D -m 644 conf/modules-load.conf $(EXAMPLES)/modules-load.d/mpa.conf
	install -D -m 644 conf/sysctl.conf $(EXAMPLES)/sysctl.d/mpa.conf

# Also once the headers are gone
uninstall: RELEASE := $(or $(KVER),$(RELEASE),$(patsubst /lib/modules/%/build,%,$(filter \
	/lib/modules/%/build,$(abspath $(KDIR)))))
uninstall:
	@[ -n "$(RELEASE)" ] || { \
	echo "$(KDIR) does not say of which kernel it is: make uninstall KVER=RELEASE" >&2; \
	exit 1; }
	rm -f $(foreach m,mpa mpa_hello mpa_kunit mpa_ping mpa_rnic \
		mpa_rnic_kunit, \
		$(MODDIR)/$(INSTALL_MOD_DIR)/$m.ko $(MODDIR)/$(INSTALL_MOD_DIR)/$m.ko.*)
	rm -rf $(DOCDIR)
	$(DEPMOD)

deb:
	tests/packages/deb.sh

packages:
	tests/packages/packages.sh $(if $(SUITE),--suite $(SUITE)) $(if $(ONLY),'$(ONLY)')

tools:
	$(MAKE) -C tools/mpa

tools_install tools_uninstall: tools_%:
	$(MAKE) -C tools/mpa $* $(if $(DESTDIR),DESTDIR=$(abspath $(DESTDIR)))

demo:
	tests/demo/demo.sh

check:
	tests/check.sh $(if $(KERNEL),--kernel $(KERNEL)) $(if $(LONG),--long) \
		$(if $(ONLY),--only '$(ONLY)') $(if $(CASE),--case '$(CASE)')

HARDEN = tests/harden.sh $(if $(SEED),--seed $(SEED)) \
	$(if $(MINUTES),--minutes $(MINUTES)) $(if $(COUNT),--count $(COUNT)) \
	$(if $(KERNEL),--kernel $(KERNEL)) $(if $(LONG),--long)

harden:
	$(HARDEN) $(ONLY)

fuzz net faults races kcsan dos exit_order life scribble:
	$(HARDEN) $(if $(ONLY),--only '$(ONLY)') $@

matrix:
	tests/matrix/matrix.sh $(ONLY)

interop:
	tests/interop/interop.sh $(if $(ONLY),'$(ONLY)')

ulps:
	tests/ulps/ulps.sh $(if $(KERNEL),--kernel $(KERNEL)) $(if $(LONG),--long) \
		$(if $(MINUTES),--minutes $(MINUTES)) $(ONLY)

bench:
	tests/bench/bench.sh $(if $(BENCH),--$(BENCH)) $(if $(DOC),--doc) \
		$(if $(KERNEL),--kernel $(KERNEL))

bench-compare:
	tests/bench/bench.sh --compare '$(BASE)'

bench-cpus:
	tests/bench/cpus.sh $(CPUS)

bench-profile:
	tests/bench/bench-profile.py $(if $(LINES),--lines $(LINES)) \
		$(if $(OF),--of '$(OF)' --again) \
		$(if $(THAN),--than '$(THAN)') '$(ROW)'

shell:
	tests/vm/run --shell $(if $(KERNEL),--kernel $(KERNEL))

coverage:
	tests/mutants/coverage.sh

integrity:
	tests/core/sweep.sh bits

lint:
	tests/static/lint.sh $(if $(ONLY),'$(ONLY)')

mutants:
	tests/runner/deps.sh check
	tests/mutants/mutants.py

htmldocs:
	tests/static/htmldocs.sh

patches:
	tests/runner/deps.sh kernel check
	tools/patches/patches.sh $(if $(BUILD_PATCHES),--build) $(or $(TREE),$(KERNEL))

# Without headers: what the kernel's make would remove
BUILT = *.o *.ko *.mod *.mod.c .*.cmd .*.d *.gcno Module.symvers modules.order mpa_vectors.h
clean:
	+$(if $(RELEASE),$(BUILD) clean,find . -name .git -prune -o -type f \
		\( -false $(foreach name,$(BUILT),-o -name '$(name)') \) -exec rm -f {} +)
	$(if $(wildcard tools/mpa),$(MAKE) -C tools/mpa clean)
	rm -rf build

distclean: clean
	rm -rf "$${MPA_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/mpa}"

help:
	@echo "make, make modules    the modules, for the running kernel or KDIR=DIR;"
	@echo "                      mpa_rnic only if that kernel has RDMA;"
	@echo "                      KUNIT=1 the unit tests, too, if it has KUnit (python3)"
	@echo "make install          install them there (then: modprobe mpa), and examples of"
	@echo "                      settings; make uninstall removes them; both with the"
	@echo "                      KDIR that make had, uninstall with KVER=RELEASE if it"
	@echo "                      is gone; DESTDIR=DIR or"
	@echo "                      INSTALL_MOD_PATH=DIR: all below DIR; INSTALL_MOD_DIR=DIR"
	@echo "                      (updates); PREFIX=DIR of the examples (/usr)"
	@echo "make modules_install  the same without the examples"
	@echo "make deb              Debian packages, in build/deb: mpa-dkms, mpa-dev, mpa-tools"
	@echo "make packages         builds, installs and removes these on Debian 12 and"
	@echo "                      13; SUITE=trixie one of them, ONLY='PART...' some of it"
	@echo "make tools            the command mpa, which shows connections (libmnl-dev);"
	@echo "                      make tools_install PREFIX=DIR (/usr/local), and"
	@echo "                      make tools_uninstall with the same PREFIX"
	@echo "make demo             a file goes through MPA in a guest; rping over RDMA devices"
	@echo "make check            all tests; KERNEL=debug all on the debug kernel,"
	@echo "                      LONG=1 with the exhaustive sweeps, and the guest's own"
	@echo "                      tests on the debug kernel,"
	@echo "                      ONLY=PATTERN some jobs alone (ONLY='kunit-*'),"
	@echo "                      CASE=NAME one case alone (mpa_conn.ooo, socket.echo.bound)"
	@echo "                      KERNEL=newest on the newest kernel of Debian"
	@echo "make matrix           builds for the kernels of Debian; ONLY='sid/rt' some"
	@echo "make harden           tests that try to break it, short, or ONLY='PART...';"
	@echo "                      LONG=1 kcsan as well"
	@echo "make fuzz             hostile peers; REPLAY='...' a connection found"
	@echo "make net              a bad network; ONLY='CELL...' some of its cells"
	@echo "make faults           allocations that fail, on the debug kernel"
	@echo "make races            all calls at once; namespaces and modules removed"
	@echo "make kcsan            races, on the kernel that looks for data races"
	@echo "make dos              denial of service; ONLY='CASE...' some cases"
	@echo "                      Each for MINUTES=N, or for COUNT=N connections (fuzz),"
	@echo "                      cells (net) or reloads (races); SEED=S as"
	@echo "                      that time; KERNEL=plain, debug or kcsan (data races)"
	@echo "make exit_order       mpa is unloaded while a task is about to queue a work item"
	@echo "make life             RDMA devices, netdevs and applications go under load;"
	@echo "                      ONLY='CASE...' some cases, COUNT=N connections"
	@echo "make scribble         applications write to the queues of an RDMA device;"
	@echo "                      MINUTES=N, COUNT=N requests"
	@echo "make interop          against siw, and with outside decoders;"
	@echo "                      ONLY='mpa.siw.rping*' some cases"
	@echo "make ulps             NVMe, iSER, NFS, SMB Direct and SRP over RDMA devices;"
	@echo "                      ONLY='nvme' one of them, ONLY='nvme.*ext4' some cases;"
	@echo "                      LONG=1 all; MINUTES=N with memory short for so long;"
	@echo "                      KERNEL=debug+ulps"
	@echo "make bench            cost of MPA; BENCH=quick the goals alone,"
	@echo "                      DOC=1 with the documentation's tables and plot,"
	@echo "                      KERNEL=plain+newest on that kernel, or plain+retpoline"
	@echo "make bench-compare BASE=COMMIT  rows that cost more than there"
	@echo "make bench-cpus       MB/s on CPUS=2 processors, by net.mpa.cpus"
	@echo "make bench-profile ROW=NAME  the instructions of a row by function;"
	@echo "                      LINES=N lines, OF=FUNCTION inside one, THAN=NAME"
	@echo "                      the difference to another row"
	@echo "make shell            a guest to type in, with everything loaded; KERNEL=debug"
	@echo "make coverage         which lines the tests reach"
	@echo "make lint             clang, analyzers, semantic patches: too slow for"
	@echo "                      make check; ONLY=JOB one job"
	@echo "make mutants          tests that the tests notice small breakages"
	@echo "make integrity        wrong bits in FPDUs, all patterns, at all places"
	@echo "make htmldocs         Documentation/ as HTML, in build/htmldocs"
	@echo "make patches          MPA as patches for a kernel, in build/patches; TREE=DIR its"
	@echo "                      source, else the guest's, or with KERNEL=newest Debian's"
	@echo "                      newest; BUILD_PATCHES=1 builds each, and runs KUnit on the"
	@echo "                      whole by kunit.py"
	@echo "make clean            remove the files built here"
	@echo "make distclean        the guest's kernels as well"
