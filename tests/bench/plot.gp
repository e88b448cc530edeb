# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The plots of bench.sh, for gnuplot; run where report.py has written.
set terminal svg size 720,400 font "sans-serif,13" background "#ffffff"
tx = "#1b6ca8"
rx = "#d9822b"
other = "#2e8b57"
set grid ytics linecolor "#dddddd"
set border 3 linecolor "#444444"
set tics nomirror
set style fill solid 0.9 noborder
set boxwidth 0.7

set output "mpa-performance-messages.svg"
set title "Instructions per message, by octets of it, MTU 1500"
set style data linespoints
set logscale xy
set yrange [100:*]
set xrange [40:100000]
set xtics (64, 1408, 8192, 65536)
set key top left
plot "size-tcp.dat" linecolor rgb "#666666" pointtype 7 title "A, TCP", \
	"size-mpa-crc.dat" linecolor rgb tx pointtype 7 title "C, MPA", \
	"size-rnic.dat" linecolor rgb other pointtype 7 title "H, mpa_rnic", \
	"size-siw-crc.dat" linecolor rgb rx pointtype 7 title "F, siw", \
	"size-ktls.dat" linecolor rgb "#8a5aa8" pointtype 7 title "G, kTLS"

unset logscale
set xrange [*:*]
set xtics auto
set yrange [0:*]
set style data histograms
set style histogram rowstacked

set output "mpa-performance-crc.svg"
set title "64 KB, MTU 1500: instructions per octet, without and with CRC or a digest"
plot "crc.dat" using 2:xtic(1) linecolor rgb tx title "sending", \
	"" using 3 linecolor rgb rx title "receiving"

set output "mpa-performance-others.svg"
set title "64 KB, MTU 1500: instructions per octet"
plot "octet.dat" using 2:xtic(1) linecolor rgb tx title "sending", \
	"" using 3 linecolor rgb rx title "receiving, or both"

set output "mpa-performance-markers.svg"
set title "Instructions per message of 64, 1408, 8192 and 65536 octets, as a multiple of those without markers"
set style histogram clustered gap 1
unset key
plot "markers.dat" using 2:xtic(1) linecolor rgb other, \
	"" using 0:2:(sprintf("%.2f", $2)) with labels offset 0,0.7
