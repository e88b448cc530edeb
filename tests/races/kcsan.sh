#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part races on the kernel that looks for data races, see kcsan() there.
exec bash "${0%/*}/races.sh"
