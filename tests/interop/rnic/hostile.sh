# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Segments that break a rule, from the test peer to a program that has posted a receive
# of 16 octets: the Terminate names the rule and repeats the header, and the program ends.
# (It takes a flushed receive for a message, so its status says nothing.)

SIXTEEN=$(zeroes 16)

# attack STEP...: after the startup
attack() {
	devices mpa mpa
	serves 7471 rdma_server -s "$B4"
	ns a mpa-peer -t 20 connect "$B4" 7471 request expect-reply:r=0 "$@" ||
		fail "the peer: $?"
	theirs_ended
}

# against ERROR ULPDU...: these in one piece, of which the last breaks the rule
against() {
	local error=$1 steps=() ulpdu

	shift
	for ulpdu; do
		steps+=("fpdu:ulpdu=$ulpdu")
	done
	attack hold "${steps[@]}" push \
		"expect-fpdu:ulpdu=$(seg_complaint "$error" "$ulpdu")" end:fin
}

# without_header ERROR STEP...: the Terminate repeats nothing
without_header() {
	attack "${@:2}" "expect-fpdu:ulpdu=$(seg_terminate "$1")" end:fin
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

hostile() { test_case "hostile.$1" "$2" against "${@:3}"; }

test_case hostile.none "what looks wrong and is allowed" allowed
hostile ddp_version "version 2 of DDP, untagged" 1/2/6 \
	"$(seg_untagged 4243 0 1 0 "$SIXTEEN")"
hostile ddp_version.tagged "version 0 of DDP, tagged" 1/1/4 \
	"$(seg_tagged c040 99 100 aa)"
hostile rdmap_version "version 2 of RDMAP" 0/2/5 \
	"$(seg_untagged 4183 0 1 0 "$SIXTEEN")"
for opcode in 8 9 a b c d e f; do
	hostile opcode.$opcode "no such message" 0/2/6 \
		"$(seg_untagged 414$opcode 0 1 0 "$SIXTEEN")"
done
hostile opcode.tagged "a tagged Send" 0/2/6 "$(seg_tagged c143 99 100 aa)"
hostile opcode.untagged "an untagged Write" 0/2/6 \
	"$(seg_untagged 4140 0 1 0 "$SIXTEEN")"
hostile opcode.queue "a Send on the queue of Reads" 0/2/6 \
	"$(seg_untagged 4143 1 1 0 "$SIXTEEN")"
for queue in 3 4294967295; do
	hostile queue.$queue "no such queue" 1/2/1 \
		"$(seg_untagged 4143 $queue 1 0 "$SIXTEEN")"
done
for msn in 0 2 4294967295; do
	hostile msn.$msn "a Send out of sequence" 1/2/3 \
		"$(seg_untagged 4143 0 $msn 0 "$SIXTEEN")"
done
hostile msn.read "a Read out of sequence" 1/2/3 "$(seg_read 7 100 0 0 0 2)"
for mo in 1 4294967295; do
	hostile mo.$mo "an offset that is too high" 1/2/4 \
		"$(seg_untagged 4143 0 1 $mo aa)"
done
hostile mo.again "a segment that begins again" 1/2/4 \
	"$(seg_untagged 0143 0 1 0 aabb)" "$(seg_untagged 4143 0 1 1 cc)"
hostile long "an octet more than there is room for" 1/2/5 \
	"$(seg_untagged 4143 0 1 0 "${SIXTEEN}00")"
hostile long.second "the second segment has it" 1/2/5 \
	"$(seg_untagged 0143 0 1 0 "$SIXTEEN")" "$(seg_untagged 4143 0 1 16 00)"
hostile no_receive "a second Send, and one receive" 1/2/2 \
	"$(seg_untagged 4143 0 1 0 "$SIXTEEN")" "$(seg_untagged 4143 0 2 0 aa)"
hostile write "a Write to an STag that is guessed" 1/1/0 \
	"$(seg_tagged c140 256 100000 "$SIXTEEN")"
hostile write.wrap "to the end of all offsets" 1/1/0 \
	"$(seg_tagged c140 0 ffffffffffffffff aabb)"
hostile read "a Read from an STag that is guessed" 0/1/0 \
	"$(seg_read 7 100 16 256 100000)"
hostile read.short "27 octets of a Read Request" 0/2/255 \
	"$(seg_untagged 4141 1 1 0 "$(zeroes 27)")"
hostile read.long "29 of them" 1/2/5 \
	"$(seg_untagged 4141 1 1 0 "$(zeroes 29)")"
hostile response "a Response that nobody asked for" 0/2/6 \
	"$(seg_tagged c142 256 100000 "$SIXTEEN")"
hostile invalidate "a Send that invalidates a guessed STag" 0/1/9 \
	"$(seg_untagged 4144 0 1 0 "$SIXTEEN" 256)"
for octets in 41 4143 c140 "$(zeroes 13)"; do
	test_case "hostile.short.${octets:0:4}.$((${#octets} / 2))" "shorter than a header" without_header \
		0/2/255 "fpdu:ulpdu=$octets"
done
# A Responder sends nothing before it has had an FPDU
test_case hostile.crc "a bad CRC" without_header 2/0/2 \
	"fpdu:ulpdu=$(seg_read 7 100 0 0 0)" \
	"expect-fpdu:ulpdu=$(seg_tagged c142 7 100)" \
	"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$SIXTEEN"),crc=bad"
for term in 00000000 02060000 20020000 00 "" ffffffff "$(zeroes 600)"; do
	test_case "hostile.terminate.$((${#term} / 2)).${term:0:8}" "its Terminate, whatever is in it" \
		terminated "$term"
done

# A Request that the program has not taken when it is killed is rejected, and the device
# does not wait for anything.
unanswered() {
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
	timeout 2 rdma link delete iwb || fail "the device waits"
}
test_case hostile.unanswered "a program that is killed before it answers" unanswered
