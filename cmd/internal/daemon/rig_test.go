package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane"
)

// A rig is a switch with hosts around it, each in a network namespace of its own. Host number n (from 1) has the
// interface eth0, which is linked to the switch's pN; see hostMAC for its address.
//
//	h1:eth0 ── p1 ┐
//	h2:eth0 ── p2 ┼ sw
//	h3:eth0 ── p3 ┘
type rig struct {
	t     *testing.T
	lab   *lab.Lab
	sw    *lab.Node
	hosts []*lab.Node // number n is at n-1
	dir   string
	d     *Daemon // the switch, where it runs in this process
	halt  func()  // ends it

	lost map[int][dataplane.NumPriorities + 1]uint64 // lossless frames of a port whose loss has been reported

	// of the hosts' sockets: the kernel takes its time for each, and for all of them at once no more
	closing sync.WaitGroup
}

func newRig(t *testing.T, hosts int, o lab.LinkOptions) *rig {
	t.Helper()
	l := labtest.New(t, "daemon")
	r := &rig{t: t, lab: l, sw: labtest.Node(t, l, "sw"), dir: t.TempDir()}
	for n := 1; n <= hosts; n++ {
		r.hosts = append(r.hosts, labtest.Node(t, l, fmt.Sprintf("h%d", n)))
		r.link(n, o)
	}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { // after the switch has ended
		r.closing.Wait()
		err := goleak.Find(before, goleak.IgnoreAnyFunction("pfcswitch/cmd/internal/lab.(*Process).runSampler"))
		if err != nil {
			t.Errorf("the switch has ended and something goes on: %v", err)
		}
	})
	return r
}

func (r *rig) host(n int) *lab.Node { return r.hosts[n-1] }

// link makes the link of host n.
func (r *rig) link(n int, o lab.LinkOptions) {
	r.t.Helper()
	o.MACs = [2]net.HardwareAddr{hostMAC(n), portMAC(n)}
	must(r.t, r.lab.Link(r.host(n), "eth0", r.sw, portName(n), o))
}

func hostMAC(n int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, byte(n)} }
func portMAC(n int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 1, byte(n)} }
func portName(n int) string          { return fmt.Sprintf("p%d", n) }

// A setup is a configuration: keys for the whole switch, keys for every port, and keys for single ports.
type setup struct {
	keys  string         // lines of YAML
	each  string         // flow-style keys, such as "speed: 100M, mtu: 9000"
	ports map[int]string // likewise, beside each
	ns    string         // namespace of the ports; empty: the switch's own
	ready []int          // ports that have to come up; nil: all
}

// at100M are the keys of a port at 100 Mbit/s that survives the pauses of a busy test machine.
const at100M = "speed: 100M, ring: {outage: 400ms}"

// yaml writes the configuration for ports 1 to n. Every host has a static entry in VLAN 1, so that nothing is flooded.
func (s setup) yaml(r *rig, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: test\nmetrics: {listen: off}\napi: {socket: %s/api.sock}\n%s\nports:\n", r.dir, s.keys)
	for i := 1; i <= n; i++ {
		keys := []string{"interface: " + portName(i)}
		if s.ns != "" && !strings.Contains(s.ports[i], "netns:") {
			keys = append(keys, "netns: "+s.ns)
		}
		for _, more := range []string{s.each, s.ports[i]} {
			if more != "" {
				keys = append(keys, more)
			}
		}
		fmt.Fprintf(&b, "  %s: {%s}\n", portName(i), strings.Join(keys, ", "))
	}
	if strings.Contains(s.keys, "fdb:") {
		return b.String()
	}
	fmt.Fprintf(&b, "fdb:\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "  - {mac: %q, vlan: 1, port: %s}\n", hostMAC(i), portName(i))
	}
	return b.String()
}

func (r *rig) parse(s setup) *config.Config {
	r.t.Helper()
	s.ns = r.sw.Path()
	c, _, err := config.Parse("test.yaml", []byte(s.yaml(r, len(r.hosts))))
	must(r.t, err)
	return c
}

// start runs the switch in this process, and at the end of the test sees to it that it has lost track of nothing.
func (r *rig) start(s setup) {
	r.t.Helper()
	r.startAny(s)
	r.t.Cleanup(r.settle)
	if s.ready == nil {
		for n := range r.hosts {
			s.ready = append(s.ready, n+1)
		}
	}
	for _, n := range s.ready {
		r.waitUp(n, true)
	}
}

func (r *rig) startAny(s setup) {
	r.t.Helper()
	r.d, r.halt = run(r.t, r.parse(s))
}

// run starts a switch, and ends it at the latest with the test.
func run(t *testing.T, c *config.Config) (d *Daemon, halt func()) {
	t.Helper()
	d, err := New(c, slog.New(slog.NewTextHandler(io.Discard, nil)))
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); d.Run(ctx) }()
	halt = sync.OnceFunc(func() {
		cancel()
		<-ran
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Cleanup(halt)
	return d, halt
}

// together ends several switches at once.
func together(halts []func()) {
	var all sync.WaitGroup
	for _, halt := range halts {
		all.Go(halt)
	}
	all.Wait()
}

// settle waits until the switch holds neither frames nor peers, and holds it against what it has counted. It has to be
// called when nobody sends any more.
func (r *rig) settle() {
	r.t.Helper()
	var s dataplane.Snapshot
	holds := func() bool {
		r.d.runner.Snapshot(&s)
		for _, p := range s.Ports {
			if p.XoffWanted != 0 {
				return false
			}
		}
		return s.Buffer.Lossless.Used.Private.Now == 0 && s.Buffer.Lossless.Used.Shared.Now == 0 &&
			s.Buffer.Lossless.Used.Headroom.Now == 0 && s.Buffer.Lossy.Used.Shared.Now == 0 && s.Buffer.Off == 0
	}
	for deadline := time.Now().Add(testTimeout); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Errorf("nobody sends, and the buffer is not empty: lossless %+v, lossy %+v, %d queues OFF",
				s.Buffer.Lossless.Used, s.Buffer.Lossy.Used, s.Buffer.Off)
			for _, p := range s.Ports {
				r.t.Errorf("%s holds its peer's priorities %08b", p.Config.Name, p.XoffWanted)
			}
			break
		}
	}
	if s.Buffer.Unbalanced != 0 {
		r.t.Errorf("%d releases of what was not charged", s.Buffer.Unbalanced)
	}
	in, out, dropped, held := balance(&s)
	if in != out+dropped+held {
		r.t.Errorf("received and copied %d frames, but sent %d, dropped %d, hold %d", in, out, dropped, held)
	}
}

// balance sums up where frames came from and went to, over all ports that are there. What never left a ring counts on
// neither side.
func balance(s *dataplane.Snapshot) (in, out, dropped, held uint64) {
	for i := range s.Ports {
		p := &s.Ports[i]
		in += p.Counters.ReceivedFrames + p.Counters.Copies
		out += p.Counters.SentFrames
		for prio := range p.Counters.Drops {
			for reason, n := range p.Counters.Drops[prio] {
				if dataplane.DropReason(reason) != dataplane.DropRing {
					dropped += n
				}
			}
		}
		for _, n := range p.Held {
			held += uint64(n)
		}
		held += uint64(p.Delayed)
	}
	return in, out, dropped, held
}

// snapshot returns the state of port n.
func (r *rig) snapshot(n int) dataplane.PortSnapshot {
	r.t.Helper()
	var s dataplane.Snapshot
	r.d.runner.Snapshot(&s)
	for _, p := range s.Ports {
		if p.Config.Name == portName(n) {
			return p
		}
	}
	r.t.Fatalf("there is no port %s", portName(n))
	return dataplane.PortSnapshot{}
}

func (r *rig) waitUp(n int, up bool) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%s is up: %v", portName(n), up), func() bool { return r.snapshot(n).Up == up })
}

// state is what the switch says of port n, empty where all is well.
func (r *rig) state(n int) string {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	return r.d.ports[portName(n)].state
}

// events returns the events of one kind that concern port n.
func (r *rig) events(kind dataplane.EventKind, n int) (found []dataplane.Event) {
	r.d.runner.View(func(sw *dataplane.Switch) {
		for _, e := range sw.Events(nil, 0) {
			if e.Kind == kind && e.Port == portName(n) {
				found = append(found, e)
			}
		}
	})
	return found
}

// noLosslessDrops fails the test where a port but the given ones has broken the promise since it was last asked.
func (r *rig) noLosslessDrops(except ...int) {
	r.t.Helper()
	for n := 1; n <= len(r.hosts); n++ {
		excepted := false
		for _, e := range except {
			excepted = excepted || e == n
		}
		if got := r.snapshot(n).Counters.LosslessDrops; !excepted && got != r.lost[n] {
			r.t.Errorf("%s lost lossless frames, by priority: %v; events: %+v", portName(n), got,
				r.events(dataplane.EventLosslessDrop, n))
			if r.lost == nil {
				r.lost = map[int][dataplane.NumPriorities + 1]uint64{}
			}
			r.lost[n] = got
		}
	}
}

// startProcess runs the switch as a process in its own namespace and waits until its ports have been opened.
func (r *rig) startProcess(s setup, env ...string) *lab.Process {
	r.t.Helper()
	p := r.launch(s, env...)
	for n := range r.hosts {
		want := fmt.Sprintf(`msg="port is open" port=%s `, portName(n+1))
		eventually(r.t, "the switch has opened "+portName(n+1), func() bool {
			select {
			case <-p.Ended():
				r.t.Fatal(p.Wait())
			default:
			}
			return strings.Contains(p.Output(), want)
		})
	}
	return p
}

func (r *rig) launch(s setup, env ...string) *lab.Process {
	r.t.Helper()
	return r.launchAs(switchCommand(r.write(s), env...))
}

func (r *rig) launchAs(c lab.Command) *lab.Process {
	r.t.Helper()
	p, err := r.sw.Start(c)
	must(r.t, err)
	return p
}

// write writes the configuration and returns its path.
func (r *rig) write(s setup) string {
	r.t.Helper()
	path := filepath.Join(r.dir, "switch.yaml")
	must(r.t, os.WriteFile(path, []byte(s.yaml(r, len(r.hosts))), 0o600))
	return path
}

// ip runs a command of iproute2 in a node.
func ip(t *testing.T, n *lab.Node, args ...string) string {
	t.Helper()
	p, err := n.Start(lab.Command{Argv: append([]string{"ip"}, args...)})
	must(t, err)
	must(t, p.Wait())
	return p.Output()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testTimeout is how long a test waits for what has to happen. It is long: a slow machine is not a fault.
const testTimeout = time.Minute

// eventually waits for what the switch, another process or the kernel is about to do.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", testTimeout, what)
		}
	}
}
