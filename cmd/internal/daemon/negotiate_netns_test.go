package daemon

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
	"pfcswitch/macctl"
)

// A pair is two switches in this process with a link between them, each in a network namespace of its own.
//
//	a:p1 ── p1:b
type pair struct {
	t     *testing.T
	lab   *lab.Lab
	nodes [2]*lab.Node
	dir   string
	port  string // keys of the port
	ends  [2]*Daemon
	halt  [2]func()
}

// newPair starts both ends with keys of YAML.
func newPair(t *testing.T, keys [2]string) *pair {
	t.Helper()
	return newPairOf(t, keys, "")
}

// newPairOf starts both ends with keys of YAML for the switch, and keys of the port.
func newPairOf(t *testing.T, keys [2]string, port string) *pair {
	t.Helper()
	l := labtest.New(t, "pair")
	if port != "" {
		port += ", "
	}
	p := &pair{t: t, lab: l, port: port, dir: t.TempDir(), nodes: [2]*lab.Node{labtest.Node(t, l, "a"),
		labtest.Node(t, l, "b")}}
	must(t, l.Link(p.nodes[0], "p1", p.nodes[1], "p1",
		lab.LinkOptions{MACs: [2]net.HardwareAddr{PortMAC(1), PortMAC(2)}}))
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		err := goleak.Find(before, goleak.IgnoreAnyFunction("pfcswitch/cmd/internal/lab.(*Process).runSampler"))
		if err != nil {
			t.Errorf("the switches have ended and something goes on: %v", err)
		}
	})
	for i := range p.ends {
		p.start(i, keys[i])
	}
	t.Cleanup(func() { Together(p.halt[:]) })
	return p
}

func (p *pair) start(i int, keys string) {
	p.t.Helper()
	p.ends[i], p.halt[i] = run(p.t, p.parse(i, keys))
}

func (p *pair) parse(i int, keys string) *config.Config {
	p.t.Helper()
	c, _, err := config.Parse(p.nodes[i].Name()+".yaml", []byte(p.text(i, keys)))
	must(p.t, err)
	return c
}

// text is the configuration of an end.
func (p *pair) text(i int, keys string) string {
	name := p.nodes[i].Name()
	return fmt.Sprintf("name: %s\nmetrics: {listen: off}\napi: {socket: %s/%s.sock}\n%s\nports: {p1: {%snetns: %s}}\n",
		name, p.dir, name, keys, p.port, p.nodes[i].Path())
}

func (p *pair) told(i int) api.LLDPPort {
	all := source{p.ends[i]}.LLDP()
	if len(all) != 1 {
		return api.LLDPPort{}
	}
	return all[0]
}

// lossless is what the data plane of an end does, whatever it says.
func (p *pair) lossless(i int) uint8 {
	var s dataplane.Snapshot
	p.ends[i].runner.Snapshot(&s)
	if len(s.Ports) != 1 || s.Ports[0].Config.Mode != macctl.ModePFC {
		return 0
	}
	return s.Ports[0].Config.Lossless
}

func (p *pair) events(i int, kind dataplane.EventKind) (texts []string) {
	for _, e := range (source{p.ends[i]}).Events(0) {
		if e.Kind == kind {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// agrees waits until an end has come to a conclusion.
func (p *pair) agrees(i int, version, reason string, mask uint8) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%s: %s, %s, %#x", p.nodes[i].Name(), version, reason, mask), func() bool {
		d := p.told(i).DCBX
		return d.Version == version && d.Reason == reason && p.lossless(i) == mask && slices.Equal(d.LosslessPriorities,
			api.Priorities(mask))
	})
}

func lossless(list string) string { return "priorities: {lossless: [" + list + "]}\n" }

// Two switches find each other, and each version of the exchange leads to the priorities that both have.
func TestTwoSwitches(t *testing.T) {
	for _, tt := range []struct {
		name, one, two string // keys
		version        string
		reason         [2]string
		mask           [2]uint8
		mismatch       bool
		agreed         bool
	}{
		{"the same", lossless("3"), lossless("3"), "ieee", [2]string{"own", "own"}, [2]uint8{8, 8}, false, true},
		{"one follows", lossless("3, 4"), lossless("5") + "lldp: {willing: true}", "ieee", [2]string{"own", "peer"},
			[2]uint8{0x18, 0x18}, false, true},
		{"both follow", lossless("3") + "lldp: {willing: true}", lossless("5") + "lldp: {willing: true}", "ieee",
			[2]string{"tie-peer", "tie-own"}, [2]uint8{0x20, 0x20}, false, true},
		{"they differ", lossless("3, 4"), lossless("4, 5"), "ieee", [2]string{"mismatch", "mismatch"},
			[2]uint8{0x10, 0x10}, true, true},
		{"one is old", lossless("3"), lossless("3") + "lldp: {bit_ieee: off, bit_legacy: off}", "ieee",
			[2]string{"own", "own"}, [2]uint8{8, 8}, false, false},
		{"one speaks CEE", lossless("3"), lossless("5") + "lldp: {dcbx: cee, willing: true}", "cee",
			[2]string{"own", "peer"}, [2]uint8{8, 8}, false, true},
		{"one speaks CIN", lossless("3") + "lldp: {dcbx: cin}", lossless("5") + "lldp: {willing: true}", "cin",
			[2]string{"own", "peer"}, [2]uint8{8, 8}, false, true},
		{"CEE and they differ", lossless("3, 4") + "lldp: {dcbx: cee}", lossless("4, 5"), "cee",
			[2]string{"mismatch", "mismatch"}, [2]uint8{0x10, 0x10}, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, [2]string{tt.one, tt.two})
			for i := range p.ends {
				p.agrees(i, tt.version, tt.reason[i], tt.mask[i])
				d, n := p.told(i).DCBX, p.told(i).Neighbors
				if d.Mismatch != tt.mismatch || d.MeasurementAgreed != tt.agreed ||
					p.ends[i].Agreement("p1").Agreed() != tt.agreed {
					t.Errorf("%s: %+v", p.nodes[i].Name(), d)
				}
				if len(n) != 1 || *n[0].SystemName != p.nodes[1-i].Name() || n[0].PortID != "p1" ||
					n[0].ChassisID != PortMAC(2-i).String() {
					t.Errorf("%s: neighbors %+v", p.nodes[i].Name(), n)
				}
				if !slices.ContainsFunc(p.told(i).Transitions, func(x api.LLDPTransition) bool {
					return x.Machine == "transmit" && x.From == "info-frame" && x.To == "idle" && x.Cause == "sent" &&
						x.AgeNs > 0 && x.AgeNs < int64(time.Minute)
				}) {
					t.Errorf("%s: transitions %+v", p.nodes[i].Name(), p.told(i).Transitions)
				}
				told := slices.ContainsFunc(p.events(i, dataplane.EventDCBX),
					func(s string) bool { return strings.Contains(s, "does not agree with") })
				if told != tt.mismatch {
					t.Errorf("%s: events %q", p.nodes[i].Name(), p.events(i, dataplane.EventDCBX))
				}
				if got := (source{p.ends[i]}).Ports()[0].Mismatch; got != tt.mismatch {
					t.Errorf("%s: ports say mismatch %t", p.nodes[i].Name(), got)
				}
				m := p.ends[i].metricsPorts()[0].LLDP
				if m == nil || m.Neighbors != 1 || m.Mismatch != tt.mismatch {
					t.Errorf("%s: metrics %+v", p.nodes[i].Name(), m)
				}
				if !tt.agreed {
					eventually(t, "the headroom is to be set by hand", func() bool {
						return p.found(i).ManualRequired && p.warned(i) > 0 &&
							p.ends[i].metricsPorts()[0].ManualHeadroom
					})
				}
			}
		})
	}
}

// An end that gives up PFC takes it from the other one too, which says so; and both have it again with it.
func TestOneEndHasNoPFC(t *testing.T) {
	for _, version := range []string{"cee", "cin"} {
		t.Run(version, func(t *testing.T) {
			keys := [2]string{lossless("3") + "lldp: {change_hold: 0s, dcbx: " + version + "}",
				lossless("3") + "lldp: {change_hold: 0s}"}
			p := newPair(t, keys)
			p.agrees(1, version, "own", 8)
			speaks := "the port speaks DCBX in version " + version + " now, no longer in ieee"
			if texts := p.events(1, dataplane.EventDCBX); len(texts) == 0 || !strings.HasPrefix(texts[0], speaks) {
				t.Errorf("events %q", texts)
			}
			for _, end := range []struct {
				port, reason string
				mask         uint8
			}{{"flow_control: pause, ", "disabled", 0}, {"", "own", 8}} {
				p.port = end.port
				_, err := p.ends[0].Apply(t.Context(), p.parse(0, keys[0]))
				must(t, err)
				for i := range p.ends {
					p.agrees(i, version, end.reason, end.mask)
				}
				mismatch := end.mask == 0
				if d, m := p.told(1).DCBX, p.ends[1].metricsPorts()[0].LLDP; d.Mismatch != mismatch || m == nil ||
					m.Mismatch != mismatch {
					t.Errorf("%s: %+v, metrics %+v", end.reason, d, m)
				}
				if texts := p.events(1, dataplane.EventDCBX); !strings.Contains(texts[len(texts)-1], map[bool]string{
					true:  "does not agree with a (disabled): it has priorities [], and only [] stay lossless here",
					false: "priorities [3] are lossless (own)"}[mismatch]) {
					t.Errorf("%s: events %q", end.reason, texts)
				}
			}
		})
	}
}

// What was taken over ends with the neighbour: it says goodbye, and the configuration holds again. A neighbour that
// comes back is followed again, also through an interface that is new.
func TestNeighbourComesAndGoes(t *testing.T) {
	p := newPair(t, [2]string{lossless("3"), lossless("5") + "lldp: {willing: true, change_hold: 0s}"})
	p.agrees(1, "ieee", "peer", 8)
	p.halt[0]()
	p.agrees(1, "ieee", "no-peer", 0x20)
	if texts := p.events(1, dataplane.EventLLDP); !strings.Contains(strings.Join(texts, "\n"),
		"a, port p1, has stopped speaking LLDP") {
		t.Errorf("events %q", texts)
	}
	p.start(0, lossless("3"))
	p.agrees(1, "ieee", "peer", 8)

	must(t, p.nodes[1].DeleteLink("p1"))
	eventually(t, "the port speaks no more", func() bool { return len(source{p.ends[1]}.LLDP()) == 0 })
	must(t, p.lab.Link(p.nodes[0], "p1", p.nodes[1], "p1", lab.LinkOptions{}))
	p.agrees(1, "ieee", "peer", 8)
	IP(t, p.nodes[0], "link", "set", "p1", "down")
	p.agrees(1, "ieee", "no-peer", 0x20)
	IP(t, p.nodes[0], "link", "set", "p1", "up")
	p.agrees(1, "ieee", "peer", 8)
}

// An interface that comes back without a neighbour has what is configured, however long a neighbour's word holds.
func TestInterfaceComesBackAlone(t *testing.T) {
	p := newPair(t, [2]string{lossless("3"), lossless("5") + "lldp: {willing: true, change_hold: 1000s}"})
	p.agrees(1, "ieee", "peer", 8)
	p.halt[0]()
	eventually(t, "the neighbour has gone", func() bool { return len(p.told(1).Neighbors) == 0 })
	if got := p.lossless(1); got != 8 {
		t.Errorf("lossless are %#x before the time is over", got)
	}
	must(t, p.nodes[1].DeleteLink("p1"))
	must(t, p.lab.Link(p.nodes[0], "p1", p.nodes[1], "p1", lab.LinkOptions{}))
	p.agrees(1, "ieee", "no-peer", 0x20)
}

// A configuration that changes while the switch runs reaches the peer.
func TestApplyReachesThePeer(t *testing.T) {
	p := newPair(t, [2]string{lossless("3"), lossless("5") + "lldp: {willing: true, change_hold: 0s}"})
	p.agrees(1, "ieee", "peer", 8)
	for _, next := range []struct {
		keys, version string
		mask          uint8
	}{{lossless("3, 6"), "ieee", 0x48}, {lossless("6") + "lldp: {dcbx: cee}", "cee", 0x40}} {
		_, err := p.ends[0].Apply(t.Context(), p.parse(0, next.keys))
		must(t, err)
		p.agrees(1, next.version, "peer", next.mask)
	}
	_, err := p.ends[0].Apply(t.Context(), p.parse(0, lossless("6")+"lldp: {dcbx: off}"))
	must(t, err)
	p.agrees(1, "cee", "no-peer", 0x20)
	_, err = p.ends[0].Apply(t.Context(), p.parse(0, lossless("6")+"lldp: {agent: off}"))
	must(t, err)
	eventually(t, "there is no neighbour any more", func() bool { return len(p.told(1).Neighbors) == 0 })
}

// What the neighbour has does not fit the pool: the port says so, follows it no longer, and keeps what both have.
func TestNeighbourAsksForTooMuch(t *testing.T) {
	p := newPair(t, [2]string{lossless("0, 1, 2, 3, 4, 5, 6, 7"),
		lossless("3") + "buffer: {lossless: {size: 100KiB}, headroom: 20KiB}\nlldp: {willing: true, change_hold: 0s}"})
	p.agrees(1, "ieee", "mismatch", 8)
	eventually(t, "an event says so", func() bool {
		return slices.ContainsFunc(p.events(1, dataplane.EventPort),
			func(s string) bool { return strings.Contains(s, "does not fit, and the port follows it no longer") })
	})
	_, err := p.ends[1].Apply(t.Context(), p.parse(1, lossless("3")+"lldp: {willing: true, change_hold: 0s}"))
	must(t, err)
	p.agrees(1, "ieee", "peer", 0xff)
}

// A neighbour that changes its mind under load: the priority that stays lossless loses nothing, and the port changes no
// faster than change_hold.
func TestNeighbourChangesItsMindUnderLoad(t *testing.T) {
	r := newRig(t, 3, lab.LinkOptions{})
	const hold = 300 * time.Millisecond
	r.Start(Setup{Keys: "priorities: {lossless: [3]}\nbuffer: {lossless: {size: 512KiB}}\nlldp: {willing: true, " +
		"change_hold: 300ms}", Each: At100M})
	before := r.Snapshot(1).Config.Lossless
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	s, err := porttest.OpenSocket(r.Host(1).Path(), "eth0")
	must(t, err)
	defer s.Close()
	tell := func(ttl uint16, mask uint8) {
		p := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: "h1"}, Port: lldp.ID{Subtype: lldp.PortLocal,
			Value: "1"}, TTL: ttl, Organization: []lldp.Organization{{OUI: lldp.OUI{0, 0x80, 0xC2}, Subtype: 11,
			Info: string([]byte{0x08, mask})}}}
		must(t, s.Send(frame.VnetHeader{}, lldp.AppendFrame(nil, [6]byte(HostMAC(1)), &p)))
	}
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3}), h3.Send(Stream{To: 2, Prio: 3})
	seen, changes, last := map[uint8]bool{}, 0, before
	for begun, i := time.Now(), 0; time.Since(begun) < 3*time.Second; i++ {
		tell(100, []uint8{0x08, 0x18, 0x28, 0x3c}[i%4])
		time.Sleep(7 * time.Millisecond)
		if got := r.Snapshot(1).Config.Lossless; got != last {
			last, seen[got] = got, true
			changes++
		}
	}
	if most := int(3*time.Second/hold) + 1; len(seen) < 2 || changes > most {
		t.Errorf("%d changes to %v, want at most %d, and to more than one", changes, seen, most)
	}
	tell(0, 0)
	eventually(t, "the configuration holds again", func() bool { return r.Snapshot(1).Config.Lossless == before })
	stop1()
	stop3()
	h2.Whole(h1, 3)
	h2.Whole(h3, 3)
	r.NoLosslessDrops()
}

// A thousand neighbours and frames that are none: a few are kept for as long as they say, nobody is followed, and the
// port forwards meanwhile.
func TestThousandNeighboursOnALink(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.Start(Setup{Keys: "priorities: {lossless: [3]}\nlldp: {willing: true, change_hold: 0s}"})
	s, err := porttest.OpenSocket(r.Host(1).Path(), "eth0")
	must(t, err)
	defer s.Close()
	begun := time.Now()
	for i := range 1000 {
		p := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: fmt.Sprint(i)},
			Port: lldp.ID{Subtype: lldp.PortLocal, Value: "1"}, TTL: 2,
			Organization: []lldp.Organization{{OUI: lldp.OUI{0, 0x80, 0xC2}, Subtype: 11, Info: "\x08\xf0"}}}
		b := lldp.AppendFrame(nil, [6]byte(HostMAC(1)), &p)
		must(t, s.Send(frame.VnetHeader{}, b))
		must(t, s.Send(frame.VnetHeader{}, b[:20+i%40])) // cut anywhere
	}
	taken := r.LLDP().Statistics.ReceivedFrames
	if windows := uint64(time.Since(begun)/frameWindow) + 2; taken > windows*frameBudget {
		t.Errorf("%d frames were taken in %d times %v", taken, windows, frameWindow)
	}
	eventually(t, "only a few are kept", func() bool {
		p := r.LLDP()
		return len(p.Neighbors) == lldp.MaxNeighbours && p.DCBX.Reason == "several-peers" &&
			p.Statistics.DiscardedFrames > 0
	})
	// as the first was
	eventually(t, "nobody of them is followed", func() bool { return r.Snapshot(1).Config.Lossless == 0x08 })
	r.Passes(1, 2)
	eventually(t, "they are forgotten", func() bool { return len(r.LLDP().Neighbors) == 0 })
	if got := len(r.Events(dataplane.EventLLDP, 1)); got == 0 || got > 20 {
		t.Errorf("%d events", got)
	}
}

// Agreement returns who can measure the headroom of a port. It may be asked at any time.
func (d *Daemon) Agreement(name string) lldp.Agreement {
	a := lldp.Agreement{Port: name}
	if s := d.published.Load().speakers[name]; s != nil {
		s.read(func(x *dcbx.Exchange, _ *dcbx.Config, _ int64) { a = x.Agreement(name) })
	}
	return a
}
