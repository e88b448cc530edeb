#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Test the test peer against itself and against octets known from elsewhere;
# the result is TAP.
set -uo pipefail

PEER=$("$(dirname "$0")/build.sh") || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0 WORDS=''
TIME=5		# that a step waits

REQ_KEY=4d504120494420526571204672616d65
REP_KEY=4d504120494420526570204672616d65
zeroes() { printf "%0$(($1 * 2))d" 0; }
# RFC 5044, figures 5 and 6: their ULPDUs, and the octets sent
ULPDU5=4143$(zeroes 11)01$(zeroes 28)
ULPDU6=4143$(zeroes 11)02$(zeroes 28)
FIGURE5=00000000002a${ULPDU5}52239983
FIGURE6=002a${ULPDU6:0:36}00000014${ULPDU6:36}84925898

# talk NAME STATUS STATUS LISTENER-STEP... -- STEP...: both against each other;
# each ends with that status, and the line WRONG: of one says $WORDS.
talk() {
	local name=$1 wanted="$2 $3" listener=() pid port got

	shift 3
	while [[ $1 != -- ]]; do
		listener+=("$1")
		shift
	done
	shift
	: >"$work/listen"
	"$PEER" -t $TIME "${RANGE[@]}" listen 127.0.0.1 0 "${listener[@]}" \
		>"$work/listen" &
	pid=$!
	until port=$(sed -n 's/^listening //p' "$work/listen")
		[[ $port ]]; do
		kill -0 "$pid" || break
		sleep 0.01
	done
	"$PEER" -t $TIME "${RANGE[@]}" connect 127.0.0.1 "$port" "$@" \
		>"$work/connect"
	got=$?
	wait "$pid"
	got="$? $got"
	n=$((n + 1))
	if [[ $got == "$wanted" ]] && { [[ -z $WORDS ]] ||
		grep -qE "^(WRONG|MISUSED): .*: $WORDS" "$work"/*; }; then
		echo "ok $n peer.$name"
		return
	fi
	failed=$((failed + 1))
	sed 's/^/# /' "$work/listen" "$work/connect"
	echo "not ok $n peer.$name status $got, not $wanted, or not: $WORDS"
}

# agree NAME LISTENER-STEP... -- STEP...: all is as it should be
agree() {
	local name=$1

	shift
	talk "$name" 0 0 "$@"
}

# notices NAME WORDS STEP...: an Initiator that does so is found out
notices() {
	WORDS=$2
	talk "notices.$1" 1 0 expect-request reply:m=1 expect-fpdu:size=1000 \
		-- request expect-reply "${@:3}" end
}

# frame_noticed NAME WORDS FIELDS: another Request than the one wanted
frame_noticed() {
	WORDS=$2
	talk "notices.$1" 1 0 \
		expect-request:m=0,c=1,r=0,s=0,res=0,rev=1,len=2,pd=abcd \
		-- "request:$3" end
}

RANGE=()
# An FPDU of 440 octets is between them
agree octets.figures "data:$FIGURE5" data:01b2 read:438 "data:$FIGURE6" \
	end:fin -- set:out=1,crc=1 "fpdu:ulpdu=$ULPDU5" fpdu:size=434 \
	"fpdu:ulpdu=$ULPDU6" fin
agree octets.figures-read set:in=1,crc=1 "expect-fpdu:ulpdu=$ULPDU5" \
	-- "send:$FIGURE5" fin end
agree octets.request "data:${REQ_KEY}c0010000" \
	"data:${REQ_KEY}120200078003c00411" "data:2233" end:fin \
	-- request:m=1 \
	request:rev=2,s=1,c=0,res=2,A=1,ird=3,C=1,D=1,ord=4,pd=112233 fin
agree octets.reply "data:${REP_KEY}60010000" -- reply:r=1
agree octets.rtr "data:00124143$(zeroes 11)0100000000587be8c4" \
	"data:000ec14000000001$(zeroes 8)ebd34c5f" \
	"data:002e4141$(zeroes 7)0100000001$(zeroes 4)" \
	"data:00000001$(zeroes 12)00000001$(zeroes 8)27dbd7e7" \
	-- set:crc=1 fpdu:rtr=send fpdu:rtr=write fpdu:rtr=read
agree octets.kept expect-request reply expect-fpdu:ulpdu=0012ff03 keep:k=0-3 \
	"fpdu:ulpdu=aa{k+0001}{k-0004}bb" \
	-- request expect-reply fpdu:ulpdu=0012ff03 \
	expect-fpdu:ulpdu=aa0012ff040012feffbb
# STags and offsets are the other side's choice, but for an STag of 0
agree octets.rtr-tags set:crc=1 expect-fpdu:rtr=read \
	-- "send:002e4141$(zeroes 7)0100000001$(zeroes 7)07$(zeroes 12)" \
	"send:00000001$(zeroes 8)69626d03"

agree immediate immediate serve -- immediate echo:count=9,size=700 fin end:fin
agree no-crc expect-request:c=0 reply:c=0 serve \
	-- request:c=0 expect-reply:c=0 fpdu:crc=deadbeef \
	expect-fpdu:size=42 fin end:fin
agree pieces expect-request:pdsize=30 reply serve \
	-- dribble request:pdsize=30 expect-reply echo:size=50 whole \
	echo:size=60,split=every hold fpdu:size=1000 fpdu:size=8 push fin \
	end:fin,rest
agree dribble data:0011 data:22 end:fin -- dribble:0011 send:22 fin end
agree again expect-request reply serve again expect-request \
	-- request expect-reply echo fin end:fin again request
agree at-limit.fin end:fin,rest -- limit:10,fin request expect-reply end:fin
agree at-limit.rst end:reset,rest -- limit:10,rst request end
agree at-limit.silence read:10 quiet:0.2 -- limit:10,silence request end
agree at-limit.later expect-request reply read:5 end:fin \
	-- request expect-reply limit:5,fin fpdu end:fin
RANGE=(-f 0..20)
agree range.limit read:20 end:fin -- limit:%,fin request end:fin
RANGE=(-f 1..19)
agree range.split expect-request:c=1 -- split:% request
RANGE=()

frame_noticed flag.m "m is 1, not 0" m=1,pd=abcd
frame_noticed flag.c "c is 0, not 1" c=0,pd=abcd
frame_noticed flag.r "r is 1, not 0" r=1,pd=abcd
frame_noticed flag.s "s is 1, not 0" s=1,pd=abcd
frame_noticed flag.res "res is 8, not 0" res=8,pd=abcd
frame_noticed rev "rev is 0, not 1" rev=0,pd=abcd
frame_noticed key "the key is 4d504120494420526571204672416d65" \
	badkey=13,pd=abcd
frame_noticed pd "other private data" pd=abce
frame_noticed pd-length "len is 1, not 2" pd=abcd,len=1
WORDS="1 octets of 2, then fin; the last: ab"
talk notices.pd-short 1 0 expect-request -- request:pd=ab,len=2 fin end
WORDS="the key is $REP_KEY"
talk notices.reply 1 0 expect-request -- reply end
WORDS="ird is 5, not 4"
talk notices.ird 1 0 expect-request:ird=4 \
	-- request:rev=2,s=1,ird=5,ord=4 end
WORDS="no enhanced data"
talk notices.not-enhanced 1 0 expect-request:ird=0 -- request:rev=2 end
WORDS="there came 002a"
talk notices.early 1 0 expect-request quiet:3 -- hold request fpdu push end

WORDS=
agree good expect-request reply:m=1 expect-fpdu:size=1000 \
	-- request expect-reply fpdu:size=1000 end
notices crc "wrong CRC" fpdu:size=1000,crc=bad
notices flip "wrong CRC" fpdu:size=1000,flip=900
notices pad "a pad is not zero" fpdu:size=999,pad=1
notices ulpdu "that is another ULPDU" fpdu:size=1001
notices ptr "the marker at 512 is 00000000, not 000001fc" fpdu:size=1000,ptr=0
notices ptradd "the marker at 0 is 00000001, not 00000000" fpdu:size=1000,ptradd=1
notices reserved "the marker at 0 is 00010000, not 00000000" fpdu:size=1000,reserved=1
notices marker "the marker at 512 is 000001fd, not 000001fc" \
	fpdu:size=1000,marker=1,ptradd=1
notices no-marker "the marker at 0 is 03e80007, not 00000000" set:out=0 fpdu:size=1000
notices len "ULPDU_Length is 0" fpdu:size=1000,len=0
notices len-max "ULPDU_Length is 64769" fpdu:size=64769
notices truncated "1000 octets of an FPDU, then fin" \
	limit:1000,fin fpdu:size=1000
notices reset "[0-9]* octets of an FPDU, then reset" \
	limit:1000,rst fpdu:size=1000
notices fin "fin where an FPDU was due" fin
notices rtr "that is another ULPDU" fpdu:rtr=send
WORDS="that is another ULPDU"
talk notices.rtr-kind 1 0 set:crc=1 expect-fpdu:rtr=read \
	-- set:crc=1 fpdu:rtr=write end
talk notices.rtr-length 1 0 set:crc=1 expect-fpdu:rtr=write \
	-- set:crc=1 "fpdu:ulpdu=c140$(zeroes 13)" end
talk notices.rtr-stag 1 0 set:crc=1 expect-fpdu:rtr=write \
	-- set:crc=1 "fpdu:ulpdu=c140$(zeroes 12)" end
WORDS="echo 0 differs from the FPDU sent"
talk notices.echo 0 1 expect-request reply expect-fpdu fpdu:size=43 \
	-- request expect-reply echo
WORDS="came 00, then"
talk notices.octets 0 1 send:00 -- data:01
WORDS="there came 00"
talk notices.noise 0 1 send:00 pause:0.2 -- quiet:3
WORDS=fin
talk notices.no-quiet 0 1 fin -- quiet:3
talk notices.end 0 1 fin -- end:reset
WORDS=reset
talk notices.reset-end 0 1 rst -- end:fin
TIME=0.5
WORDS="0 octets of an FPDU, then open"
talk notices.silence 1 0 expect-fpdu -- pause:3
WORDS=open
talk notices.no-end 0 1 pause:3 -- end
TIME=5
WORDS="no such step: nonsense"
talk mistakes.step 2 0 nonsense -- end
WORDS="{k\+0001}: nothing kept"
talk mistakes.kept 0 2 end -- "send:{k+0001}"
WORDS="a frame has no field colour"
talk mistakes.field 0 2 end -- request:colour=1
echo "1..$n"
((!failed))
