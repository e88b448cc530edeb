// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* One module for all suites; each suite registers itself. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include "mpa_compat.h"
#include "mpa_row.h"

char *mpa_row = "*";
module_param_named(row, mpa_row, charp, 0444);
MODULE_PARM_DESC(row, "pattern for the rows of tables to be run");

MPA_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_DESCRIPTION("KUnit tests of MPA");
MODULE_LICENSE("Dual BSD/GPL");
