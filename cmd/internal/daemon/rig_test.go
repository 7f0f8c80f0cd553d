package daemon

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/acceptance"
	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

func TestMain(m *testing.M) {
	acceptance.Main(m, func(c *config.Config, log *slog.Logger) (acceptance.Switch, error) { return New(c, log) })
}

// A rig is that of the acceptance tests, with a Daemon of which the tests know more.
type rig struct{ *acceptance.Rig }

func newRig(t *testing.T, hosts int) *rig { return &rig{acceptance.NewRig(t, hosts)} }

func start(t *testing.T, hosts int, s Setup) *rig {
	t.Helper()
	return &rig{acceptance.Start(t, hosts, s)}
}

// d is the switch in this process.
func (r *rig) d() *Daemon { return r.Switch.(*Daemon) }

func run(t *testing.T, c *config.Config) (d *Daemon, halt func()) {
	t.Helper()
	s, halt := acceptance.Run(t, c)
	return s.(*Daemon), halt
}

type (
	Setup   = acceptance.Setup
	Station = acceptance.Station
	Stream  = acceptance.Stream
)

const (
	At100M       = acceptance.At100M
	Lossless3    = acceptance.Lossless3
	NumberedType = acceptance.NumberedType
	SmallBuffers = acceptance.SmallBuffers
	Timeout      = acceptance.Timeout
)

var (
	must, eventually = assert.Must, labtest.Eventually

	HostMAC, PortMAC, PortName = acceptance.HostMAC, acceptance.PortMAC, acceptance.PortName
	IP, Tagged, Ethernet       = acceptance.IP, acceptance.Tagged, acceptance.Ethernet
	OneRing, HeadroomOf        = acceptance.OneRing, acceptance.HeadroomOf
	IPv4UDP                    = acceptance.IPv4UDP
	parse, header              = acceptance.Parse, acceptance.Header
)

// A pair is two switches in this process, each in a network namespace of its own. A link joins port p1 of each.
//
//	a:p1 ── p1:b
type pair struct {
	*rig
	nodes      [2]*lab.Node
	interfaces [2]string
	ports      [2]string // keys of the ports
	ends       [2]*Daemon
	halt       [2]func()
}

// names are those of both ends.
var names = [2]string{"a", "b"}

func both(keys string) [2]string { return [2]string{keys, keys} }

// newPair starts both ends, with keys of YAML for each switch and for its port. b has the higher MAC address.
func newPair(t *testing.T, keys, ports [2]string) *pair {
	t.Helper()
	r := newRig(t, 1)
	return startPair(r, [2]*lab.Node{r.Host(1), r.Node}, [2]string{"eth0", "p1"}, keys, ports)
}

func startPair(r *rig, nodes [2]*lab.Node, interfaces, keys, ports [2]string) *pair {
	r.T.Helper()
	p := &pair{rig: r, nodes: nodes, interfaces: interfaces, ports: ports}
	for i := range p.ends {
		p.start(i, keys[i])
	}
	r.T.Cleanup(func() { acceptance.Together(p.halt[:]) })
	return p
}

func (p *pair) start(i int, keys string) {
	p.T.Helper()
	p.ends[i], p.halt[i] = run(p.T, parse(p.T, p.text(i, keys)))
}

// apply puts other keys of an end in force.
func (p *pair) apply(i int, keys string) {
	p.T.Helper()
	assert.Got(p.ends[i].Apply(p.T.Context(), parse(p.T, p.text(i, keys)))).Must(p.T)
}

// text is the configuration of an end.
func (p *pair) text(i int, keys string) string {
	return header(names[i], p.Dir+"/"+names[i]+".sock") + fmt.Sprintf(
		"%s\nports:\n  p1: {interface: %s, netns: %s, %s}\n", keys, p.interfaces[i], p.nodes[i].Path(), p.ports[i])
}

// lldp is what an end sends and receives by LLDP.
func (p *pair) lldp(i int) api.LLDPPort {
	all := p.ends[i].Source().LLDP()
	if len(all) != 1 {
		return api.LLDPPort{}
	}
	return all[0]
}

// snapshot is the state of the port of an end.
func (p *pair) snapshot(i int) dataplane.PortSnapshot {
	var s dataplane.Snapshot
	p.ends[i].runner.Snapshot(&s)
	return s.Ports[0]
}

// lossless are the priorities that the data plane of an end protects.
func (p *pair) lossless(i int) uint8 {
	c := p.snapshot(i).Config
	if c.Mode != macctl.ModePFC {
		return 0
	}
	return c.Lossless
}

// events are the texts of the events of an end that are of a kind and contain a text.
func (p *pair) events(i int, kind dataplane.EventKind, text string) (texts []string) {
	for _, e := range p.ends[i].Source().Events(0) {
		if e.Kind == kind && strings.Contains(e.Text, text) {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// reports waits for an event of an end that is of a kind and contains a text.
func (p *pair) reports(i int, kind dataplane.EventKind, text string) {
	p.T.Helper()
	eventually(p.T, names[i]+" reports: "+text, func() bool { return len(p.events(i, kind, text)) > 0 })
}

// agrees waits until an end has come to a conclusion.
func (p *pair) agrees(i int, version, reason string, mask uint8) {
	p.T.Helper()
	eventually(p.T, fmt.Sprintf("%s: %s, %s, %#x", names[i], version, reason, mask), func() bool {
		d := p.lldp(i).DCBX
		return d.Version == version && d.Reason == reason && p.lossless(i) == mask &&
			slices.Equal(d.LosslessPriorities, api.Priorities(mask))
	})
}

// found is what an end knows of the headroom of its link.
func (p *pair) found(i int) headroom.Report { return HeadroomOf(p.ends[i], "p1") }

// xonFollows reports whether the resume threshold in force at an end is about what was measured, or what an ingress
// queue can hold at α = 1, where that is less.
func (p *pair) xonFollows(i int) bool {
	var s dataplane.Snapshot
	p.ends[i].runner.Snapshot(&s)
	got, want := s.Ports[0].Config.Ingress[3].Xon, min(p.found(i).Xon, s.Buffer.Lossless.SharedSize/2)
	return want > 0 && 4*max(got-want, want-got) < want
}

// agreed waits until ends have agreed to measure, and have measured.
func (p *pair) agreed(ends ...int) {
	p.T.Helper()
	for _, i := range ends {
		eventually(p.T, "the headroom was measured and told", func() bool {
			r := p.found(i)
			return r.Agreed && r.Measured != nil && r.ResultAcked
		})
	}
}

// measured waits until both ends have set what they have found, too.
func (p *pair) measured() {
	p.T.Helper()
	p.agreed(0, 1)
	for i := range p.ends {
		eventually(p.T, "the headroom is set", func() bool {
			r := p.found(i)
			return r.PeerApplied && r.PeerFound > 0 && r.InForce >= headroom.Octets(r.Target)
		})
	}
}
