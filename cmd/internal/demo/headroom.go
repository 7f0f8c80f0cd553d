package demo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
)

// A linkAct is one run of demo headroom:
//
//	h1 ── s1 ══ link with a delay ══ s2 ── h2, at half the speed
//
// The sender offers the full speed, so that s2 tells s1 to stop again and again.
type linkAct struct {
	act

	drain    int64  // bit/s of the receiver's port
	length   string // of cable
	delay    time.Duration
	fixed    int64            // octets of headroom in force at s2, without ring_hold: has to lose frames
	grow     bool             // the delay grows while frames flow
	grown    time.Duration    // by this much
	measured api.HeadroomPort // of s2 before the load
	results  *[]LinkResult
}

// linkLead is how long before the load the endpoints start: there are only two.
const linkLead = 700 * time.Millisecond

// measuringInterval is that of the switches of the demo: short, so that a run is.
const measuringInterval = 100 * time.Millisecond

// On a link that is so long a pause and its end take so much time that there are not enough of them sooner.
const (
	longDelay = time.Millisecond
	longRun   = 3 * time.Second
)

// growSteps is how often the delay grows, by a tenth of the headroom's time each interval.
const growSteps = 10

// The link's port at s1 and s2.
const (
	nearPort = "up"
	farPort  = "down"
)

// Links runs demo headroom: links of several lengths and speeds, on each of which the switches measure the headroom,
// set it, and are then made to use it. A control run with a third of what was used and nothing to fall back on has to
// lose frames. Errors are as for Incast.
func Links(ctx context.Context, o Options) (*Report, error) {
	r := newReport("headroom", o)
	for _, l := range linkActs(o, &r.Links) {
		whole, err := perform(ctx, o, &l.act, r)
		if err != nil {
			return nil, err
		}
		if !whole {
			break
		}
	}
	judgeLinks(r)
	r.judge()
	return r, nil
}

// linkActs returns the runs in their order: the last one is the control.
func linkActs(o Options, results *[]LinkResult) (all []*linkAct) {
	seconds := time.Duration(o.Seconds * float64(time.Second))
	add := func(l linkAct) {
		l.results, l.lead = results, linkLead
		l.obey, l.flowControl, l.drain = true, "pfc", l.speed/2
		if l.seconds == 0 {
			l.seconds = seconds
		}
		l.name = fmt.Sprintf("%d", len(all)+1)
		a := &l
		a.build, a.prepare, a.verdict = func(*act) error { return a.layLink() }, a.waitMeasured, a.judgeLink
		if l.grow {
			a.during = a.growDelay
		}
		all = append(all, a)
	}
	type link struct {
		length string
		delay  time.Duration
		speed  int64
	}
	links := []link{{"0 m", 0, 1e9}, {"10 km", 50 * time.Microsecond, 1e9}, {"20 km", 100 * time.Microsecond, 1e9}, {"100 km", 500 * time.Microsecond, 1e8}}
	runs := 1
	if o.Full {
		runs, links = 5, nil
		for _, speed := range []int64{1e8, 1e9} {
			links = append(links, link{"0 m", 0, speed}, link{"100 m", 500, speed}, link{"10 km", 50 * time.Microsecond, speed},
				link{"20 km", 100 * time.Microsecond, speed}, link{"100 km", 500 * time.Microsecond, speed}, link{"200 km", time.Millisecond, speed})
		}
	}
	for _, k := range links {
		var least time.Duration
		if k.delay >= longDelay {
			least = longRun
		}
		for range runs {
			add(linkAct{act: act{title: fmt.Sprintf("%s of cable at %s", k.length, rateName(k.speed)), speed: k.speed, seconds: max(seconds, least)},
				length: k.length, delay: k.delay})
		}
	}
	add(linkAct{act: act{title: "10 km at 1 Gbit/s, and growing", speed: 1e9, seconds: max(seconds, 2*time.Second)}, length: "10 km+",
		delay: 50 * time.Microsecond, grow: true})
	add(linkAct{act: act{title: "control: 10 km at 1 Gbit/s with a third of the headroom that was used, and no ring_hold", speed: 1e9, control: true},
		length: "10 km", delay: 50 * time.Microsecond, fixed: 1})
	return all
}

func rateName(bits int64) string {
	if bits >= 1e9 {
		return fmt.Sprintf("%d Gbit/s", bits/1e9)
	}
	return fmt.Sprintf("%d Mbit/s", bits/1e6)
}

// layLink makes the nodes and links.
func (l *linkAct) layLink() error {
	keys := fmt.Sprintf("headroom: {interval: %v, agree: always}\n", measuringInterval)
	buffer := "buffer: {lossless: {size: 3MiB}}\n"
	if l.control {
		buffer = fmt.Sprintf("buffer: {lossless: {size: 3MiB}, headroom: %d, ring_hold: off}\n", l.thirdUsed())
	}
	s1, err := l.addSwitch("s1")
	if err != nil {
		return err
	}
	s2, err := l.addSwitch("s2")
	if err != nil {
		return err
	}
	s1.more, s2.more = keys+"buffer: {lossless: {size: 3MiB}}\n", keys+buffer
	if err := l.link(s1, s2.node, nearPort, farPort, l.speed); err != nil {
		return err
	}
	s2.ports = append(s2.ports, switchPort{name: farPort, speed: l.speed, peer: s1.node, peerI: nearPort})
	l.setDelay(l.delay)
	h1, err := l.addHost("h1")
	if err != nil {
		return err
	}
	h1.speed, h1.offers = l.speed, []string{"3"}
	l.senders = []*host{h1}
	if err := l.link(s1, h1.node, "p1", hostInterface, l.speed); err != nil {
		return err
	}
	if l.receiver, err = l.addHost("h2"); err != nil {
		return err
	}
	l.receiver.speed = l.drain
	return l.link(s2, l.receiver.node, "p2", hostInterface, l.drain)
}

// setDelay writes the delay into the files of both switches; only what they measure may know of it.
func (l *linkAct) setDelay(d time.Duration) {
	for i, name := range []string{nearPort, farPort} {
		s := l.switches[i]
		at := slices.IndexFunc(s.ports, func(p switchPort) bool { return p.name == name })
		s.ports[at].keys = fmt.Sprintf(", delay: %dns", d.Nanoseconds())
	}
}

// thirdUsed is a third of what the runs on a link as long used.
func (l *linkAct) thirdUsed() (octets int64) {
	for _, r := range *l.results {
		if r.Length == l.length && r.Speed == l.speed {
			octets = max(octets, r.Peak/3)
		}
	}
	return max(octets, 1600) // a frame has to fit
}

// waitMeasured waits until both ends have measured the link, told each other, and set what they found.
func (l *linkAct) waitMeasured(ctx context.Context) error {
	for i, name := range []string{nearPort, farPort} {
		for {
			p, err := l.headroomOf(ctx, l.switches[i], name)
			if err != nil {
				return err
			}
			if p.Measured != nil && p.Told && p.PeerFoundBits != nil && p.Trip.Samples >= 4*openingSamples {
				l.measured = *p
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("switch %s did not measure its port %s: it is %s, %d of %d requests were answered", l.switches[i].name, name, p.State,
					p.Messages.Answered, p.Messages.Asked)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// growDelay makes the link longer while frames flow: each measuring interval by a tenth of the time that its headroom
// lasts.
func (l *linkAct) growDelay(ctx context.Context) error {
	s1, s2 := l.switches[0], l.switches[1]
	for range growSteps {
		p, err := l.headroomOf(ctx, s2, farPort)
		if err != nil {
			return err
		}
		l.grown += time.Duration(p.InForceBytes * 8 * int64(time.Second) / l.speed / 10)
		s1.ports[0].keys = fmt.Sprintf(", delay: %dns", (l.delay + l.grown).Nanoseconds())
		path, err := s1.config(l.dir, l.flowControl)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := api.NewClient(s1.socket).Apply(ctx, path, text); err != nil {
			return fmt.Errorf("switch s1: a longer delay: %w", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(measuringInterval):
		}
	}
	return nil
}

// openingSamples is a quarter of what is measured in quick succession after the agreement.
const openingSamples = 8

func (l *linkAct) headroomOf(ctx context.Context, s *switchNode, port string) (*api.HeadroomPort, error) {
	r, err := api.NewClient(s.socket).Show(ctx, "headroom")
	if err != nil {
		return nil, fmt.Errorf("switch %s: %w", s.name, err)
	}
	return portOf(r.(*api.Headroom), port)
}

func portOf(h *api.Headroom, port string) (*api.HeadroomPort, error) {
	for i := range h.Ports {
		if h.Ports[i].Port == port {
			return &h.Ports[i], nil
		}
	}
	return nil, fmt.Errorf("switch %s says nothing of its port %s", h.Switch, port)
}
