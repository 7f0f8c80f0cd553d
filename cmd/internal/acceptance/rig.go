package acceptance

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A Rig is a switch with hosts around it, each in its own network namespace. Host number n (from 1) has the interface
// eth0, which is linked to the switch's pN; see HostMAC for its address.
//
//	h1:eth0 ── p1 ┐
//	h2:eth0 ── p2 ┼ sw
//	h3:eth0 ── p3 ┘
type Rig struct {
	T      *testing.T
	Lab    *lab.Lab
	Node   *lab.Node   // of the switch
	Hosts  []*lab.Node // number n is at n-1
	Dir    string
	Switch Switch // the switch, if it runs in this process
	Halt   func() // ends it

	mtu     int    // of the links; 0: the kernel's
	address string // of its page

	lost map[int][dataplane.NumPriorities + 1]uint64 // lossless frames of a port whose loss has been reported

	closing sync.WaitGroup // closes the hosts' sockets in parallel, because the kernel is slow at each
}

// Start makes a rig and runs the switch in this process, as Rig.Start does.
func Start(t *testing.T, hosts int, s Setup) *Rig {
	t.Helper()
	r := newRig(t, hosts, s.MTU)
	r.Start(s)
	return r
}

// NewRig makes the namespaces and links. The test fails if a goroutine of the switch is left at its end.
func NewRig(t *testing.T, hosts int) *Rig {
	t.Helper()
	return newRig(t, hosts, 0)
}

func newRig(t *testing.T, hosts, mtu int) *Rig {
	t.Helper()
	l := labtest.New(t, "daemon")
	r := &Rig{T: t, Lab: l, Node: labtest.Node(t, l, "sw"), Dir: t.TempDir(), mtu: mtu}
	for n := 1; n <= hosts; n++ {
		r.Hosts = append(r.Hosts, labtest.Node(t, l, fmt.Sprintf("h%d", n)))
		r.Link(n)
	}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { // after the switch has ended
		r.closing.Wait()
		err := goleak.Find(before, goleak.IgnoreAnyFunction("pfcswitch/cmd/internal/lab.(*Process).runSampler"))
		assert.NoError(t, err, "the switch has ended and something goes on")
	})
	return r
}

// Host returns host n.
func (r *Rig) Host(n int) *lab.Node { return r.Hosts[n-1] }

// Link makes the link of host n.
func (r *Rig) Link(n int) {
	r.T.Helper()
	must(r.T, r.Lab.Link(r.Host(n), "eth0", r.Node, PortName(n),
		lab.LinkOptions{MTU: r.mtu, MACs: [2]net.HardwareAddr{HostMAC(n), PortMAC(n)}}))
}

// HostMAC is the address of eth0 of host n.
func HostMAC(n int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, byte(n)} }

// PortMAC is the address of the switch's port n.
func PortMAC(n int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 1, byte(n)} }

// PortName is the name of port n, and of its interface.
func PortName(n int) string { return fmt.Sprintf("p%d", n) }

// A Setup is a configuration: keys of the whole switch, of every port, and of single ports.
type Setup struct {
	Keys  string         // lines of YAML
	Each  string         // flow-style keys, such as "speed: 100M, mtu: 9000"
	Ports map[int]string // likewise, beside each
	MTU   int            // of the links that Start makes; 0: the kernel's
	Netns string         // namespace of the ports; empty: the switch's own
	Ready []int          // ports that have to come up; nil: all
}

// At100M are the keys of a port at 100 Mbit/s that survives the standstills of a busy test machine.
const At100M = "speed: 100M, ring: {outage: 400ms}"

// YAML writes the configuration for ports 1 to n. Every host has a static entry in VLAN 1, so that nothing is flooded.
func (s Setup) YAML(r *Rig, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\nports:\n", Header("test", r.Dir+"/api.sock"), deepLossy(s.Keys))
	for i := 1; i <= n; i++ {
		keys := []string{"interface: " + PortName(i)}
		if s.Netns != "" && !strings.Contains(s.Ports[i], "netns:") {
			keys = append(keys, "netns: "+s.Netns)
		}
		for _, more := range []string{s.Each, s.Ports[i]} {
			if more != "" {
				keys = append(keys, more)
			}
		}
		fmt.Fprintf(&b, "  %s: {%s}\n", PortName(i), strings.Join(keys, ", "))
	}
	if strings.Contains(s.Keys, "fdb:") {
		return b.String()
	}
	fmt.Fprintf(&b, "fdb:\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "  - {mac: %q, vlan: 1, port: %s}\n", HostMAC(i), PortName(i))
	}
	return b.String()
}

// deepLossy adds a lossy pool for hosts that had no CPU for a while and then send at once, as the rings of At100M are,
// where a test says nothing of that pool.
func deepLossy(keys string) string {
	const pool = "lossy: {size: 4MiB}"
	switch {
	case strings.Contains(keys, "lossy:"):
		return keys
	case strings.Contains(keys, "buffer: {"):
		return strings.Replace(keys, "buffer: {", "buffer: {"+pool+", ", 1)
	default:
		return keys + "\nbuffer: {" + pool + "}"
	}
}

// Header are the keys of a switch with a name and a control socket, and without metrics.
func Header(name, socket string) string {
	return fmt.Sprintf("name: %s\nmetrics: {listen: off}\napi: {socket: %s}\n", name, socket)
}

// Parse reads a configuration, or fails the test.
func Parse(t testing.TB, yaml string) *config.Config {
	t.Helper()
	c, _, err := config.Parse("test.yaml", []byte(yaml))
	must(t, err)
	return c
}

// Parse reads the configuration.
func (r *Rig) Parse(s Setup) *config.Config {
	r.T.Helper()
	s.Netns = r.Node.Path()
	return Parse(r.T, s.YAML(r, len(r.Hosts)))
}

// Start runs the switch in this process. At the end of the test, the switch must have lost track of no frame.
func (r *Rig) Start(s Setup) {
	r.T.Helper()
	r.StartAny(s)
	r.T.Cleanup(r.Settle)
	if s.Ready == nil {
		for n := range r.Hosts {
			s.Ready = append(s.Ready, n+1)
		}
	}
	for _, n := range s.Ready {
		r.WaitUp(n, true)
	}
}

// StartAny runs the switch in this process, and waits for nothing.
func (r *Rig) StartAny(s Setup) {
	r.T.Helper()
	r.Switch, r.Halt = Run(r.T, r.Parse(s))
}

// A Switch is a switch that runs in this process. Its methods are those of a daemon.
type Switch interface {
	// Run follows the interfaces until ctx ends. Serve also answers on the control socket and the metrics address.
	Run(ctx context.Context)
	Serve(ctx context.Context) error
	// Apply puts a configuration in force. Source is what the API reads. Close ends the switch.
	Apply(ctx context.Context, c *config.Config) (lost []string, err error)
	Source() api.Source
	Close() error
}

// NewSwitch starts a switch. The main function of the tests sets it: see Main.
var NewSwitch func(c *config.Config, log *slog.Logger) (Switch, error)

// Run starts a switch, and ends it at the latest with the test.
func Run(t *testing.T, c *config.Config) (d Switch, halt func()) {
	t.Helper()
	d = assert.Got(NewSwitch(c, slog.New(slog.DiscardHandler))).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); d.Run(ctx) }()
	halt = sync.OnceFunc(func() {
		cancel()
		<-ran
		assert.NoError(t, d.Close(), "close")
	})
	t.Cleanup(halt)
	return d, halt
}

// Together ends several switches at the same time.
func Together(halts []func()) {
	var all sync.WaitGroup
	for _, halt := range halts {
		all.Go(halt)
	}
	all.Wait()
}

// Settle waits until the switch holds neither frames nor peers, and compares its counters. All senders must have
// stopped.
func (r *Rig) Settle() {
	r.T.Helper()
	var s dataplane.Snapshot
	holds := func() bool {
		r.Source().Snapshot(&s)
		for _, p := range s.Ports {
			if p.XoffWanted != 0 {
				return false
			}
		}
		return s.Buffer.Lossless.Used.Private.Now == 0 && s.Buffer.Lossless.Used.Shared.Now == 0 &&
			s.Buffer.Lossless.Used.Headroom.Now == 0 && s.Buffer.Lossy.Used.Shared.Now == 0 && s.Buffer.Off == 0
	}
	for deadline := time.Now().Add(Timeout); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.T.Errorf("nobody sends, and the buffer is not empty: lossless %+v, lossy %+v, %d queues OFF",
				s.Buffer.Lossless.Used, s.Buffer.Lossy.Used, s.Buffer.Off)
			for _, p := range s.Ports {
				r.T.Errorf("%s holds its peer's priorities %08b", p.Config.Name, p.XoffWanted)
			}
			break
		}
	}
	assert.True(r.T, s.Buffer.Unbalanced == 0, "%d releases of what was not charged", s.Buffer.Unbalanced)
	b := s.Balance()
	assert.True(r.T, b.Received+b.Copies == b.Sent+b.Dropped+b.Held,
		"received and copied %d frames, but sent %d, dropped %d, hold %d", b.Received+b.Copies, b.Sent, b.Dropped,
		b.Held)
}

// Snapshot returns the state of port n.
func (r *Rig) Snapshot(n int) dataplane.PortSnapshot {
	r.T.Helper()
	var s dataplane.Snapshot
	r.Source().Snapshot(&s)
	for _, p := range s.Ports {
		if p.Config.Name == PortName(n) {
			return p
		}
	}
	r.T.Fatalf("there is no port %s", PortName(n))
	return dataplane.PortSnapshot{}
}

// WaitUp waits until port n is up, or down.
func (r *Rig) WaitUp(n int, up bool) {
	r.T.Helper()
	eventually(r.T, fmt.Sprintf("%s is up: %v", PortName(n), up), func() bool { return r.Snapshot(n).Up == up })
}

// State is what the switch says of port n, empty if all is well.
func (r *Rig) State(n int) string {
	for _, p := range r.Source().Ports() {
		if p.Name == PortName(n) {
			return p.State
		}
	}
	return "there is no such port"
}

// Source is what the switch in this process says of itself.
func (r *Rig) Source() api.Source { return r.Switch.Source() }

// Apply puts a configuration of the first n ports in force.
func (r *Rig) Apply(s Setup, n int) error {
	r.T.Helper()
	s.Netns = r.Node.Path()
	c, _, err := config.Parse("test.yaml", []byte(s.YAML(r, n)))
	if err != nil {
		return err
	}
	_, err = r.Switch.Apply(context.Background(), c)
	return err
}

// Events returns the events of one kind at port n.
func (r *Rig) Events(kind dataplane.EventKind, n int) (found []dataplane.Event) {
	for _, e := range r.Source().Events(0) {
		if e.Kind == kind && e.Port == PortName(n) {
			found = append(found, e)
		}
	}
	return found
}

// LossesAreTold fails the test unless the events of a port, which loses nothing now, count all lossless frames lost.
func (r *Rig) LossesAreTold(n int) {
	r.T.Helper()
	var lost, told uint64
	for _, frames := range r.Snapshot(n).Counters.LosslessDrops {
		lost += frames
	}
	all := r.Events(dataplane.EventLosslessDrop, n)
	for _, e := range all {
		told += e.Count
	}
	assert.True(r.T, lost > 0 && told == lost, "events tell of %d lost lossless frames, want %d: %+v", told, lost, all)
}

// NoLosslessDrops fails the test if a port, except the given ones, has lost lossless frames since the last call.
func (r *Rig) NoLosslessDrops(except ...int) {
	r.T.Helper()
	for n := 1; n <= len(r.Hosts); n++ {
		if got := r.Snapshot(n).Counters.LosslessDrops; !slices.Contains(except, n) && got != r.lost[n] {
			r.T.Errorf("%s lost lossless frames, by priority: %v; events: %+v", PortName(n), got,
				r.Events(dataplane.EventLosslessDrop, n))
			if r.lost == nil {
				r.lost = map[int][dataplane.NumPriorities + 1]uint64{}
			}
			r.lost[n] = got
		}
	}
}

// IP runs a command of iproute2 in a node.
func IP(t *testing.T, n *lab.Node, args ...string) string {
	t.Helper()
	return labtest.Run(t, n, append([]string{"ip"}, args...)...)
}

// Timeout is how long a test waits for an event. It is long, because a slow machine is not a fault.
const Timeout = time.Minute

var must, eventually = assert.Must, labtest.Eventually

// Socket opens a packet socket at eth0 of host n.
func (r *Rig) Socket(n int) *porttest.Socket {
	r.T.Helper()
	return socketAt(r.T, r.Host(n), "eth0")
}

// socketAt opens a packet socket at an interface of a node.
func socketAt(t *testing.T, n *lab.Node, name string) *porttest.Socket {
	t.Helper()
	s := assert.Got(porttest.OpenSocket(n.Path(), name)).Must(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Passes shows that lossless frames from one host reach another.
func (r *Rig) Passes(from, to int) {
	r.T.Helper()
	a, b := r.Station(from, macctl.ModePFC, 1e9), r.Station(to, macctl.ModePFC, 1e9)
	a.Send(Stream{To: to, Prio: 3, Frames: 20})
	b.Whole(a, 3)
	a.Stop()
	b.Stop()
}

// WaitState waits until the switch says this of port n.
func (r *Rig) WaitState(n int, part string) {
	r.T.Helper()
	eventually(r.T, fmt.Sprintf("%s says %q", PortName(n), part), func() bool {
		s := r.State(n)
		return strings.Contains(s, part) && (part != "" || s == "")
	})
}

// LLDP returns the LLDP state of port 1.
func (r *Rig) LLDP() api.LLDPPort {
	for _, p := range r.Source().LLDP() {
		if p.Port == PortName(1) {
			return p
		}
	}
	return api.LLDPPort{}
}

// HeadroomOf returns what a switch knows of the headroom of a port.
func HeadroomOf(d Switch, name string) (r headroom.Report) {
	for _, info := range d.Source().Headroom() {
		if info.Port == name {
			r = info.Report
		}
	}
	return r
}

// NIC gives host n a host NIC on its eth0: a TAP nic0 with the host's address. The NIC ends with the test.
func (r *Rig) NIC(n int, speed string) Switch {
	r.T.Helper()
	return r.nic(n, speed, "dscp")
}

func (r *Rig) nic(n int, speed, trust string) Switch {
	r.T.Helper()
	name := fmt.Sprint("nic", n)
	d, _ := Run(r.T, Parse(r.T, Header(name, r.Dir+"/"+name+".sock")+fmt.Sprintf(`
priorities: {lossless: [3], trust: %s, dscp: {26: 3}}
ports:
  wire: {interface: eth0, netns: %[2]s, %s}
  host: {kind: tap, interface: nic0, netns: %[2]s, wire: wire, addresses: [%[4]s/24]}
`, trust, r.Host(n).Path(), speed, HostIP(n))))
	eventually(r.T, "the host NIC is up", func() bool { return nicUp(d) })
	return d
}

// nicUp tells whether both ports of a host NIC are up.
func nicUp(d Switch) bool {
	var s dataplane.Snapshot
	d.Source().Snapshot(&s)
	for _, p := range s.Ports {
		if !p.Up {
			return false
		}
	}
	return len(s.Ports) == 2
}

// Lossless3 makes priority 3 the lossless one.
const Lossless3 = "priorities: {lossless: [3]}\n"

// SmallBuffers are pools that a few senders fill, with priority 3 lossless.
const SmallBuffers = "buffer: {lossless: {size: 256KiB}, lossy: {size: 64KiB}}\n" + Lossless3

// flow are the keys of a port with flow control of a mode, behind others.
func flow(mode macctl.Mode) string { return ", flow_control: " + mode.String() }

// Incast makes hosts 1 and 3 send frames of priority 3 to host 2, all at one speed. It waits until both have been held
// more than twice. end stops them, and fails the test unless every frame has arrived.
func (r *Rig) Incast(mode macctl.Mode, speed int64) (h1, h2, h3 *Station, end func()) {
	r.T.Helper()
	h1, h2, h3 = r.Station(1, mode, speed), r.Station(2, mode, speed), r.Station(3, mode, speed)
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3}), h3.Send(Stream{To: 2, Prio: 3})
	eventually(r.T, "both senders are held now and then",
		func() bool { return h1.Controls.Load() > 2 && h3.Controls.Load() > 2 })
	return h1, h2, h3, func() {
		r.T.Helper()
		stop1()
		stop3()
		h2.Whole(h1, 3)
		h2.Whole(h3, 3)
		if r.Switch != nil {
			r.NoLosslessDrops()
		}
	}
}
