package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

const (
	cell     = 256
	lossless = 3
	mtu      = 1514
	gigabit  = 1_000_000_000
	ms       = 1_000_000
)

// A reporter is a test, a benchmark, or a property under test.
type reporter interface {
	assert.TB
	Cleanup(func())
}

// A rig is a fabric whose switches a test can look into.
type rig struct {
	*Fabric
	tb       reporter
	switches []*dataplane.Switch // by node; nil for hosts
	delay    int64               // of all links, ns
	speed    int64               // of all links, bit/s
	response int64               // of hosts to PFC, ns at 1G
	ringHold bool                // frames without buffer wait
	change   func(*dataplane.Config, map[int]dataplane.PortConfig)
}

func newRig(tb reporter, speed, delay int64) *rig {
	tb.Helper()
	f := assert.Got(New(Config{Seed: 1, Stall: 2000 * ms, LookEvery: ms})).Must(tb)
	return &rig{Fabric: f, tb: tb, speed: speed, delay: delay, response: 1024} // the standard's limit
}

// host is the address of a node that is a host.
func address(n int) uint64 { return 0x02_00_00_00_00_10 + uint64(n) }

// headroomFor is the most that can arrive after a threshold was crossed, in octets of whole cells, in frames of the
// given length: what is sent in the time of the way there and back, the response and the frame that XOFF waits for, and
// the frame that has begun by then.
func (r *rig) headroomFor(octets int) int64 {
	wire := int64(frame.WireOctets(octets))
	flight := (2*r.delay + r.response*gigabit/r.speed) * (r.speed / 8) / nsPerSecond
	frames := (flight+int64(frame.WireOctets(mtu+4))+int64(frame.WireOctets(macctl.FrameSize)))/wire + 3
	return frames * int64((octets+cell-1)/cell*cell)
}

// addSwitch adds a switch with n ports and a lossless shared segment of so many cells. Without ringHold, what finds no
// headroom is lost. statics are ports by host.
func (r *rig) addSwitch(n int, shared, octets int, statics map[int]int) int {
	r.tb.Helper()
	cfg := dataplane.Config{
		Buffer: buffer.Config{Cell: cell, RingHold: r.ringHold,
			Lossless: buffer.PoolConfig{Size: int64(shared * cell), Alpha: 1},
			Lossy:    buffer.PoolConfig{Size: 1 << 18, Alpha: 1}},
		Lossless: 1 << lossless, Demote: true, Ageing: time.Hour, Stations: 256,
		Identity: bridge.Identity{Public: [8]byte{byte(len(r.nodes) + 1)}},
	}
	ports := map[int]dataplane.PortConfig{}
	for i := range n {
		c := dataplane.PortConfig{Name: fmt.Sprintf("p%d", i), MAC: [6]byte{2, 0, 0, 1, byte(len(r.nodes)), byte(i)},
			Speed: r.speed, Burst: max(2*1600, r.speed/8/2000), MaxFrame: mtu, Cut: true,
			Mode: macctl.ModePFC, Lossless: 1 << lossless, Quanta: math.MaxUint16,
			Classify: classify.Config{Trust: classify.TrustPCP, DSCP: classify.DefaultDSCP()},
			Bridge:   bridge.PortConfig{PVID: 1, Learning: true, Flood: statics == nil}}
		for q := range c.Egress {
			c.Egress[q] = sched.Queue{Weight: 1}
			c.Ingress[q] = buffer.QueueConfig{Headroom: r.headroomFor(octets), XonOffset: 8 * cell}
		}
		cfg.Buffer.Lossless.Size += c.Ingress[lossless].Headroom
		ports[i] = c
	}
	if r.change != nil {
		r.change(&cfg, ports)
	}
	sw := assert.Got(dataplane.New(cfg, 1)).Must(r.tb)
	r.tb.Cleanup(func() { _ = sw.Close() })
	var entries []dataplane.Static
	for h, p := range statics {
		entries = append(entries, dataplane.Static{MAC: address(h), VID: 1, Port: p})
	}
	assert.Must(r.tb, sw.Reconfigure(cfg, ports, entries, 1))
	for i := range n {
		sw.SetUp(i, true, 1)
	}
	node := assert.Got(r.AddSwitch(fmt.Sprintf("s%d", len(r.nodes)), sw, n)).Must(r.tb)
	for len(r.switches) <= node {
		r.switches = append(r.switches, nil)
	}
	r.switches[node] = sw
	return node
}

func (r *rig) addHost(sw, port int) int {
	r.tb.Helper()
	n := r.AddHost(HostConfig{Name: fmt.Sprintf("h%d", len(r.nodes)), MAC: address(len(r.nodes)),
		Mode: macctl.ModePFC, Response: r.response * gigabit / r.speed})
	r.join(End{sw, port}, End{n, 0})
	return n
}

func (r *rig) join(a, b End) {
	r.tb.Helper()
	assert.Must(r.tb, r.Connect([2]End{a, b}, [2]int64{r.speed, r.speed}, [2]int64{r.delay, r.delay}))
}

// addLeafSpine adds leaves that are joined to every spine by links with a delay, with as many hosts each; routes spread
// the hosts over the spines, or there are none. The nodes are the leaves, the spines, and the hosts from leaf to leaf.
func (r *rig) addLeafSpine(leaves, spines, hosts int, delay int64, flood bool) {
	r.tb.Helper()
	n, first := leaves*hosts, leaves+spines
	for l := range leaves {
		routes := map[int]int{}
		for h := range n {
			if routes[first+h] = hosts + h%spines; h/hosts == l {
				routes[first+h] = h % hosts
			}
		}
		if flood {
			routes = nil
		}
		r.addSwitch(hosts+spines, 1024, mtu, routes)
	}
	for range spines {
		routes := map[int]int{}
		for h := range n {
			routes[first+h] = h / hosts
		}
		if flood {
			routes = nil
		}
		r.addSwitch(leaves, 1024, mtu, routes)
	}
	of := r.delay
	r.delay = delay
	for l := range leaves {
		for s := range spines {
			r.join(End{l, hosts + s}, End{leaves + s, l})
		}
	}
	r.delay = of
	for h := range n {
		r.addHost(h/hosts, h%hosts)
	}
}

func (r *rig) load(c FlowConfig) {
	r.tb.Helper()
	assert.Must(r.tb, r.AddFlow(c))
}

// start has the switches learn, and checks that every flow has a way.
func (r *rig) start() {
	r.tb.Helper()
	assert.Must(r.tb, r.Learn())
	for i := range r.flows {
		if _, fault := r.Path(i); fault != nil {
			r.tb.Fatalf("flow %d: %s %s", i, fault.Switch, fault.Reason)
		}
	}
	r.Start()
}

// kept fails unless each frame of lossless flows came once, all flows in order, and the sums hold.
func (r *rig) kept() {
	r.tb.Helper()
	for i := range r.flows {
		v := r.Flow(i)
		lost := v.Sent - v.Received
		if r.flows[i].Priority == lossless && lost != 0 || v.Reordered+v.Duplicated != 0 || v.Sent == 0 {
			r.tb.Errorf("flow %d: %+v: %d lost", i, r.flows[i].FlowConfig, lost)
		}
	}
	r.empty()
	for n, sw := range r.switches {
		if sw != nil {
			lost, _ := r.look(n).Losses()
			assert.Equal(r.tb, lost, 0, "lossless frames that were dropped")
		}
	}
}

// empty reports what is left in switches that should hold neither frames nor peers.
func (r *rig) empty() {
	r.tb.Helper()
	r.balanced()
	for n, sw := range r.switches {
		if sw == nil {
			continue
		}
		cells, descriptors := sw.InUse()
		v := r.look(n)
		used := v.Buffer.Lossless.Used
		assert.True(r.tb, cells+descriptors == 0 && used.Private.Now+used.Shared.Now+used.Headroom.Now == 0 &&
			v.Buffer.Lossy.Used.Shared.Now == 0, "%d cells, %d descriptors, and %+v of the buffer are in use", cells,
			descriptors, used)
		for _, p := range v.Ports {
			assert.True(r.tb, p.ControlSent.XoffSent == p.ControlSent.XonSent, "%s: XOFF %v, XON %v", p.Config.Name,
				p.ControlSent.XoffSent, p.ControlSent.XonSent)
		}
	}
}

// look returns the state of a switch.
func (r *rig) look(sw int) *dataplane.Snapshot {
	var v dataplane.Snapshot
	r.switches[sw].Snapshot(&v, r.now)
	return &v
}

func (r *rig) balanced() {
	r.tb.Helper()
	s, unbalanced := r.Sum()
	assert.True(r.tb, s.Sent+s.Copies == s.Received+s.Dropped+s.Held && len(unbalanced) == 0, "%+v, %v", s, unbalanced)
}

// incast is n senders and one receiver at one switch, in both classes. The receiver is the last host.
func incast(tb reporter, n int, speed, delay int64, octets int, length int64) (r *rig, sw int) {
	r = newRig(tb, speed, delay)
	sw = r.addSwitch(n+1, 64*(n+1), octets, nil)
	var hosts []int
	for i := range n + 1 {
		hosts = append(hosts, r.addHost(sw, i))
	}
	for _, h := range hosts[:n] {
		for _, prio := range []uint8{lossless, 0} {
			r.load(FlowConfig{From: h, To: hosts[n], Priority: prio, Octets: octets, Stop: length})
		}
	}
	return r, sw
}

// xoffs counts the XOFFs that a switch has sent.
func (r *rig) xoffs(sw int) (n uint64) {
	for _, p := range r.look(sw).Ports {
		n += p.ControlSent.XoffSent[lossless]
	}
	return n
}

var _ reporter = (*testing.T)(nil)
