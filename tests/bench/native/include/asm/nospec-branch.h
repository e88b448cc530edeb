/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A processor that needs nothing more */
.macro JMP_NOSPEC reg
	jmp *%\reg
.endm
