/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tables whose rows are the parameters of a case, of which the parameter "row"
 * of the module selects some. KUnit itself selects suites and cases only.
 */
#ifndef _MPA_ROW_H
#define _MPA_ROW_H

#include <kunit/test.h>
#include <linux/glob.h>
#include "mpa_compat.h"

/* The module's parameter */
extern char *mpa_row;

/* As KUNIT_ARRAY_PARAM_DESC(), without the rows that were not asked for */
#define MPA_ROWS(name, array)						\
static const void *name##_gen_params MPA_KUNIT_PARAMS			\
{									\
	const typeof((array)[0]) * const first = array;			\
	typeof(first + 0) row = prev;					\
	const void *end = (const void *)first + sizeof(array);		\
									\
	for (row = row ? row + 1 : first; (const void *)row < end;	\
	     row++) {							\
		if (!glob_match(mpa_row, row->desc))			\
			continue;					\
		strscpy(desc, row->desc, KUNIT_PARAM_DESC_SIZE);	\
		return row;						\
	}								\
	return NULL;							\
}

#endif /* _MPA_ROW_H */
