package bench

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A load is frames that hosts send without flow control, tagged, as fast as they can or at a rate. Nobody listens: what
// arrives is what the kernel counts at the receivers' interfaces.
type load struct {
	flows    []flow
	octets   int
	priority int
	time     time.Duration
	rate     float64  // frames/s of each sender; 0: as fast as it can
	through  *network // where its switch sends frames of its own: they are not counted
}

// A flow goes from one host to another.
type flow struct {
	from, to *node
	address  string // of to
}

// An outcome is what became of a load.
type outcome struct {
	offered, delivered uint64
	elapsed            float64 // seconds that the senders took
	rate               float64 // frames/s that arrived while the senders ran
	behind             float64 // how many frames more were sent than arrived in that time
	cpu                float64 // seconds of all CPUs, the senders' work included
}

// perFrame returns what a delivered frame took of all CPUs, µs; that is also seconds for a million.
func (o *outcome) perFrame() float64 { return o.cpu * 1e6 / float64(max(1, o.delivered)) }

// perGB returns seconds of all CPUs for 10⁹ octets delivered.
func (o *outcome) perGB(octets int) float64 { return o.perFrame() * 1e3 / float64(octets) }

// sendReport is what matters of the report of "pfcswitch send".
type sendReport struct {
	Frames  uint64 `json:"frames"`
	Elapsed int64  `json:"elapsed_ns"`
}

// straight is the load's flows from each of the hosts from to host 2.
func (n *network) straight(from ...int) (all []flow) {
	for _, f := range from {
		all = append(all, flow{n.hosts[f-1], n.hosts[1], sink})
	}
	return all
}

// send starts a sender.
func (b *bench) send(f flow, l load) (*process, error) {
	speed := "none"
	if l.rate > 0 {
		speed = fmt.Sprintf("%.0f", l.rate*float64(8*wire(l.octets)))
	}
	return b.start(f.from.namespace, b.program, "send", "eth0", "--no-sink", "--to", f.address, "--flow-control", "off", "-j", "--vlan", fmt.Sprint(vlan),
		"--flow", fmt.Sprintf("%d:octets=%d", l.priority, l.octets), "--seconds", fmt.Sprint(l.time.Seconds()), "--speed", speed)
}

// wire is what a frame takes on a wire: FCS, preamble and gap more.
func wire(octets int) int { return octets + 24 }

// measure offers a load and counts. Before it the machine is at rest for the same time with every switch: only pfcswitch is asked what it
// has sent itself, by a process of its own.
func (b *bench) measure(l load) (o outcome, err error) {
	before, err := l.counted()
	if err != nil {
		return o, err
	}
	if err := b.sleep(b.opt.settle); err != nil {
		return o, err
	}
	busy, err := machineBusy()
	if err != nil {
		return o, err
	}
	seen := b.follow(&l)
	if err := b.offer(l, &o); err != nil {
		seen()
		return o, err
	}
	o.rate, o.behind = rateOf(seen())
	if err := b.drain(&l); err != nil {
		return o, err
	}
	if o.cpu, err = machineBusy(); err != nil { // now: to ask a switch takes processes of the benchmark's own
		return o, err
	}
	o.cpu -= busy
	after, err := l.counted()
	o.delivered = after - before
	return o, err
}

// drain waits until nothing more comes: what waits in a deep ring arrives after the senders' end.
func (b *bench) drain(l *load) error {
	last, err := l.arrived()
	for wait := b.opt.settle; err == nil; wait = still {
		if err := b.sleep(wait); err != nil {
			return err
		}
		var now uint64
		if now, err = l.arrived(); now == last {
			break
		}
		last = now
	}
	return err
}

// still is how long nothing has to come until nothing is under way any more.
const still = 100 * time.Millisecond

// offer runs the senders to their end.
func (b *bench) offer(l load, o *outcome) error {
	var senders []*process
	for _, f := range l.flows {
		p, err := b.send(f, l)
		if err != nil {
			return err
		}
		senders = append(senders, p)
	}
	for _, p := range senders {
		out, err := b.wait(p, l.time+patience)
		if err != nil {
			return err
		}
		var r sendReport
		if err := json.Unmarshal(out, &r); err != nil {
			return fmt.Errorf("report of a sender: %w", err)
		}
		o.offered += r.Frames
		o.elapsed = max(o.elapsed, float64(r.Elapsed)/1e9)
	}
	if o.elapsed <= 0 {
		return fmt.Errorf("the senders did not send for any time")
	}
	return nil
}

// counted adds up what has come at the receivers, each once, less what the switch itself has sent (LLDP, probes
// against loops), which would hide a frame that was lost.
func (l *load) counted() (uint64, error) {
	for {
		before, err := l.own()
		if err != nil {
			return 0, err
		}
		all, err := l.arrived()
		if err != nil {
			return 0, err
		}
		after, err := l.own()
		if err != nil {
			return 0, err
		}
		if before == after {
			return all - after, nil
		}
	}
}

// arrived adds up the frames at the receivers.
func (l *load) arrived() (sum uint64, err error) {
	seen := map[*node]bool{}
	for _, f := range l.flows {
		if seen[f.to] {
			continue
		}
		seen[f.to] = true
		c, err := f.to.received("eth0")
		if err != nil {
			return 0, err
		}
		sum += c.frames
	}
	return sum, nil
}

// own returns how many frames of its own the switch has sent to the receivers: what the kernel sent at their ports beyond
// what the switch forwarded. While a load runs it is not exact.
func (l *load) own() (sum uint64, err error) {
	if l.through == nil || l.through.socket == "" {
		return 0, nil
	}
	var said struct {
		Ports []struct {
			Port      string
			Forwarded uint64 `json:"transmit_frames"`
		}
	}
	if err := l.through.show(&said, "ports"); err != nil {
		return 0, err
	}
	for _, p := range said.Ports {
		for i, h := range l.through.hosts {
			if p.Port != fmt.Sprintf("p%d", i+1) || !slices.ContainsFunc(l.flows, func(f flow) bool { return f.to == h }) {
				continue
			}
			c, err := l.through.sw.received(p.Port)
			if err != nil {
				return 0, err
			}
			sum += c.sent - p.Forwarded
		}
	}
	return sum, nil
}
