// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* One module for all suites; each suite registers itself. */
#include <linux/module.h>
#include "mpa_compat.h"

MPA_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_DESCRIPTION("KUnit tests of MPA");
MODULE_LICENSE("Dual BSD/GPL");
