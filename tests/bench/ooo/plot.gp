# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The plot of ooo.sh, for gnuplot; run where report.py has written.
set terminal svg size 960,760 font "sans-serif,13" background "#ffffff"
set output "mpa-ooo.svg"
set multiplot layout 2,2
hook = "#1b6ca8"
look = "#d9822b"
order = "#666666"
set grid ytics linecolor "#dddddd"
set border 3 linecolor "#444444"
set tics nomirror
set key top left

set title "Octets after a hole passed before it closed, %"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set yrange [0:118]
set ytics 0,20,100
set xtics font ",8"
set key horizontal
plot "share.dat" using 2:xtic(1) linecolor rgb hook title "hook", \
	"" using 3 linecolor rgb look title "timer"

set key vertical bottom right
set title "1 % loss, 10 ms: arrival after a hole to passing"
set style data lines
set logscale x
set yrange [0:100]
set xtics auto font ",12"
set xlabel "ms"
set ylabel "% of segments"
plot "passing-hook.dat" linecolor rgb hook linewidth 2 title "hook", \
	"passing-look.dat" linecolor rgb look linewidth 2 title "timer", \
	"passing-in-order.dat" linecolor rgb order linewidth 2 title "in order"

set title "1 % loss, 10 ms: hole closed to all delivered"
set ylabel "% of holes"
plot "delivery-hook.dat" linecolor rgb hook linewidth 2 title "hook", \
	"delivery-look.dat" linecolor rgb look linewidth 2 title "timer", \
	"delivery-in-order.dat" linecolor rgb order linewidth 2 title "in order"

unset logscale x
unset xlabel
unset ylabel
set title "Nothing lost: instructions per octet, both ends"
set style data histograms
set yrange [0:*]
set ytics auto
set key top right
plot "cost.dat" using 2:xtic(1) linecolor rgb order title "in order", \
	"" using 3 linecolor rgb hook title "hook", \
	"" using 4 linecolor rgb look title "timer"
unset multiplot
