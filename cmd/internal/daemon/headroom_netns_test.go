package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
	"pfcswitch/lldp"
)

// Twins are two switches of this process that are linked by port p1 of each.
type twins struct {
	t          *testing.T
	r          *rig
	d          [2]*Daemon
	nodes      [2]*lab.Node
	interfaces [2]string
	port       string // keys of their ports
}

// newTwins starts both with keys for the whole switch and for their ports.
func newTwins(t *testing.T, keys, port string) *twins {
	t.Helper()
	r := newRig(t, 1, lab.LinkOptions{})
	return startTwins(t, r, [2]*lab.Node{r.Node, r.Host(1)}, [2]string{"p1", "eth0"}, keys, port)
}

func startTwins(t *testing.T, r *rig, nodes [2]*lab.Node, interfaces [2]string, keys, port string) *twins {
	t.Helper()
	p := &twins{t: t, r: r, nodes: nodes, interfaces: interfaces, port: port}
	var halts [2]func()
	for i := range nodes {
		p.d[i], halts[i] = run(t, p.parse(i, keys))
	}
	t.Cleanup(func() { Together(halts[:]) })
	for i := range p.d {
		eventually(t, "the port is up", func() bool { return p.snapshot(i).Up })
	}
	return p
}

// parse makes the configuration of one of them.
func (p *twins) parse(i int, keys string) *config.Config {
	p.t.Helper()
	text := fmt.Sprintf("name: test%d\nmetrics: {listen: off}\napi: {socket: %s/%d.sock}\npreset: roce\nlldp: "+
		"{agent: off}\n%s\nports:\n  p1: {interface: %s, netns: %s, %s}\n",
		i, p.r.Dir, i, keys, p.interfaces[i], p.nodes[i].Path(), p.port)
	c, _, err := config.Parse("test.yaml", []byte(text))
	must(p.t, err)
	return c
}

func (p *twins) snapshot(i int) dataplane.PortSnapshot {
	var s dataplane.Snapshot
	p.d[i].runner.Snapshot(&s)
	return s.Ports[0]
}

// events are the texts of those about the headroom of an end that have this in them.
func (p *twins) events(i int, text string) (texts []string) {
	p.d[i].runner.View(func(sw *dataplane.Switch) {
		for _, e := range sw.Events(nil, 0) {
			if e.Kind == dataplane.EventHeadroom && e.Port == "p1" && strings.Contains(e.Text, text) {
				texts = append(texts, e.Text)
			}
		}
	})
	return texts
}

func (p *twins) agree(agreed bool) {
	for i, d := range p.d {
		d.mu.Lock()
		d.agreement = func(*portLink) lldp.Agreement {
			return lldp.Agreement{Port: "p1", Own: true, Peer: agreed, Neighbour: fmt.Sprintf("test%d", 1-i)}
		}
		d.mu.Unlock()
		d.kickHeadroom()
	}
}

func (p *twins) report(i int) (r headroom.Report) {
	d := p.d[i]
	d.mu.Lock()
	defer d.mu.Unlock()
	probe := d.ports["p1"].prober.probe
	d.runner.View(func(*dataplane.Switch) { r = probe.Report(runner.Now()) })
	return r
}

func (p *twins) measured() {
	p.t.Helper()
	for i := range p.d {
		eventually(p.t, "the headroom was measured, told and set", func() bool {
			r := p.report(i)
			return r.Measured != nil && r.PeerApplied && r.PeerFound > 0 && r.InForce >= headroom.Octets(r.Target)
		})
	}
}

// Two switches measure the link between them, set what they have found, and tell each other.
func TestHeadroomIsMeasured(t *testing.T) {
	tests := []struct {
		name, keys string
		turns      bool
	}{
		{"as it is", "", true},
		{"at the link layer", "answer: link", true},
		{"two stamps", "stamps: 2", false},
		{"loopback", "stamps: 2, mode: loopback", false},
		{"client", "variant: client", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			keys := "headroom: {interval: 100ms"
			if tt.keys != "" {
				keys += ", " + tt.keys
			}
			keys += "}"
			p := newTwins(t, keys, "speed: 1G")
			p.port += ", delay: 200us" // of end 0 alone: end 1 cannot calculate it
			_, err := p.d[0].Apply(t.Context(), p.parse(0, keys))
			must(t, err)
			before := p.snapshot(0).Config.Ingress[3].Headroom
			time.Sleep(50 * time.Millisecond)
			if r := p.report(0); r.Counters.Asked != 0 || r.InForce != before {
				t.Errorf("without an agreement: asked %d times, in force %d of %d", r.Counters.Asked, r.InForce, before)
			}
			p.agree(true)
			p.measured()
			for i := range p.d {
				r := p.report(i)
				if trip := r.RoundTrips.Min; trip < 200*time.Microsecond || trip > time.Millisecond {
					t.Errorf("trip\n got %v\nwant 200µs and a little", trip)
				}
				if (r.Turnarounds.Samples > 0) != tt.turns {
					t.Errorf("%d turn-arounds", r.Turnarounds.Samples)
				}
				eventually(t, "the headroom is what was measured, or what the peer told where that is more: at end 1 "+
					"clearly more than what is calculated", func() bool {
					r = p.report(i)
					found, inForce := max(r.Measured.Bits(), r.Received),
						p.d[i].cfg.Buffer.WholeCells(headroom.Octets(r.Target))
					return p.snapshot(i).Config.Ingress[3].Headroom == inForce && r.InForce == inForce &&
						r.Measured.Bits() > 200_000 &&
						(r.Target == found && (i == 0 || min(found, r.Measured.Bits()) > r.Calculated+100_000) ||
							i == 0 && r.Target == r.Calculated && r.Target > found) // which is not left at once
				})
				eventually(t, "the resume threshold follows", func() bool {
					got, want := p.snapshot(i).Config.Ingress[3].Xon, p.report(i).Xon
					return want > 25_000 && 4*max(got-want, want-got) < want // there and back is 200 µs at 1 Gbit/s
				})
				if m := p.d[i].metricsPorts()[0]; m.Headroom == nil || !m.Headroom.Agreed ||
					m.Headroom.Measured.Bits() == 0 || !m.Headroom.ControlPasses ||
					i == 0 && 8*25_000 > m.Calculated.Eta.Bits() ||
					m.Calculated.Delay.Bits() <= m.Calculated.Eta.Bits() {
					t.Errorf("metrics: %+v", m)
				}
				for why, n := range r.Counters.Ignored {
					if n > 0 {
						t.Logf("%d messages ignored: %v", n, headroom.Ignored(why))
					}
				}
				t.Logf("trip %v, turn %v, %d bits in force, calculated %d", r.RoundTrips, r.Turnarounds, 8*r.InForce,
					r.Calculated)
			}
		})
	}
}

// A headroom that the pool is too small for is not set: the old value stays, and a person is told once, with what is
// needed.
func TestPoolTooSmallForTheHeadroom(t *testing.T) {
	p := newTwins(t, "headroom: {interval: 100ms, min: 200KiB}\nbuffer: {lossless: {size: 128KiB}}", "speed: 1G")
	before := p.snapshot(0).Config.Ingress[3].Headroom
	p.agree(true)
	told := func() int {
		return len(p.events(0, fmt.Sprintf("the link needs a headroom of 204800 B, and %d B stay in force: ", before)))
	}
	eventually(t, "a person is told", func() bool { return told() > 0 })
	time.Sleep(2 * headroomPeriod)
	if got := p.snapshot(0).Config.Ingress[3].Headroom; got != before || p.report(0).InForce != before {
		t.Errorf("in force %d, and by the report %d, was %d", got, p.report(0).InForce, before)
	}
	if n := told(); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// A resume threshold that is written stays, whatever was measured; an apply that takes it away lets what was measured
// in.
func TestWrittenXonStays(t *testing.T) {
	p := newTwins(t, "headroom: {interval: 100ms}\nbuffer: {xon: 7KiB}", "speed: 1G")
	p.agree(true)
	p.measured()
	time.Sleep(50 * time.Millisecond)
	if got := p.snapshot(0).Config.Ingress[3].Xon; got != 7<<10 {
		t.Errorf("xon is %d", got)
	}
	_, err := p.d[0].Apply(t.Context(), p.parse(0, "headroom: {interval: 100ms}"))
	must(t, err)
	eventually(t, "the resume threshold follows", func() bool {
		got, want := p.snapshot(0).Config.Ingress[3].Xon, p.report(0).Xon
		return want > 0 && 4*max(got-want, want-got) < want
	})
}

// How long the peer keeps a request is told apart by what the link carries.
func TestTurnAroundUnderLoad(t *testing.T) {
	p := newPairOf(t, [2]string{allowing, allowing}, "speed: 1G")
	p.agreed()
	if r := p.found(0); r.Idle.Samples == 0 || r.Busy.Samples != 0 {
		t.Errorf("idle %+v, busy %+v", r.Idle, r.Busy)
	}
	_, err := source{p.ends[0]}.CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: "p1", Xoffs: 40})
	must(t, err)
	if r := p.found(0); r.Busy.Samples == 0 {
		t.Errorf("after a stream: idle %+v, busy %+v", r.Idle, r.Busy)
	}
	if m := p.ends[0].metricsPorts()[0].Headroom; m.Busy.Samples == 0 || m.Idle.Samples == 0 {
		t.Errorf("metrics: idle %+v, busy %+v", m.Idle, m.Busy)
	}
}

// A peer that stops agreeing leaves the headroom as it is, and a person is told what to do.
func TestHeadroomByHand(t *testing.T) {
	p := newTwins(t, "headroom: {interval: 100ms}", "speed: 1G")
	p.agree(true)
	p.measured()
	p.agree(false)
	byHand := func() []string {
		return p.events(0, fmt.Sprintf("neighbour test1 does not measure headroom: the %d B in force stay; set the "+
			"headroom of this port by hand: ports.p1.priorities.3.headroom: ", p.report(0).InForce))
	}
	eventually(t, "a person is told", func() bool { return len(byHand()) > 0 && p.report(0).ManualRequired })
	asked, inForce := p.report(0).Counters.Asked, p.report(0).InForce
	time.Sleep(200 * time.Millisecond)
	if told := byHand(); len(told) != 1 {
		t.Errorf("told %d times: %q", len(told), told)
	}
	if r := p.report(0); r.Counters.Asked != asked || r.InForce != inForce {
		t.Errorf("asked %d times more, in force %d, was %d", r.Counters.Asked-asked, r.InForce, inForce)
	}
}
