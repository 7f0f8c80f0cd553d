package acceptance

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	bpflink "github.com/cilium/ebpf/link"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// fastPorts are ports whose frames may pass the switch by.
var fastPorts = Setup{Keys: Lossless3, Each: "speed: none"}

// needAssist skips where the system allows no eBPF.
func needAssist(t *testing.T) {
	t.Helper()
	labtest.Require(t)
	if labtest.OneUser(t) {
		t.Skip("eBPF is not allowed in a user namespace: run the tests as root")
	}
}

// column is what show ports says of the programs at port n.
func (r *Rig) column(c *api.Client, n int) string {
	r.T.Helper()
	reply := assert.Got(c.Show(r.T.Context(), "ports")).Must(r.T)
	at := -1
	for line := range strings.Lines(reply.(*api.Ports).Detail()) {
		if at < 0 {
			at = strings.Index(line, "ASSIST")
		} else if strings.HasPrefix(line, PortName(n)+" ") {
			said, _, _ := strings.Cut(line[at:], "  ")
			return strings.TrimSpace(said)
		}
	}
	return "there is no such port"
}

// forwarded counts the frames that left port n past the switch.
func (r *Rig) forwarded(n int) (frames uint64) {
	for _, n := range r.Snapshot(n).Counters.Forwarded {
		frames += n
	}
	return frames
}

// passesFast shows that frames from one host to another pass, and in the end past the switch.
func (r *Rig) passesFast(from, to int) {
	r.T.Helper()
	before := r.forwarded(to)
	eventually(r.T, "frames pass the switch by", func() bool {
		r.Passes(from, to)
		return r.forwarded(to) > before
	})
}

// passesSlowly shows that frames pass, and all through the switch.
func (r *Rig) passesSlowly(from, to int) {
	r.T.Helper()
	before := r.forwarded(to)
	r.Passes(from, to)
	n := r.forwarded(to) - before
	assert.True(r.T, n == 0, "%d frames passed the switch by", n)
}

// programs counts those at tcx ingress of an interface of the switch.
func (r *Rig) programs(name string) int {
	r.T.Helper()
	return programsAt(r.T, r.Node, name)
}

// programsAt counts the programs at tcx ingress of an interface of a node.
func programsAt(t *testing.T, at *lab.Node, name string) (n int) {
	t.Helper()
	must(t, at.Do(func() error {
		l, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		found, err := bpflink.QueryPrograms(bpflink.QueryOptions{Target: l.Index, Attach: ebpf.AttachTCXIngress})
		n = len(found.Programs)
		return err
	}))
	return n
}

// show ports says what the programs do, and does it: whatever the configuration asks for, while a capture sees the
// frames, after the interface has come back, and after a flap.
func TestAssistColumn(t *testing.T) {
	needAssist(t)
	r := Start(t, 3, fastPorts)
	c := r.ServeControl()
	say := func(n int, want string) {
		t.Helper()
		assert.Equal(t, r.column(c, n), want, "port %d", n)
	}
	say(1, "fast")
	r.passesFast(1, 2)
	for _, tt := range []struct{ keys, each, want string }{
		{Lossless3, "speed: 1G", "hold (has a speed)"},
		{Lossless3, "speed: none, delay: 1us", "hold (has a delay)"},
		{"", "speed: 1G", "off (has a speed; nothing is lossless)"},
		{"", "speed: none", "fast"},
		{Lossless3 + "trunks: {t: {uplink: p3, members: [p1, p2], flow_control: pfc}}\nfdb: []\n", "speed: 1G",
			"hold (in a trunk)"},
	} {
		must(t, r.Apply(Setup{Keys: tt.keys, Each: tt.each}, 3))
		say(1, tt.want)
		switch {
		case tt.want == "fast":
			r.passesFast(1, 2)
		case !strings.Contains(tt.keys, "trunks"): // members of a trunk do not reach each other
			r.passesSlowly(1, 2)
		}
	}
	must(t, r.Apply(fastPorts, 3))
	say(1, "fast")
	r.passesFast(1, 2)

	k := r.startCapture(c, api.CaptureRequest{Ports: []string{"p1"}})
	say(1, "hold (is captured)")
	say(2, "fast")
	r.passesSlowly(1, 2)
	r.passesSlowly(2, 1)
	k.end()
	say(1, "fast")
	r.passesFast(1, 2)

	must(t, r.Node.DeleteLink("p2"))
	r.WaitUp(2, false)
	say(2, "-")
	r.Link(2)
	r.WaitUp(2, true)
	say(2, "fast")
	r.passesFast(1, 2)

	must(t, r.Node.LinkDown("p2"))
	r.WaitUp(2, false)
	say(2, "off (link down)")
	must(t, r.Node.LinkUp("p2"))
	r.WaitUp(2, true)
	r.passesFast(2, 1)
	r.NoLosslessDrops()
}

// A switch that is to do without programs has none.
func TestAssistOff(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3 + "assist: off\n", Each: "speed: none"})
	assert.Equal(t, r.column(r.ServeControl(), 1), "off (configuration)", "show ports says")
	assert.True(t, labtest.OneUser(t) || r.programs("p1") == 0, "there are programs at p1")
	r.passesSlowly(1, 2)
}

// somebodyElse attaches a program that returns a verdict to tcx ingress of a port.
func (r *Rig) somebodyElse(port string, verdict int32, where bpflink.Anchor) (end func()) {
	r.T.Helper()
	p := assert.Got(ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, verdict), asm.Return()}})).Must(r.T)
	var l bpflink.Link
	must(r.T, r.Node.Do(func() error {
		at, err := net.InterfaceByName(port)
		if err != nil {
			return err
		}
		l, err = bpflink.AttachTCX(bpflink.TCXOptions{Interface: at.Index, Program: p, Anchor: where,
			Attach: ebpf.AttachTCXIngress})
		return err
	}))
	end = sync.OnceFunc(func() { must(r.T, errors.Join(l.Detach(), l.Close(), p.Close())) })
	r.T.Cleanup(end)
	return end
}

// What programs at tcx ingress return: the next one decides, or the frame goes on to the host's stack.
const (
	verdictNext = -1
	verdictPass = 0
)

func (r *Rig) saysOfPort(n int, part string) bool {
	return slices.ContainsFunc(r.Events(dataplane.EventPort, n), func(e dataplane.Event) bool {
		return strings.Contains(e.Text, part)
	})
}

// The program of somebody else keeps those of the switch away from one port, and goes on itself.
func TestAssistBesideAnotherProgram(t *testing.T) {
	needAssist(t)
	r := NewRig(t, 3)
	r.somebodyElse("p1", verdictNext, nil)
	r.Start(fastPorts)
	c := r.ServeControl()
	assert.Equal(t, [2]string{r.column(c, 1), r.column(c, 2)}, [2]string{"off (another program)", "fast"},
		"show ports says")
	if !r.saysOfPort(1, "another program") {
		t.Errorf("no event says so: %+v", r.Events(dataplane.EventPort, 1))
	}
	assert.Equal(t, r.programs("p1"), 1, "programs are at p1, want the one")
	r.passesSlowly(1, 2)
	r.passesSlowly(2, 1)
	r.passesFast(2, 3)
}

// A port has shallow rings by default as long as a program in the kernel holds its peer. It gets deep ones where a
// program of somebody else is in the way, from the start on or under load, without losing a frame.
func TestRingsFollowTheProgram(t *testing.T) {
	needAssist(t)
	r := NewRig(t, 3)
	r.somebodyElse("p1", verdictNext, nil)
	r.Start(Setup{Keys: Lossless3, Each: "speed: 100M"})
	slots := func() (all [3]int) {
		for i := range all {
			all[i] = r.Snapshot(i + 1).RingSlots.Full
		}
		return all
	}
	const deep, shallow = 512, 260 // frames of 63 ms, and of 30 ms in whole blocks
	if got := slots(); got[0] < deep || got[1] > shallow || got[2] > shallow {
		t.Fatalf("slots: got %v, want at least %d, and twice at most %d", got, deep, shallow)
	}
	h2, h3 := r.Station(2, macctl.ModePFC, 50e6), r.Station(3, macctl.ModePFC, 0)
	stop := h2.Send(Stream{To: 3, Prio: 3})
	r.somebodyElse("p2", verdictPass, bpflink.Head())
	eventually(t, "the rings are deep", func() bool { return slots()[1] >= deep })
	at := h3.Tally(2, 3).Frames
	eventually(t, "frames come through them", func() bool { return h3.Tally(2, 3).Frames > at+1000 })
	stop()
	h3.Whole(h2, 3)
	got := slots()[2]
	assert.True(t, got <= shallow, "another port has %d slots", got)
	eventually(t, "an event says so, once the rings of before are closed",
		func() bool { return r.saysOfPort(2, "deep receive rings") })
}

// A switch that ends leaves no program behind.
func TestAssistLeavesNothing(t *testing.T) {
	needAssist(t)
	r := NewRig(t, 2)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := r.StartProcess(fastPorts)
		assert.Equal(t, r.programs("p1"), 1, "programs are at p1 of a running switch")
		must(t, p.Stop(s, Timeout))
		assert.Equal(t, r.programs("p1")+r.programs("p2"), 0, "after signal %d, programs are left", s)
	}
}

// Where the system allows no programs, one event of the switch says so, and all works without: in a user namespace, and
// without CAP_BPF.
func TestAssistNotAllowed(t *testing.T) {
	labtest.Require(t)
	if !labtest.OneUser(t) {
		inUserNamespace(t)
		r := NewRig(t, 2)
		p := r.Launch(fastPorts, without("bpf,-sys_admin"))
		eventually(t, "the ports are open", func() bool { return strings.Count(p.Output(), "port is open") == 2 })
		r.Passes(1, 2)
		must(t, p.Stop(syscall.SIGTERM, Timeout))
		n := strings.Count(p.Output(), "no help from inside the kernel")
		assert.True(t, n == 1, "the log says it %d times: %s", n, p.Output())
		return
	}
	r := Start(t, 2, fastPorts)
	c := r.ServeControl()
	assert.Equal(t, [2]string{r.column(c, 1), r.column(c, 2)}, [2]string{"off (no CAP_BPF)", "off (no CAP_BPF)"},
		"show ports says")
	var said []dataplane.Event
	for _, e := range r.Source().Events(0) {
		if strings.Contains(e.Text, "no help from inside the kernel") {
			said = append(said, e)
		}
	}
	assert.True(t, len(said) == 1 && said[0].Kind == dataplane.EventConfig && said[0].Port == "",
		"events %+v, want one of the switch", said)
	r.passesSlowly(1, 2)
}

// inUserNamespace runs this test again as root without rights, who gets a user namespace.
func inUserNamespace(t *testing.T) {
	t.Helper()
	program(t, "setpriv", "util-linux")
	self := assert.Got(os.Executable()).Must(t)
	out, err := exec.Command("setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all", self, "-test.v",
		"-test.run=^"+t.Name()+"$").CombinedOutput()
	assert.True(t, err == nil && strings.Contains(string(out), "--- PASS"), "in a user namespace: %v, %s", err, out)
}
