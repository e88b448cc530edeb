# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Parse the FPDUs that one side of a connection sent, from the hex dump of tcpdump -x.
# Each TCP segment after the startup frame is parsed by itself: it is aligned if it
# begins with an FPDU and ends with one. Segments may be in ESP without encryption.
#
# Variables: frame (octets of the startup frame), markers (0 or 1), mtu; or
# list=1 to print payloads. Prints: segments, aligned ones, FPDUs, markers.
# Exits with status 1 for an error.

function number(text,	i, value) {
	value = 0
	for (i = 1; i <= length(text); i++)
		value = value * 16 + index(DIGITS, substr(text, i, 1)) - 1
	return value
}

# N octets of the packet at hand, as a number
function octets(at, n) {
	return number(substr(hex, at * 2 + 1, n * 2))
}

function fault(what) {
	print what
	broken = 1
	exit 1
}

# Look at the marker at a place in the packet; its FPDU's length is at header
function marker(at, header,	wanted) {
	wanted = at > header ? at - header : 0
	nr_markers++
	if (octets(at, 2) != 0 || octets(at + 2, 2) != wanted)
		fault("marker " octets(at, 4) ", not " wanted)
}

# Parse the FPDU at a place in the packet, at an offset in the stream: its length with
# markers, or 0 if it extends past the end
function fpdu(at, offset, end,	header, len, pad, left, begin, step) {
	begin = at
	header = markers && offset % 512 == 0 ? at + 4 : at
	if (header + 2 > end)
		return 0
	len = octets(header, 2)
	pad = (4 - (len + 2) % 4) % 4
	left = 2 + len + pad + 4
	while (left > 0) {
		step = left
		if (markers) {
			step = (512 - (offset + at - begin) % 512) % 512
			if (step == 0) {
				if (at + 4 > end)
					return 0
				marks[++nr_marks] = at
				at += 4
				step = 508
			}
			if (step > left)
				step = left
		}
		at += step
		left -= step
	}
	if (len == 0 || at > end)
		return 0
	heads[++nr_heads] = header
	for (; nr_marks > 0; nr_marks--)
		owner[marks[nr_marks]] = header
	# The pad stands before the CRC, or before a marker in front of that
	step = at - 4
	if (markers && (offset + step - begin) % 512 == 4)
		step -= 4
	for (; pad > 0; pad--)
		pads[step - pad] = 1
	return at - begin
}

function segment(seq, at, end,	offset, place, size, mark, first) {
	offset = seq - start
	if (offset < 0)
		offset += 4294967296
	if (offset < frame)
		return
	offset -= frame
	segments++
	nr_heads = nr_marks = 0
	split("", owner)
	split("", pads)
	for (place = at; place < end; place += size) {
		size = fpdu(place, offset + place - at, end)
		if (size == 0)
			return
	}
	aligned++
	fpdus += nr_heads
	for (mark in owner)
		marker(mark + 0, owner[mark])
	for (place in pads)
		if (octets(place + 0, 1) != 0)
			fault("pad is not zero")
}

function packet(	at, tcp, end, esp, seq, flags) {
	if (hex == "")
		return
	if (substr(hex, 1, 1) == "4") {
		tcp = number(substr(hex, 2, 1)) * 4
		end = octets(2, 2)
		esp = octets(9, 1) == 50
	} else {
		tcp = 40
		end = octets(4, 2) + 40
	}
	if (mtu && end > mtu)
		fault("a packet of " end " octets on a link of " mtu)
	# ESP: 8 octets before; pad, its length, next header and an ICV after
	if (esp) {
		tcp += 8
		end -= 18 + octets(end - 18, 1)
	}
	seq = octets(tcp + 4, 4)
	flags = octets(tcp + 13, 1)
	at = tcp + number(substr(hex, tcp * 2 + 25, 1)) * 4
	if (int(flags / 2) % 2)
		start = (seq + 1) % 4294967296
	else if (end > at && list)
		print substr(hex, at * 2 + 1, (end - at) * 2)
	else if (end > at)
		segment(seq, at, end)
}

BEGIN { DIGITS = "0123456789abcdef" }

/^\t0x/ {
	line = substr($0, index($0, ":") + 1)
	gsub(" ", "", line)
	hex = hex line
	next
}

{
	packet()
	hex = ""
}

END {
	if (!broken) {
		packet()
		if (!list)
			print segments + 0, aligned + 0, fpdus + 0, nr_markers + 0
	}
	if (broken)
		exit 1
}
