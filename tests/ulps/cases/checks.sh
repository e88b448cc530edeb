# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Do the checks that the other parts rely on notice what they are for?

# change_octet FILE OFFSET
change_octet() {
	local was

	was=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059
	printf "\\x$(printf %x $((was ^ 1)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null || fail "dd"
}

# noticed COMMAND...: fails, as FAILED: says
noticed() {
	local said

	said=$("$@" 2>&1) && fail "not noticed: $*"
	grep -q "^FAILED: $NOTICE" <<<"$said" || fail "$* says: $said"
}

# compared OPTION...: fio reads what was written, and compares
compared() { (PASS=0 && verified /tmp/file rw=randwrite bs=16k size=1m direct=0 "$@"); }

octet() {
	local NOTICE=fio

	truncate -s 1m /tmp/file
	compared do_verify=0 && compared verify_only || exit
	for offset in 0 100000 $((1024 * 1024 - 1)); do
		change_octet /tmp/file "$offset"
		noticed compared verify_only
		change_octet /tmp/file "$offset"
	done
	compared verify_only || fail "as it was, and not good"
	rm /tmp/file
}

# stale: a block of the pass before, as if the write to it were lost
stale() {
	local NOTICE=fio

	(PASS=1 && verified /tmp/file rw=randwrite bs=16k size=1m direct=0) || exit
	cp /tmp/file /tmp/before
	compared do_verify=0 && compared verify_only || exit
	dd if=/tmp/before of=/tmp/file bs=16k count=1 skip=5 seek=5 conv=notrunc ||
		fail "dd"
	noticed compared verify_only
	rm /tmp/file /tmp/before
}

of_tree() {
	local NOTICE="not as unpacked" dir=/tmp/unpacked file change

	file=$(tar -tf /root/tree.tar | grep -m 1 '\.c$')
	for change in "change_octet $dir/$file 100" "rm $dir/$file" "touch $dir/more" \
		"mkdir $dir/more" "ln -sfn nowhere $dir/$LINK"; do
		mkdir $dir
		tree $dir
		(same $dir) || fail "as unpacked, and not good"
		$change
		noticed same $dir
		rm -r $dir
	done
}

# of_connections: what tells that none has ended, or that one was made again
of_connections() {
	local NOTICE

	. "$CASES/nvme.sh"
	unused || fail "used by nothing"
	up mpa mpa
	! unused || fail "not used by connections"
	steady
	NOTICE="crc is not" noticed stayed false
	NOTICE="has not connected" noticed again
	NOTICE="not in the kernel's log" noticed logged 'resetting controller'
	nvme reset /dev/nvme0 || fail "reset"
	is_live
	again
	logged 'resetting controller|nvme nvme0: creating'
	NOTICE="connections have ended" noticed steady
	disconnect
}

LINK=scripts/dtc/include-prefixes/arm
test_case checks.octet "fio notices an octet that is not as written" octet
test_case checks.stale "fio notices a write that was lost" stale
test_case checks.tree "a tree that is not as unpacked is noticed" of_tree
test_case checks.connections "connections that end are noticed" of_connections
