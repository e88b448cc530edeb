# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Rings and slots of applications are charged to their memory cgroup.

RINGS=/sys/fs/cgroup/rings

# In KiB: of the group, and of all
charged() { awk '$1 == "vmalloc" { print int($2 / 1024) }' $RINGS/memory.stat; }
vmalloc() { awk '$1 == "VmallocUsed:" { print $2 }' /proc/meminfo; }
# All queues are there: perftest sends less before
is_sending() {
	(($(rdma statistic show link iwb/1 | grep -o ' rx_send [0-9]*' | cut -d' ' -f3) > 1000))
}
uncharged() { (($(charged) == 0)); }

# deep ARGUMENT...: perftest in the group, with deep queues
deep() {
	# shellcheck disable=SC2016
	bash -c 'echo $$ >$0/cgroup.procs && exec "$@"' $RINGS \
		ib_send_bw -R -q 4 -t 2048 -r 2048 -D 10 "$@" >"$STATE/perftest" 2>&1 &
}

rings() {
	local before grown group

	one_guest
	wire mpa mpa
	with_cgroups
	mkdir -p $RINGS
	before=$(vmalloc)
	deep -d iwb
	until_true 30 eval "ss -Hltn 'sport = :18515' | grep -q ." || fail "no server"
	deep -d iwa $B4
	until_true 30 is_sending || fail "nothing is sent: $(cat "$STATE/perftest")"
	group=$(charged) grown=$(($(vmalloc) - before))
	echo "vmalloc: $grown KiB more, $group KiB charged"
	((grown > 4096 && group * 10 >= grown * 9)) || fail "not charged"
	wait
	until_true 30 uncharged || fail "left: $(charged) KiB"
	rmdir $RINGS
}

test_case rings.charged "rings and slots are charged to the application" rings
