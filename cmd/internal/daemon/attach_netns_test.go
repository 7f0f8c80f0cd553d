package daemon

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"pfcswitch/cmd/internal/acceptance"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// startLater is start for a switch whose programs come behind its start.
func startLater(t *testing.T, hosts int, s Setup) *rig {
	t.Helper()
	labtest.Require(t)
	if labtest.OneUser(t) {
		t.Skip("eBPF is not allowed in a user namespace: run the tests as root")
	}
	was := acceptance.NewSwitch
	t.Cleanup(func() { acceptance.NewSwitch = was })
	acceptance.NewSwitch = func(c *config.Config, log *slog.Logger) (acceptance.Switch, error) {
		return newIn("", c, log)
	}
	return start(t, hosts, s)
}

// attachRest gives all ports their programs.
func (r *rig) attachRest() { attachRest(r.T.Context(), []*Daemon{r.d()}) }

// noAssist is why a port has no programs; empty: it has them.
func (r *rig) noAssist(n int) string {
	for _, p := range r.Source().Ports() {
		if p.Name == PortName(n) {
			return p.NoAssist
		}
	}
	return "there is no such port"
}

// attached counts the programs at tcx ingress of an interface of the switch.
func (r *rig) attached(name string) (n int) {
	r.T.Helper()
	must(r.T, r.Node.Do(func() error {
		l, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		found, err := link.QueryPrograms(link.QueryOptions{Target: l.Index, Attach: ebpf.AttachTCXIngress})
		n = len(found.Programs)
		return err
	}))
	return n
}

// A switch whose programs come behind its start forwards without them. No frame is lost or overtaken when they come,
// and then frames pass the switch by.
func TestProgramsComeBehindTheStart(t *testing.T) {
	r := startLater(t, 2, Setup{Keys: Lossless3, Each: "speed: none"})
	h1, h2 := r.Station(1, macctl.ModePFC, 0), r.Station(2, macctl.ModePFC, 0)
	stop := h1.Send(Stream{To: 2, Prio: 3, Octets: 300, Rate: 20e6})
	eventually(t, "frames come through", func() bool { return h2.Tally(1, 3).Frames > 1000 })
	if why := r.noAssist(1); !strings.HasPrefix(why, "starting: ") || r.attached("p1")+r.attached("p2") != 0 {
		t.Errorf("no programs because %q, and %d are attached; want none, which start", why, r.attached("p1"))
	}
	assert.Equal(t, r.Snapshot(2).Counters.Forwarded[3], 0, "frames passed the switch by before")
	r.attachRest()
	assert.Equal(t, [2]string{r.noAssist(1), r.noAssist(2)}, [2]string{}, "why there are no programs")
	assert.Equal(t, [2]int{r.attached("p1"), r.attached("p2")}, [2]int{1, 1}, "programs")
	eventually(t, "frames pass the switch by", func() bool { return r.Snapshot(2).Counters.Forwarded[3] > 1000 })
	stop()
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
	r.Halt()
	assert.Equal(t, r.attached("p1")+r.attached("p2"), 0, "programs are left")
}

// While programs are to come, a change keeps the sockets of ports that stay. Ports that go get none, and a port that
// comes has its own at once.
func TestChangeBeforeProgramsCome(t *testing.T) {
	const each = "speed: 100M"
	r := startLater(t, 3, Setup{Keys: Lossless3, Each: each})
	before := r.d().ports["p1"].socket
	must(t, r.Apply(Setup{Keys: Lossless3 + "ageing: 77s\n", Each: each}, 2))
	assert.True(t, r.d().ports["p1"].socket == before, "a port that stays has other sockets")
	r.attachRest()
	assert.Equal(t, [3]int{r.attached("p1"), r.attached("p2"), r.attached("p3")}, [3]int{1, 1, 0}, "programs")
	must(t, r.Apply(Setup{Keys: Lossless3, Each: each}, 3))
	r.WaitUp(3, true)
	assert.Equal(t, r.attached("p3"), 1, "programs of the port that came")
	r.Passes(1, 2)
	r.Passes(2, 3)
}

// An interface that goes and comes back before its port has got programs has them then, and once.
func TestInterfaceGoesBeforeProgramsCome(t *testing.T) {
	r := startLater(t, 2, Setup{Keys: Lossless3, Each: "speed: none"})
	must(t, r.Node.DeleteLink("p1"))
	r.WaitUp(1, false)
	r.Link(1)
	r.WaitUp(1, true)
	r.attachRest()
	assert.Equal(t, [2]int{r.attached("p1"), r.attached("p2")}, [2]int{1, 1}, "programs")
	assert.Equal(t, [2]string{r.noAssist(1), r.noAssist(2)}, [2]string{}, "why there are no programs")
	r.Passes(1, 2)
}

// A switch that ends before all its programs have come leaves none behind.
func TestEndBeforeProgramsCome(t *testing.T) {
	r := startLater(t, 2, Setup{Keys: Lossless3, Each: "speed: none"})
	assert.True(t, r.d().attachNext() && r.attached("p1")+r.attached("p2") == 1,
		"%d and %d programs are attached, want one", r.attached("p1"), r.attached("p2"))
	r.Halt()
	assert.True(t, !r.d().attachNext(), "a switch that has ended attaches programs")
	assert.Equal(t, r.attached("p1")+r.attached("p2"), 0, "programs are left")
	if pins := r.d().pins; pins != "" {
		left := assert.Got(filepath.Glob(string(pins) + "*")).Must(t)
		assert.Equal(t, len(left), 0, "%q are left", left)
	}
}

// A port that cannot have its program says why, and gets deep rings without losing a frame.
func TestProgramsThatCannotCome(t *testing.T) {
	r := startLater(t, 2, Setup{Keys: Lossless3, Each: "speed: 100M"})
	must(t, r.Node.Do(func() error {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}}) // TCX_NEXT
		if err != nil {
			return err
		}
		defer func() { _ = p.Close() }()
		l, err := net.InterfaceByName("p1")
		if err != nil {
			return err
		}
		other, err := link.AttachTCX(link.TCXOptions{Interface: l.Index, Program: p, Attach: ebpf.AttachTCXIngress})
		if err == nil {
			t.Cleanup(func() { _ = other.Close() })
		}
		return err
	}))
	h1, h2 := r.Station(1, macctl.ModePFC, 50e6), r.Station(2, macctl.ModePFC, 0)
	stop := h1.Send(Stream{To: 2, Prio: 3})
	shallow := r.Snapshot(1).RingSlots.Full
	r.attachRest()
	why := r.noAssist(1)
	assert.True(t, strings.HasPrefix(why, "another program: "), "no programs because %q, want another one", why)
	deep := r.Snapshot(1).RingSlots.Full
	assert.True(t, deep > shallow, "%d slots, before that %d; want more", deep, shallow)
	assert.Equal(t, [2]string{r.noAssist(2), ""}, [2]string{}, "why the other port has no programs")
	at := h2.Tally(1, 3).Frames
	eventually(t, "frames come through the deep rings", func() bool { return h2.Tally(1, 3).Frames > at+1000 })
	stop()
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
}

// A port that can have neither its program nor deep rings at its start gets deep rings later.
func TestDeepRingsThatCannotComeAtOnce(t *testing.T) {
	r := startLater(t, 2, Setup{Keys: Lossless3, Each: "speed: 100M"})
	d := r.d()
	shallow := r.Snapshot(1).RingSlots.Full
	d.mu.Lock()
	open := d.openLarger
	d.openLarger = func(*port.AFPacket, port.Config) (*port.Larger, error) {
		return nil, errors.New("no memory for the rings")
	}
	for _, p := range d.ports {
		p.noAssist = errors.New("another program")
	}
	d.enlargeRings()
	d.mu.Unlock()
	assert.Equal(t, r.Snapshot(1).RingSlots.Full, shallow, "slots without memory for more")
	d.mu.Lock()
	d.openLarger = open
	d.mu.Unlock()
	eventually(t, "deep rings", func() bool {
		return r.Snapshot(1).RingSlots.Full > shallow && r.Snapshot(2).RingSlots.Full > shallow
	})
	r.Passes(1, 2)
}
