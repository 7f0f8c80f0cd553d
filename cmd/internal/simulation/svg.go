package simulation

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A course is what happened over time: values at the same moments, between two of which a rate is that of the time
// between.
type course struct {
	at                     []int64 // ns since the traffic began
	rates, buffers, pauses []Series
	octets, pausedNs       []int64 // so far, by series
	line                   []int   // of each flow: those of an entry with sizes share one
}

// A Series is one line of a Panel.
type Series struct {
	Name   string
	Values []float64 // from 0 on
}

// A Panel is lines over the same values, such as times.
type Panel struct {
	Title string
	At    []int64            // what the values of the lines are at, rising
	Unit  func(int64) string // writes the last of At
	Lines []Series
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
			c.rates = append(c.rates, Series{Name: name})
		}
		c.line = append(c.line, lines[name])
	}
	for _, s := range f.switches {
		c.buffers = append(c.buffers, Series{Name: s.name})
	}
	f.eachPaused(func(name string, _ int64) { c.pauses = append(c.pauses, Series{Name: name}) })
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
		c.buffers[i].Values = append(c.buffers[i].Values, float64(u.Private.Now+u.Shared.Now+u.Headroom.Now)/1000)
	}
	i := 0
	f.eachPaused(func(_ string, ns int64) {
		c.pauses[i].Values = append(c.pauses[i].Values, perSecond(ns, &c.pausedNs[i])/1e9*100)
		i++
	})
}

// Measures of the picture, in pixels.
const (
	pictureWidth = 980
	leftEdge     = 70
	rightEdge    = 760 // names stand beyond
	panelHeight  = 170
	panelGap     = 60
	lineHeight   = 14
	mostLines    = panelHeight / lineHeight // of a panel
)

var palette = [...]string{"#1b6ca8", "#cc6b2c", "#6aa84f", "#a83279", "#e6b422", "#5b5b9f", "#2aa198", "#b22222",
	"#888888", "#7a4a1f", "#00a0e0", "#d070d0"}

// A picture is an SVG that is being written.
type picture struct{ bytes.Buffer }

func (p *picture) text(x, y, size int, anchor, s string) {
	fmt.Fprintf(p, `<text x="%d" y="%d" font-size="%d" text-anchor="%s">`, x, y, size, anchor)
	_ = xml.EscapeText(p, []byte(s)) // a buffer takes everything
	p.WriteString("</text>\n")
}

// svg writes the course as an SVG: throughput of flows, fill of buffers, pauses.
func (c *course) svg(out io.Writer, title string) error {
	panel := func(title string, lines []Series) Panel { return Panel{title, c.at, Duration, lines} }
	return Draw(out, title, []Panel{
		panel("throughput of flows, Mbit/s on the wire", c.rates),
		panel("lossless buffer in use, kB", c.buffers),
		panel("paused by the peer, % of the time", c.pauses),
	})
}

// Duration writes ns.
func Duration(ns int64) string { return time.Duration(ns).Round(time.Microsecond).String() }

// Draw writes panels as an SVG, one below the other.
func Draw(out io.Writer, title string, panels []Panel) error {
	var p picture
	p.text(10, 22, 15, "start", title)
	y := 60
	for i := range panels {
		p.panel(y, &panels[i])
		y += panelHeight + panelGap
	}
	return p.write(out, pictureWidth, y)
}

// write writes the whole SVG.
func (p *picture) write(out io.Writer, width, height int) error {
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">`+
		"\n"+`<rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n", width, height, p.Bytes())
	return err
}

// panel draws a panel from y on downwards: of its lines those with the largest values, as far as there is room for
// names.
func (p *picture) panel(y int, panel *Panel) {
	title := panel.Title
	shown := slices.DeleteFunc(slices.Clone(panel.Lines), func(s Series) bool { return s.most() <= 0 })
	slices.SortStableFunc(shown, func(a, b Series) int { return cmp.Compare(b.most(), a.most()) })
	if len(shown) > mostLines {
		title += fmt.Sprintf(" (the %d largest of %d)", mostLines, len(shown))
		shown = shown[:mostLines]
	}
	last := int64(1)
	if n := len(panel.At); n > 0 {
		last = max(1, panel.At[n-1])
	}
	p.text(leftEdge, y-8, 13, "start", title)
	bottom := y + panelHeight
	fmt.Fprintf(p, `<path d="M%d %dV%dH%d" fill="none" stroke="#222"/>`+"\n", leftEdge, y, bottom, rightEdge)
	p.text(leftEdge, bottom+16, 10, "middle", "0")
	p.text(rightEdge, bottom+16, 10, "middle", panel.Unit(last))
	if len(shown) == 0 {
		p.text(leftEdge+10, bottom-10, 11, "start", "nothing")
		return
	}
	top := shown[0].most()
	p.text(leftEdge-6, y+10, 10, "end", fmt.Sprintf("%.4g", top))
	p.text(leftEdge-6, bottom, 10, "end", "0")
	for i, s := range shown {
		colour := palette[i%len(palette)]
		fmt.Fprintf(p, `<polyline fill="none" stroke="%s" points="`, colour)
		for k, v := range s.Values {
			fmt.Fprintf(p, "%.1f,%.1f ", leftEdge+float64(rightEdge-leftEdge)*float64(panel.At[k])/float64(last),
				float64(bottom)-float64(panelHeight)*v/top)
		}
		p.WriteString(`"/>` + "\n")
		row := y + lineHeight*(i+1) - 4
		fmt.Fprintf(p, `<rect x="%d" y="%d" width="10" height="4" fill="%s"/>`+"\n", rightEdge+20, row-6, colour)
		p.text(rightEdge+36, row, 11, "start", s.Name)
	}
}

func (s *Series) most() float64 {
	if len(s.Values) == 0 {
		return 0
	}
	return slices.Max(s.Values)
}
