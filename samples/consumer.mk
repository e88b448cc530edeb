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
SYMBOLS = $(lastword $(sort $(wildcard /var/lib/dkms/mpa/*/$(KVER)/*/Module.symvers)))
endif

.PHONY: modules modules_install clean
modules modules_install clean:
	$(MAKE) -C /lib/modules/$(KVER)/build M=$(CURDIR) \
		MPA_INCLUDE=$(INCLUDE) KBUILD_EXTRA_SYMBOLS=$(SYMBOLS) $@

endif
