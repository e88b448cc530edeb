#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Cost of the smallest possible pieces, in instructions per octet echoed, both ends
# together, and the cost of the same for plain TCP. The guest counts instructions. The
# status is 1 if MPA exceeds a multiple of plain TCP's cost.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

PARTS=$TOP/tests/dos
# shellcheck disable=SC1091
. "$PARTS/dos.conf"

"$TOP/tests/runner/deps.sh" modules kernel guest
prepare
"$VM_DIR/run" --icount --timeout 1200 --file "${FILES[0]}" \
	-- "$PARTS/cost-guest.sh"
