# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The plot of bench.sh, for gnuplot; run where report.py has written.
set terminal svg size 960,760 font "sans-serif,13" background "#ffffff"
set output "mpa-performance.svg"
set multiplot layout 2,2
tx = "#1b6ca8"
rx = "#d9822b"
set grid ytics linecolor "#dddddd"
set border 3 linecolor "#444444"
set tics nomirror
set style fill solid 0.9 noborder
set boxwidth 0.7

set title "64 KB, MTU 1500: instructions per octet"
set style data histograms
set style histogram rowstacked
set yrange [0:*]
set key top left
plot "octet.dat" using 2:xtic(1) linecolor rgb tx title "sending", \
	"" using 3 linecolor rgb rx title "receiving"

set title "Cost of an FPDU beyond plain TCP, instructions"
set style histogram clustered gap 0
set logscale y
set yrange [10:*]
unset key
plot "fpdu.dat" using 2:xtic(1) linecolor rgb tx, \
	"" using 0:2:(sprintf("%.0f", $2)) with labels font ",10" offset 0,0.7

set title "Instructions per message, by octets of it"
set style data linespoints
set logscale x
set yrange [*:*]
set xrange [40:100000]
set xtics (64, 1408, 8192, 65536)
set key top left
plot "size-tcp.dat" linecolor rgb "#666666" pointtype 7 title "A, TCP", \
	"size-mpa-crc.dat" linecolor rgb tx pointtype 7 title "C, CRC", \
	"size-mpa-markers.dat" linecolor rgb "#2e8b57" pointtype 7 \
	title "D, markers", \
	"size-siw-crc.dat" linecolor rgb rx pointtype 7 title "F, siw", \
	"size-ktls.dat" linecolor rgb "#8a5aa8" pointtype 7 title "G, kTLS"

unset logscale
set title "Segments that hold whole FPDUs, %"
set style data histograms
set style histogram clustered gap 0
set yrange [95:101]
set xrange [*:*]
set ytics 95,1,100
set xtics rotate by 60 right noenhanced font ",8"
set bmargin 7
unset key
plot "align.dat" using 2:xtic(1) linecolor rgb tx
unset multiplot
