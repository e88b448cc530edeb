# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash

# tcp_ext NAME: the sum of this counter of TCP's in one /proc/net/netstat or more,
# which are read
tcp_ext() {
	awk -v counter="$1" '$1 != "TcpExt:" { next }
		$2 !~ /^[0-9]/ { split($0, name); next }
		{ for (i in name) if (name[i] == counter) sum += $i }
		END { print sum + 0 }'
}
