package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"pfcswitch/cmd/internal/plot"
)

// A panel of the plot shows one value of all switches as bars, by conditions.
type panel struct{ title, what, metric string }

var panels = []panel{
	{"delivered frames/s", "delivered", frameRate},
	{"loss-free frames/s", "loss-free", frameRate},
	{"CPU of the machine, µs a frame (s a million frames)", "delivered", cpuPerFrame},
	{"TCP, Gbit/s", "tcp", throughput},
	{"TCP, CPU s a GB", "tcp", cpuPerGB},
	{"latency p50, µs", "latency", p50},
	{"latency p99, µs", "latency", p99},
	{"latency p99.9, µs", "latency", p999},
	{"how long a thread waits for a CPU, p99.9, µs", machineGaps, p999},
	{"memory PSS, MiB", "memory", pss},
	{"pfcswitch: time beyond the pause asked for, µs", "pause", beyond},
	{"pfcswitch: frames/s by ports", "ports", frameRate},
	{"pfcswitch: its CPU time a frame by stations, µs", "fdb", ownPerFrame},
	{"time to forward again after a flap, ms", "flap", outage},
}

var colours = map[string]string{
	dutPFC: "#1b6ca8", dutBridge: "#6aa84f", dutOVS: "#cc6b2c", dutOVSTSO: "#e6b422", dutMachine: "#888888",
}

// Measures of the plot, in pixels.
const (
	labels    = 330
	barsWidth = 480
	barHeight = 14
)

// writePlot writes the rows as an SVG: a bar is the median, a thin line goes from the least to the most.
func writePlot(out io.Writer, m machine, rows []row) error {
	var drawn plot.Picture
	y := 24
	drawn.Text(10, y, 15, "start", "pfcswitch beside the Linux bridge and Open vSwitch")
	y += 18
	drawn.Text(10, y, 11, "start",
		fmt.Sprintf("%d × %s, kernel %s; median and range of %d rounds", m.CPUs, m.CPU, m.Kernel, m.Rounds))
	for _, p := range panels {
		other := func(r row) bool { return r.what != p.what || r.metric != p.metric }
		shown := slices.DeleteFunc(slices.Clone(rows), other)
		if len(shown) == 0 {
			continue
		}
		largest := slices.MaxFunc(shown, func(a, b row) int { return cmp.Compare(a.most, b.most) }).most
		y += 34
		drawn.Text(10, y, 13, "start", p.title)
		scale := barsWidth / max(largest, 1e-9)
		for i, r := range shown {
			y += barHeight + 2
			if i == 0 || r.conditions != shown[i-1].conditions {
				y += 6
				drawn.Text(labels-90, y, 10, "end", r.conditions)
			}
			drawn.Text(labels-6, y, 10, "end", r.dut)
			x := func(v float64) float64 { return labels + max(0, v)*scale }
			fmt.Fprintf(&drawn, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n",
				labels, y-barHeight+4, x(r.median)-labels, barHeight-2, colours[r.dut])
			fmt.Fprintf(&drawn, `<line x1="%.1f" x2="%.1f" y1="%[3]d" y2="%[3]d" stroke="#222"/>`+"\n",
				x(r.least), x(r.most), y-barHeight/2+3)
			drawn.Text(int(x(max(r.median, r.most)))+6, y, 10, "start", number(r.median))
		}
	}
	return drawn.WriteSVG(out, plot.Width, y+20)
}
