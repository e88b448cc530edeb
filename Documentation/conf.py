# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Configuration of Sphinx for "make htmldocs"; tests/static/htmldocs.sh sets KERNEL_SOURCE.

kerneldoc and automarkup are the kernel's own extensions, as is its kernel-doc.
"""

import os
import sys

KERNEL = os.environ["KERNEL_SOURCE"]
sys.path.insert(0, os.path.join(KERNEL, "Documentation", "sphinx"))

# pylint: disable=invalid-name
project = "MPA for Linux"
extensions = ["kerneldoc", "automarkup"]
kerneldoc_bin = os.path.join(KERNEL, "scripts", "kernel-doc")
kerneldoc_srctree = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
primary_domain = "c"
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "70em", "body_max_width": "none"}
html_copy_source = False
