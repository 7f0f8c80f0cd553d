package bench

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/frame"
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
	from, to *lab.Node
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

// values are what every part records of a load.
func (o *outcome) values() []value {
	return []value{
		{offered, float64(o.offered)}, {delivered, float64(o.delivered)},
		{frameRate, o.rate}, {cpuPerFrame, o.perFrame()},
	}
}

// flowsToHost2 are flows from each of the hosts from to host 2.
func (n *network) flowsToHost2(from ...int) (all []flow) {
	for _, f := range from {
		all = append(all, flow{n.hosts[f-1], n.hosts[1], sink})
	}
	return all
}

// send starts a sender.
func (b *bench) send(f flow, l load) (*program, error) {
	speed := "none"
	if l.rate > 0 {
		speed = fmt.Sprintf("%.0f", l.rate*float64(8*frame.WireOctets(l.octets)))
	}
	return b.start(f.from, b.program, "send", "eth0", "--no-sink", "--to", f.address, "--flow-control", "off", "-j",
		"--vlan", fmt.Sprint(vlan), "--flow", fmt.Sprintf("%d:octets=%d", l.priority, l.octets),
		"--seconds", fmt.Sprint(l.time.Seconds()), "--speed", speed)
}

// measure offers a load and counts. Before the load the machine is at rest for the same time with every switch, though
// pfcswitch alone is asked what it has sent itself.
func (b *bench) measure(l load) (o outcome, err error) {
	before, err := l.counted()
	if err != nil {
		return o, err
	}
	if err := b.sleep(b.opt.settle); err != nil {
		return o, err
	}
	start, err := lab.ReadCPUTimes()
	if err != nil {
		return o, err
	}
	samples := b.sampleLoad(&l)
	if err := b.runSenders(l, &o); err != nil {
		samples()
		return o, err
	}
	o.rate, o.behind = rateOf(samples())
	if err := b.drain(&l); err != nil {
		return o, err
	}
	end, err := lab.ReadCPUTimes() // now: to ask a switch takes CPU time
	if err != nil {
		return o, err
	}
	o.cpu = (end.Busy - start.Busy).Seconds()
	after, err := l.counted()
	o.delivered = after - before
	return o, err
}

// drain waits until nothing more comes: what waits in a deep ring arrives after the senders' end.
func (b *bench) drain(l *load) error {
	last, err := l.arrived()
	for wait := b.opt.settle; err == nil; wait = quietTime {
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

// quietTime is how long nothing has to come until nothing is under way any more.
const quietTime = 100 * time.Millisecond

// runSenders runs the senders to their end.
func (b *bench) runSenders(l load, o *outcome) error {
	var senders []*program
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
		var r traffic.SendReport
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
		before, err := l.sentBySwitch()
		if err != nil {
			return 0, err
		}
		all, err := l.arrived()
		if err != nil {
			return 0, err
		}
		after, err := l.sentBySwitch()
		if err != nil {
			return 0, err
		}
		if before == after {
			return all - after, nil
		}
	}
}

// receivers are the hosts that the load goes to, each once.
func (l *load) receivers() (all []*lab.Node) {
	for _, f := range l.flows {
		if !slices.Contains(all, f.to) {
			all = append(all, f.to)
		}
	}
	return all
}

// arrived adds up the frames at the receivers.
func (l *load) arrived() (sum uint64, err error) {
	for _, r := range l.receivers() {
		c, err := r.Stats("eth0")
		if err != nil {
			return 0, err
		}
		sum += c.ReceivedFrames
	}
	return sum, nil
}

// sentBySwitch returns how many frames of its own the switch has sent to the receivers: what the kernel sent at their
// ports beyond what the switch forwarded. While a load runs the number is not exact.
func (l *load) sentBySwitch() (sum uint64, err error) {
	if l.through == nil || l.through.socket == "" {
		return 0, nil
	}
	ports, err := show[*api.Ports](l.through, "ports")
	if err != nil {
		return 0, err
	}
	for _, p := range ports.Ports {
		for i, h := range l.through.hosts {
			if p.Port != fmt.Sprintf("p%d", i+1) || !slices.Contains(l.receivers(), h) {
				continue
			}
			c, err := l.through.sw.Stats(p.Port)
			if err != nil {
				return 0, err
			}
			sum += c.SentFrames - p.TransmitFrames
		}
	}
	return sum, nil
}
