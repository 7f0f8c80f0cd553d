package simulation

import (
	"fmt"
	"io"
	"slices"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A course is what happened over time: values at the same moments, between two of which a rate is that of the time
// between.
type course struct {
	at                     []int64 // ns since the traffic began
	rates, buffers, pauses []plot.Series
	octets, pausedNs       []int64 // so far, by series
	line                   []int   // of each flow: those of an entry with sizes share one
}

// newCourse names the series: flows, switches, and the ports and hosts that can be paused.
func (f *fabric) newCourse() *course {
	c := &course{}
	lines := map[string]int{}
	for i := range f.flows {
		fl := &f.flows[i]
		name := fmt.Sprintf("%s>%s %d", fl.from, fl.to, fl.Priority)
		if fl.size > 0 {
			name = fl.Name
		}
		if _, has := lines[name]; !has || fl.size == 0 {
			lines[name] = len(c.rates)
			c.rates = append(c.rates, plot.Series{Name: name})
		}
		c.line = append(c.line, lines[name])
	}
	for _, s := range f.switches {
		c.buffers = append(c.buffers, plot.Series{Name: s.name})
	}
	f.eachPaused(func(name string, _ int64) { c.pauses = append(c.pauses, plot.Series{Name: name}) })
	c.octets, c.pausedNs = make([]int64, len(c.rates)), make([]int64, len(c.pauses))
	return c
}

// eachPaused calls do with each host and port of a switch, and the time for which its lossless priorities were paused.
// Of several priorities the longest time counts.
func (f *fabric) eachPaused(do func(name string, ns int64)) {
	for _, h := range f.topology.Hosts {
		if n, ok := f.hosts[h.Name]; ok {
			v := f.Host(n)
			do(h.Name, max(v.PausedAllNs, slices.Max(v.PausedNs[:])))
		}
	}
	for _, s := range f.switches {
		var v dataplane.Snapshot
		s.sw.Snapshot(&v, f.Now())
		for i := range v.Ports {
			if p := &v.Ports[i]; p.Config.Mode != macctl.ModeOff {
				do(s.name+":"+p.Config.Name, max(p.PausedAllNs, slices.Max(p.PausedNs[:])))
			}
		}
	}
}

// sample adds the values of now.
func (c *course) sample(f *fabric) {
	now := f.Now() - f.Begun()
	if len(c.at) > 0 && now <= c.at[len(c.at)-1] {
		return
	}
	past := now
	if n := len(c.at); n > 0 {
		past -= c.at[n-1]
	}
	c.at = append(c.at, now)
	perSecond := func(now int64, before *int64) float64 {
		d := now - *before
		*before = now
		return float64(d) / (float64(max(1, past)) / 1e9)
	}
	octets := make([]int64, len(c.rates))
	for i := range f.flows {
		octets[c.line[i]] += int64(f.Flow(i).Received) * int64(frame.WireOctets(f.flows[i].Octets))
	}
	for i := range c.rates {
		c.rates[i].Values = append(c.rates[i].Values, 8*perSecond(octets[i], &c.octets[i])/1e6)
	}
	for i, s := range f.switches {
		var v dataplane.Snapshot
		s.sw.Snapshot(&v, f.Now())
		u := &v.Buffer.Lossless.Used
		c.buffers[i].Values = append(c.buffers[i].Values, float64(u.Private.Now+u.Shared.Now+u.Headroom.Now)/1024)
	}
	i := 0
	f.eachPaused(func(_ string, ns int64) {
		c.pauses[i].Values = append(c.pauses[i].Values, perSecond(ns, &c.pausedNs[i])/1e9*100)
		i++
	})
}

// svg writes the course as an SVG: throughput of flows, fill of buffers, pauses.
func (c *course) svg(out io.Writer, title string) error {
	return plot.Draw(out, title, []plot.Panel{
		{Title: "throughput of flows, Mbit/s on the wire", At: c.at, Unit: plot.Duration, Lines: c.rates},
		{Title: "lossless buffer in use, KiB", At: c.at, Unit: plot.Duration, Lines: c.buffers},
		{Title: "paused by the peer, % of the time", At: c.at, Unit: plot.Duration, Lines: c.pauses},
	})
}
