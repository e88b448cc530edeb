# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Builds a consumer outside of mpa's tree: copy it as Makefile next to the source.
#
#	make [KVER=RELEASE]	with the packages mpa-dev and mpa-dkms
#	make [KVER=RELEASE] MPA=DIR	with mpa's tree, whose modules are built
#
# KVER is the kernel to build for; by default the running one.
ifneq ($(MPA_INCLUDE),)

obj-m := mpa_hello.o
ccflags-y := -I$(MPA_INCLUDE)

else

KVER ?= $(shell uname -r)
ifdef MPA
INCLUDE = $(abspath $(MPA))/include
SYMBOLS = $(abspath $(MPA))/Module.symvers
else
INCLUDE = /usr/src/mpa-dev/include
# Of the newest version
SYMBOLS = $(shell printf '%s\n' $(wildcard /var/lib/dkms/mpa/*/$(KVER)/*/Module.symvers) | \
	sort -V | tail -n 1)
endif

.PHONY: modules modules_install clean symbols
modules modules_install: symbols
symbols:
	@[ -e "$(SYMBOLS)" ] || { \
	echo "There is no Module.symvers of mpa for Linux $(KVER): install mpa-dkms, or name" \
		"mpa's tree, with its modules built: make MPA=DIR" >&2; \
	exit 1; }

modules modules_install clean:
	$(MAKE) -C /lib/modules/$(KVER)/build M=$(CURDIR) \
		MPA_INCLUDE=$(INCLUDE) KBUILD_EXTRA_SYMBOLS=$(SYMBOLS) $@

endif
