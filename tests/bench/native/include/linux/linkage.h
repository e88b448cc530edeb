/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* As much of it as the kernel's assembly of the CRC needs, for user space */
#define SYM_FUNC_START(name)	.globl name; .type name, @function; name:
#define SYM_FUNC_END(name)	.size name, . - name
#define ENDBR
#define RET			ret
