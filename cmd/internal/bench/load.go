package bench

import (
	"errors"
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

	// write sends the frames instead of the hosts, and returns how many there are; flows tells where they arrive
	write func() (uint64, error)
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

func (n *network) flowsToHost2(from ...int) (all []flow) {
	for _, f := range from {
		all = append(all, flow{n.hosts[f-1], n.hosts[1], sink})
	}
	return all
}

func (b *bench) startSender(at *lab.Node, to, flow string, d time.Duration, flags ...string) (*program, error) {
	if b.opt.packet {
		flags = append(flags, "--packet-socket")
	}
	return b.start(at, append([]string{b.program, "send", "eth0", "-j", "--to", to, "--vlan", fmt.Sprint(vlan),
		"--flow", flow, "--seconds", fmt.Sprint(d.Seconds())}, flags...)...)
}

func (b *bench) startSink(at *lab.Node, flags ...string) (*program, error) {
	return b.start(at, append([]string{b.program, "sink", "eth0", "-j", "--speed", "none"}, flags...)...)
}

func (b *bench) send(f flow, l load) (*program, error) {
	speed := "none"
	if l.rate > 0 {
		speed = fmt.Sprintf("%.0f", l.rate*float64(8*frame.WireOctets(l.octets)))
	}
	return b.startSender(f.from, f.address, fmt.Sprintf("%d:octets=%d", l.priority, l.octets), l.time, "--no-sink",
		"--flow-control", "off", "--speed", speed)
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
	used, err := (*network)(nil).usageOf(func() error { // not longer: to ask a switch takes CPU time
		samples := b.sampleLoad(&l)
		err := b.offer(l, &o)
		o.rate, o.behind = rateOf(samples())
		if err != nil {
			return err
		}
		return b.drain(&l)
	})
	if err != nil {
		return o, err
	}
	o.cpu = used.busy.Seconds()
	after, err := l.counted()
	o.delivered = after - before
	return o, err
}

// eachRound calls f for every round.
func (b *bench) eachRound(f func(round int) error) error {
	for round := range b.opt.rounds {
		if err := f(round); err != nil {
			return err
		}
	}
	return nil
}

// inTurn measures the networks in turn, round by round, with frames of every length and priority to host 2, from one
// host up to so many.
func (b *bench) inTurn(all []*network, rounds, senders int, measure func(n *network, round int, l load) error) error {
	for round := range rounds {
		for from := 1; from <= senders; from++ {
			for _, octets := range b.opt.octets {
				for _, priority := range b.opt.priorities {
					for _, n := range alternate(all, round) {
						l := load{through: n, flows: n.flowsToHost2([]int{1, 3}[:from]...), octets: octets,
							priority: priority, time: b.opt.seconds}
						if err := measure(n, round, l); err != nil {
							return fmt.Errorf("%s: %w", n.name, errors.Join(err, n.alive()))
						}
					}
				}
			}
		}
	}
	return nil
}

// conditions are those of a load that every comparison names.
func (l *load) conditions() string {
	return fmt.Sprintf("senders=%d octets=%d priority=%d", len(l.flows), l.octets, l.priority)
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

// offer sends the load to its end.
func (b *bench) offer(l load, o *outcome) (err error) {
	if l.write != nil {
		start := time.Now()
		o.offered, err = l.write()
		o.elapsed = time.Since(start).Seconds()
		return err
	}
	var senders []*program
	for _, f := range l.flows {
		p, err := b.send(f, l)
		if err != nil {
			return err
		}
		senders = append(senders, p)
	}
	for _, p := range senders {
		var r traffic.SendReport
		if err := b.report(p, l.time+patience, &r); err != nil {
			return err
		}
		o.offered += r.Frames
		o.elapsed = max(o.elapsed, float64(r.Elapsed)/1e9)
	}
	if o.elapsed <= 0 {
		return errors.New("the senders did not send for any time")
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
func (l *load) receivers() []*lab.Node { return l.hosts(func(f flow) *lab.Node { return f.to }) }

// senders are the hosts that the load comes from, each once.
func (l *load) senders() []*lab.Node {
	if l.write != nil {
		return nil
	}
	return l.hosts(func(f flow) *lab.Node { return f.from })
}

func (l *load) hosts(of func(flow) *lab.Node) (all []*lab.Node) {
	for _, f := range l.flows {
		if h := of(f); !slices.Contains(all, h) {
			all = append(all, h)
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
			sum += c.SentFrames + p.ForwardedFrames - p.TransmitFrames // the interface does not see the fast path
		}
	}
	return sum, nil
}
