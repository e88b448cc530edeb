# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Segments that break a rule, from the test peer to a program that has posted a receive
# of 16 octets: the Terminate names the rule and repeats the header, and the program ends.
# (It takes a flushed receive for a message, so its status says nothing.) KUnit has each
# rule (mpa_rnic_wire.check_test, mpa_rnic_rx.seg_test); here are those of a queue,
# those of MPA, and all that concern the memory of a program.

SIXTEEN=$(zeroes 16)

# attack STEP...: after the startup, with SETTING at both ends
attack() {
	devices mpa mpa
	[[ -z ${SETTING-} ]] || both "$SETTING"
	serves 7471 rdma_server -s "$B4"
	ns a mpa-peer -t 20 connect "$B4" 7471 request expect-reply:r=0 "$@" ||
		fail "the peer: $?"
	theirs_ended
}

# against BY ERROR ULPDU...: these in one piece, of which the last breaks the rule; BY is
# attack, or known
against() {
	local by=$1 error=$2 steps=() ulpdu

	shift 2
	for ulpdu; do
		steps+=("fpdu:ulpdu=$ulpdu")
	done
	"$by" hold "${steps[@]}" push \
		"expect-fpdu:ulpdu=$(seg_complaint "$error" "$ulpdu")" end:fin
}

# without_header ERROR STEP...: the Terminate repeats nothing
without_header() {
	attack "${@:2}" "expect-fpdu:ulpdu=$(seg_terminate "$1")" end:fin
}

markers_wrong() {
	local SETTING=net.mpa.markers=1

	without_header 2/0/3 "fpdu:ulpdu=$(seg_read 7 100 0 0 0)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 7 100)" \
		"fpdu:size=600,ptradd=4"
}

# A Read without octets needs no STag, and an unknown bit is not looked at.
allowed() {
	attack "fpdu:ulpdu=$(seg_read 7 100 0 99 200)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 7 100)" \
		"fpdu:ulpdu=$(seg_tagged c140 99 300)" \
		"fpdu:ulpdu=$(seg_untagged 0143 0 1 0 "$(zeroes 9)")" \
		"fpdu:ulpdu=$(seg_untagged 7d73 0 1 9 "$(zeroes 7)")" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$SIXTEEN")" \
		fin end:fin
	((!STATUS)) || { show_theirs; fail "the program ended with $STATUS"; }
}

# terminated OCTETS: the peer's own Terminate is not answered by one.
terminated() {
	attack "fpdu:ulpdu=$(seg_untagged 4147 2 1 0 "$1")" end:fin
}

test_case hostile.none "what looks wrong and is allowed" allowed
test_case hostile.queue.3 "no such queue" against attack 1/2/1 \
	"$(seg_untagged 4143 3 1 0 "$SIXTEEN")"
test_case hostile.no_receive "a second Send, and one receive" against attack 1/2/2 \
	"$(seg_untagged 4143 0 1 0 "$SIXTEEN")" "$(seg_untagged 4143 0 2 0 aa)"
test_case hostile.msn "a message is missing" against attack 1/2/3 \
	"$(seg_untagged 4143 0 2 0 "$SIXTEEN")"
test_case hostile.mo "octets of a message are missing" against attack 1/2/4 \
	"$(seg_untagged 0143 0 1 0 aaaaaaaa)" "$(seg_untagged 4143 0 1 5 bb)"
test_case hostile.long "a message longer than its receive" against attack 1/2/5 \
	"$(seg_untagged 4143 0 1 0 "${SIXTEEN}aa")"
test_case hostile.short.41.1 "shorter than a header" without_header 0/2/255 \
	fpdu:ulpdu=41
# A Responder sends nothing before it has had an FPDU
test_case hostile.crc "a bad CRC" without_header 2/0/2 \
	"fpdu:ulpdu=$(seg_read 7 100 0 0 0)" \
	"expect-fpdu:ulpdu=$(seg_tagged c142 7 100)" \
	"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$SIXTEEN"),crc=bad"
test_case hostile.marker "a marker that is wrong" markers_wrong
for term in 00000000 02060000 20020000 00 "" ffffffff "$(zeroes 600)"; do
	test_case "hostile.terminate.$((${#term} / 2)).${term:0:8}" "its Terminate, whatever is in it" \
		terminated "$term"
done

test_case hostile.terminate.not_last "its Terminate, of which a segment is missing" \
	against attack 0/2/255 "$(seg_untagged 0147 2 1 0 00000000)"

# A FIN, and the Send under way has no end
test_case hostile.fin "a FIN inside a message" \
	attack "fpdu:ulpdu=$(seg_untagged 0143 0 1 0 aa)" fin end:fin

# A Request that the program has not taken when it is killed is rejected, and the device
# does not wait for anything: a startup takes 10 s, an answer without a listener a minute.
# The machine may stall, but not each time.
unanswered() {
	killed_unanswered || killed_unanswered || killed_unanswered ||
		fail "the device waits"
}

# True if the device goes at once
killed_unanswered() {
	local before pid

	devices mpa mpa
	serves 7471 ucmatose -b "$B4" -c 9
	before=$(counter b MpaAttached)
	kill -STOP "$PROGRAM"
	ns a mpa-peer -t 20 connect "$B4" 7471 request expect-reply:r=1 end:fin,rest &
	pid=$!
	until_grown b MpaAttached "$before" 1
	sleep 0.5
	kill -KILL "$PROGRAM"
	wait "$pid" || fail "the peer: $?"
	rm "$STATE/devices"
	timeout 2.8 rdma link delete iwb
}
test_case hostile.unanswered "a program that is killed before it answers" unanswered

# rping lets three Requests wait. One more is rejected at once, and the three are not.
crowded() {
	local before n waiting=()

	devices mpa mpa
	serves 7174 rping -s -a "$B4"
	before=$(counter b MpaAttached)
	kill -STOP "$PROGRAM"
	for n in 1 2 3; do
		ns a mpa-peer -t 60 connect "$B4" 7174 request expect-reply:r=1 \
			end:fin,rest &
		waiting+=($!)
		until_grown b MpaAttached "$before" "$n"
	done
	sleep 1
	ns a mpa-peer -t 20 connect "$B4" 7174 request expect-reply:r=1 end:fin,rest ||
		fail "the fourth: $?"
	for n in "${waiting[@]}"; do
		kill -0 "$n" || fail "one of the three was rejected"
	done
	kill -KILL "$PROGRAM"
	for n in "${waiting[@]}"; do
		wait "$n" || fail "one of the three: $?"
	done
}
test_case hostile.backlog "more Requests than a program lets wait" crowded

# The same with an STag that is known: the peer plays the server of rping, whose client
# sends address, STag and length of its buffer first. {k+0001} is that STag plus 1, {b...}
# such an address. The client is stopped, so that its memory can be compared.

OWNED=100

# known_at N: octet N of the buffer; known_stag N: the STag plus N
known_at() { printf '{b%+013d}' "$1"; }
known_stag() { printf '{k%+05d}' "$1"; }

# known_write N PAYLOAD [STAG]; known_read N SIZE [MSN [STAG]]: to or from octet N
known_write() { echo "c140$(known_stag "${3:-0}")$(known_at "$1")$2"; }
known_read() {
	seg_untagged 4141 1 "${3:-1}" 0 "$(printf '%08x%016x%08x' 7 256 "$2")"
	echo "$(known_stag "${4:-0}")$(known_at "$1")"
}

stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# memory: the client's buffer, in hexadecimal
memory() {
	dd if="/proc/$PROGRAM/mem" bs=4096 iflag=skip_bytes,count_bytes status=none \
		skip=$((16#${INFO:0:16})) count=$OWNED | xxd -p | tr -d '\n'
}

# known STEP...: the memory stays as it was, but for octets FIRST and LAST
known() {
	local peer before after

	devices mpa mpa
	command ns a mpa-peer -t 20 listen "$A4" 7174 expect-request:rev=2,A=1,C=1 \
		reply:rev=2,s=1,ird=1,ord=1,A=1,C=1 expect-fpdu:rtr=write \
		expect-fpdu keep:b=18-25,k=26-29 stop "$@" >"$STATE/peer" &
	peer=$!
	until_true 30 grep -q ^listening "$STATE/peer" || fail "no listener"
	theirs rping -c -a "$A4" -S $OWNED -C 1
	until_true 30 stopped "$peer" || { show_theirs; fail "no Send from rping"; }
	kill -STOP "$PROGRAM"
	INFO=$(sed -nE 's/.*ulpdu 4143.{32}([0-9a-f]{32})$/\1/p' "$STATE/peer")
	before=$(memory)
	kill -CONT "$peer"
	wait "$peer" || { tail -n 5 "$STATE/peer"; fail "the peer has not seen that"; }
	after=$(memory)
	kill -KILL "$PROGRAM"
	theirs_ended
	((${#before} == 2 * OWNED)) || fail "the buffer is not read: $before"
	[[ $after == "${FIRST-${before:0:2}}${before:2:-2}${LAST-${before: -2}}" ]] ||
		fail "the buffer was $before and is $after"
}

# The first octet and the last, at most one Read at a time, and no octets anywhere
known_allowed() {
	local FIRST=aa LAST=bb
	known "fpdu:ulpdu=$(known_write 0 aa)" \
		"fpdu:ulpdu=$(known_write $((OWNED - 1)) bb)" \
		"fpdu:ulpdu=$(known_write -5 '' 1)" \
		"fpdu:ulpdu=$(known_read 0 1)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 7 100 aa)" \
		"fpdu:ulpdu=$(known_read $((OWNED - 1)) 1 2)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 7 100 bb)" \
		"fpdu:ulpdu=$(known_read -5 0 3 1)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 7 100)" fin end:fin,rest
}

# Its Terminate in the middle of a Write: the octet before is there
known_terminate() {
	local FIRST=aa
	known "fpdu:ulpdu=8140$(known_stag 0)$(known_at 0)aa" \
		"fpdu:ulpdu=$(seg_terminate 0/0/0)" \
		"fpdu:ulpdu=$(known_write 1 bb)" end:fin,rest
}

known_hostile() { test_case "hostile.known.$1" "$2" against known "${@:3}"; }

test_case hostile.known.none "a known STag, all that is allowed" known_allowed
test_case hostile.known.terminate "its Terminate inside a Write" known_terminate
known_hostile write.before "begins an octet before" 1/1/1 "$(known_write -1 aabb)"
known_hostile write.end "ends an octet after" 1/1/1 \
	"$(known_write $((OWNED - 1)) aabb)"
known_hostile write.after "an octet after" 1/1/1 "$(known_write $OWNED aa)"
known_hostile write.long "and the first octet" 1/1/1 \
	"$(known_write 0 "$(zeroes $((OWNED + 1)))")"
known_hostile write.second "in the second segment" 1/1/1 \
	"8140$(known_stag 0)$(known_at 0)" "$(known_write $OWNED aa)"
known_hostile write.wrap "to the end of all offsets" 1/1/3 \
	"c140$(known_stag 0)ffffffffffffffffaabb"
known_hostile write.key "the key is one more" 1/1/0 "$(known_write 0 aa 1)"
known_hostile write.index "the index is one more" 1/1/0 "$(known_write 0 aa 256)"
known_hostile read.before "begins an octet before" 0/1/1 "$(known_read -1 2)"
known_hostile read.end "ends an octet after" 0/1/1 \
	"$(known_read $((OWNED - 1)) 2)"
known_hostile read.max "all that a Read can ask for" 0/1/1 \
	"$(known_read 0 4294967295)"
known_hostile read.wrap "to the end of all offsets" 0/1/4 \
	"$(seg_untagged 4141 1 1 0 "$(printf '%08x%016x%08x' 7 256 2)")$(
		known_stag 0)ffffffffffffffff"
known_hostile read.key "the key is one more" 0/1/0 "$(known_read 0 1 1 1)"
known_hostile read.ird "two at once, one was agreed" 1/2/2 \
	"$(known_read 0 1 1)" "$(known_read 0 1 2)"
known_hostile response "a Response that nobody asked for" 0/2/6 \
	"c142$(known_stag 0)$(known_at 0)aa"
known_hostile invalidate "an application's STag, which others may use" 0/1/9 \
	"4144$(known_stag 0)$(zeroes 7)01$(zeroes 4)"
