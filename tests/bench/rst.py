# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tables of reStructuredText."""


def table(head, lines):
    cells = [head] + [[str(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = " ".join("=" * width for width in widths)
    text = [" ".join(cell.ljust(width) for cell, width in zip(line, widths))
            .rstrip() for line in cells]
    return "\n".join([rule, text[0], rule, *text[1:], rule]) + "\n"
