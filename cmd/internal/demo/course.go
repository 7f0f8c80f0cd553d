package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/plot"
	"pfcswitch/dataplane/frame"
)

// A course is what happened in a phase over time, as the plots show it: values of the same moments, each of the time
// since the one before.
type course struct {
	peers []map[string]string // of each switch, by port: the node at the far end of its link
	last  []*api.State        // of each switch

	at       []int64 // ns since the load began
	rates    lines   // Mbit/s on the wire
	paused   lines   // % of the time
	buffer   lines   // KiB at the moment itself
	headroom lines   // the most, in % of its size
}

type lines []plot.Series

// add adds value number n, from 0 on, of a line; of two the larger. What it did not have before is 0.
func (l *lines) add(n int, name string, value float64) {
	at := slices.IndexFunc(*l, func(s plot.Series) bool { return s.Name == name })
	if at < 0 {
		at = len(*l)
		*l = append(*l, plot.Series{Name: name})
	}
	s := &(*l)[at]
	s.Values = append(s.Values, make([]float64, n+1-len(s.Values))...)
	s.Values[n] = max(s.Values[n], value)
}

// add adds the states of all switches at a moment of the load. The first ones are where counters begin.
func (c *course) add(at time.Duration, states []*api.State) {
	last := c.last
	if c.last = states; last == nil {
		return
	}
	c.at = append(c.at, int64(at))
	for i, s := range states {
		for _, p := range s.Ports {
			if peer := c.peers[i][p.Port]; peer != "" {
				c.addPort(s, last[i], p.Port, peer)
			}
		}
		for _, p := range s.Pools {
			used := int64(0)
			for _, segment := range p.Segments.All() {
				used += segment.UsedBytes
			}
			c.buffer.add(len(c.at)-1, s.Switch+" "+p.Pool, float64(used)/1024)
		}
		for _, p := range s.Buffer {
			for _, q := range p.IngressQueues {
				if h := q.Segments.Headroom; h != nil && h.SizeBytes != nil && *h.SizeBytes > 0 {
					c.headroom.add(len(c.at)-1, s.Switch+":"+p.Port, 100*float64(h.MaxClearBytes)/float64(*h.SizeBytes))
				}
			}
		}
	}
}

// addPort adds what a port of a switch did since its state before: what it sent, what a host sent to it, and for how
// long each end of the link was paused. A switch at the other end tells of itself.
func (c *course) addPort(s, before *api.State, port, peer string) {
	n, seconds := len(c.at)-1, float64(max(1, s.SwitchNs-before.SwitchNs))/1e9
	now, queues, pfc := portOfState(s, port)
	old, oldQueues, oldPFC := portOfState(before, port)
	if len(queues) != len(oldQueues) || len(pfc) != len(oldPFC) {
		return
	}
	here := s.Switch + ":" + port
	megabits := func(bytes, frames uint64) float64 { return 8 * float64(bytes+frames*frame.WireExtras) / seconds / 1e6 }
	host := !slices.ContainsFunc(c.last, func(s *api.State) bool { return s.Switch == peer })
	if host {
		c.rates.add(n, peer+" to "+here,
			megabits(now.ReceiveBytes-old.ReceiveBytes, now.ReceiveFrames-old.ReceiveFrames))
	}
	frames := now.TransmitFrames - old.TransmitFrames
	rate := megabits(now.TransmitBytes-old.TransmitBytes, frames)
	for k, q := range queues { // by its frames: those of a demo's port are alike
		sent := q.Transmitted - oldQueues[k].Transmitted
		c.rates.add(n, fmt.Sprintf("%s to %s, priority %d", here, peer, k), rate*float64(sent)/float64(max(1, frames)))
	}
	var byPeer, byPort int64
	for k, q := range pfc {
		byPeer = max(byPeer, q.ReceivedPausedNs-oldPFC[k].ReceivedPausedNs)
		byPort = max(byPort, q.SentPausedNs-oldPFC[k].SentPausedNs)
	}
	share := func(ns int64) float64 { return min(100, 100*float64(ns)/1e9/seconds) }
	c.paused.add(n, peer+", by "+here, share(byPort))
	if host {
		c.paused.add(n, here+", by "+peer, share(byPeer))
	}
}

func portOfState(s *api.State, name string) (p api.Port, queues []api.Queue, pfc []api.PFCPriority) {
	return find(s.Ports, func(p *api.Port) bool { return p.Port == name }),
		find(s.Queues, func(p *api.QueuesPort) bool { return p.Port == name }).Queues,
		find(s.PFC, func(p *api.PFCPort) bool { return p.Port == name }).Priorities
}

// panels are the plots of a phase; nil has none.
func (c *course) panels() []plot.Panel {
	if c == nil {
		return nil
	}
	// answers of sinks, and other rates that nobody would see
	least := plot.Most(c.rates) / 100
	rates := slices.DeleteFunc(slices.Clone(c.rates), func(s plot.Series) bool { return s.Most() < least })
	panel := func(title string, l lines, top float64) plot.Panel {
		return plot.Panel{Title: title, At: c.at, Lines: l, Top: top,
			Unit: func(ns int64) string { return fmt.Sprintf("%.1f s", float64(ns)/1e9) }}
	}
	return []plot.Panel{panel("rate, Mbit/s on the wire", rates, 0), panel("paused, % of the time", c.paused, 100),
		panel("buffer in use, KiB", c.buffer, 0), panel("most headroom in use, % of its size", c.headroom, 100)}
}

// How often the switches are asked for a plot: at most recordMost times in a load.
const (
	recordEvery = 100 * time.Millisecond
	recordMost  = 300
)

// record asks the switches again and again, from the beginning of the load until ctx ends. Host NICs, which have no
// links of their own, are hosts. A moment at which a switch does not answer is left out. What happens between an answer
// and the new watermarks is not seen.
func (p *phase) record(ctx context.Context) {
	var switches []*switchNode
	for _, s := range p.switches {
		peers := map[string]string{}
		for _, port := range s.ports {
			if port.peer != nil {
				peers[port.name] = port.peer.Name()
			}
		}
		if len(peers) > 0 {
			switches, p.course.peers = append(switches, s), append(p.course.peers, peers)
		}
	}
	every := max(recordEvery, p.loadTime()/recordMost)
	for n := 0; p.wait(ctx, time.Duration(n)*every) == nil; n = int(time.Since(p.start)/every) + 1 {
		states := make([]*api.State, len(switches))
		if concurrently(len(switches), func(i int) error { return ask(ctx, switches[i], "state", &states[i]) }) != nil {
			continue
		}
		p.course.add(time.Since(p.start), states)
		// a watermark that stays counts for the next moment too
		_ = each(switches, func(s *switchNode) error { return api.NewClient(s.socket).Clear(ctx, "watermarks") })
	}
}
