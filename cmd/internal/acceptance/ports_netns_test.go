package acceptance

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// A port whose interface is not there yet is down and says why, and works as soon as it comes.
func TestInterfaceAppears(t *testing.T) {
	r := NewRig(t, 2)
	must(t, r.Node.DeleteLink("p2"))
	r.Start(Setup{Ready: []int{1}})
	if got := r.State(2); !strings.Contains(got, "p2") || !strings.Contains(got, "waiting for it") {
		t.Errorf("state %q, want one that names the interface and says that it is waited for", got)
	}
	got := r.Events(dataplane.EventPort, 2)
	assert.True(t, len(got) == 1 && got[0].Text == r.State(2), "events %+v, want one with the port's state", got)
	r.Link(2)
	r.WaitUp(2, true)
	r.WaitState(2, "")
	r.Passes(1, 2)
}

// A namespace that is not there yet is waited for too; it is a path here, so that it can come under a known name.
func TestNamespaceAppears(t *testing.T) {
	r := NewRig(t, 2)
	ns := filepath.Join(r.Dir, "later")
	r.Start(Setup{Ports: map[int]string{2: "netns: " + ns}, Ready: []int{1}})
	if got := r.State(2); !strings.Contains(got, "network namespace does not exist") || !strings.Contains(got, ns) {
		t.Errorf("state %q, want one that names the namespace", got)
	}
	must(t, os.Symlink(r.Node.Path(), ns))
	r.WaitUp(2, true)
	r.Passes(1, 2)
	r.NoLosslessDrops()
}

// A name that stands for another namespace than before, as after the restart of a container, is followed.
func TestNamespaceReplaced(t *testing.T) {
	r := NewRig(t, 3)
	must(t, r.Lab.Link(r.Host(2), "eth1", r.Host(3), "p2", lab.LinkOptions{}))
	name := filepath.Join(r.Dir, "name")
	must(t, os.Symlink(r.Node.Path(), name))
	r.Start(Setup{Ports: map[int]string{2: "netns: " + name}})
	r.Passes(1, 2)

	must(t, os.Remove(name))
	r.WaitState(2, "network namespace does not exist")
	r.WaitUp(2, false)
	must(t, os.Symlink(r.Node.Path(), name))
	r.WaitUp(2, true)
	r.Passes(1, 2)

	must(t, os.Symlink(r.Host(3).Path(), name+".new"))
	must(t, os.Rename(name+".new", name))
	s := assert.Got(porttest.OpenSocket(r.Host(2).Path(), "eth1")).Must(t)
	defer s.Close()
	first := r.Socket(1)
	want := IPv4UDP(1, 2, 0, 100)
	eventually(t, "frames come through the interface in the other namespace", func() bool {
		must(t, first.Send(frame.VnetHeader{}, want))
		p, err := s.Receive(10 * time.Millisecond)
		return err == nil && bytes.Equal(p.Data, want)
	})
}

// While an interface vanishes, comes back under its name and vanishes again, all under load, the other ports lose
// nothing and the buffer that the port held comes back.
func TestInterfaceVanishesUnderLoad(t *testing.T) {
	r := Start(t, 4, Setup{Keys: SmallBuffers, Each: At100M})
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	stop1 := h1.Send(Stream{To: 2, Prio: 3, Rate: 40e6})
	stop3 := h3.Send(Stream{To: 4, Prio: 3}, Stream{To: 4, Prio: 0})
	for range 3 {
		h4 := r.Station(4, macctl.ModePFC, 100e6)
		eventually(t, "frames reach h4", func() bool { return h4.Tally(3, 3).Frames > 20 })
		eventually(t, "frames for h4 wait", func() bool { h4.PFC(1<<3, 0xffff); return r.Snapshot(4).Held[3] > 10 })
		must(t, r.Node.DeleteLink("p4"))
		r.WaitUp(4, false)
		r.WaitState(4, "waiting for it")
		h4.Stop()
		assert.Equal(t, r.Snapshot(4).Held, [8]int{}, "the port that vanished holds frames")
		h2.GoesOn(1, 50)
		r.Link(4)
		r.WaitUp(4, true)
		r.WaitState(4, "")
	}
	stop1()
	stop3()
	h2.Whole(h1, 3)
	drops := r.Snapshot(3).Counters.Drops[3][dataplane.DropPortDown]
	assert.True(t, drops != 0, "no frame was waiting when the port vanished, so nothing is shown")
	r.NoLosslessDrops()
}

// A link that flaps under load costs what was under way on it, and nothing else.
func TestLinkFlapsUnderLoad(t *testing.T) {
	r := Start(t, 4, Setup{Keys: SmallBuffers, Each: At100M})
	h1, h2, h3, h4 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 100e6)
	stop1 := h1.Send(Stream{To: 2, Prio: 3, Rate: 40e6})
	stop3 := h3.Send(Stream{To: 4, Prio: 3}, Stream{To: 4, Prio: 0})
	for i := range 20 {
		must(t, r.Host(4).LinkDown("eth0"))
		if i%4 == 0 {
			r.WaitUp(4, false)
			r.WaitState(4, "the link is down")
		}
		time.Sleep(time.Duration(i) * time.Millisecond)
		must(t, r.Host(4).LinkUp("eth0"))
	}
	r.WaitUp(4, true)
	r.WaitState(4, "")
	h4.GoesOn(3, 50)
	stop1()
	stop3()
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
}

// An interface on which the kernel's own stack speaks is refused with the way out, or taken by force.
func TestInterfaceInUse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, r *Rig)
		want  string // %s: into the switch's namespace
	}{
		{"address", func(t *testing.T, r *Rig) { must(t, r.Node.AddAddr("p2", "192.0.2.1/24")) },
			"interface p2 has the address 192.0.2.1/24, so the kernel's stack would answer too (remove it with: %sip " +
				"addr flush dev p2, or write force: true)"},
		{"IPv6 address", func(t *testing.T, r *Rig) {
			must(t, r.Node.Do(func() error {
				return os.WriteFile("/proc/sys/net/ipv6/conf/p2/disable_ipv6", []byte("0"), 0)
			}))
			must(t, r.Node.AddAddr("p2", "2001:db8::1/64"))
		}, "interface p2 has the address 2001:db8::1/64, so the kernel's stack would answer too (remove it with: " +
			"%sip addr flush dev p2, or"},
		{"master", func(t *testing.T, r *Rig) {
			IP(t, r.Node, "link", "add", "br0", "type", "bridge")
			IP(t, r.Node, "link", "set", "p2", "master", "br0")
		}, "interface p2 belongs to a bridge or bond (take it out with: %sip link set dev p2 nomaster, or write " +
			"force: true)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRig(t, 2)
			tt.spoil(t, r)
			_, err := NewSwitch(r.Parse(Setup{}), slog.New(slog.NewTextHandler(io.Discard, nil)))
			want := fmt.Sprintf(tt.want, port.CommandIn(r.Node.Path(), ""))
			assert.True(t, err != nil && strings.Contains(err.Error(), want) &&
				strings.HasPrefix(err.Error(), "test.yaml:"), "error %v, want the line in test.yaml and %q", err, want)
			r.Start(Setup{Ports: map[int]string{2: "force: true"}})
			r.Passes(1, 2)
		})
	}
}

// What an interface becomes while the switch waits for it is judged when it comes.
func TestInterfaceComesInUse(t *testing.T) {
	r := NewRig(t, 2)
	must(t, r.Node.DeleteLink("p2"))
	r.Start(Setup{Ready: []int{1}})
	must(t, r.Lab.Link(r.Host(2), "eth0", r.Node, "other", lab.LinkOptions{}))
	must(t, r.Node.AddAddr("other", "192.0.2.1/24"))
	must(t, r.Node.LinkDown("other"))
	IP(t, r.Node, "link", "set", "other", "name", "p2")
	must(t, r.Node.LinkUp("p2"))
	r.WaitState(2, "has the address 192.0.2.1/24")
	IP(t, r.Node, "address", "flush", "dev", "p2")
	r.WaitUp(2, true)
	r.Passes(1, 2)
}

// A missing capability is a sentence that says what to do, once.
func TestMissingCapability(t *testing.T) {
	const open, enter = "needs CAP_NET_RAW and CAP_NET_ADMIN: run as root", "needs CAP_SYS_ADMIN: run as root"
	for _, tt := range []struct {
		name       string
		capability string
		netns      bool
		want       string
	}{
		{"CAP_NET_RAW", "net_raw", false, open},
		{"CAP_NET_ADMIN", "net_admin", false, open},
		{"CAP_NET_RAW in a namespace", "net_raw", true, open},
		{"CAP_NET_ADMIN in a namespace", "net_admin", true, open},
		{"CAP_SYS_ADMIN", "sys_admin", true, enter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRig(t, 1)
			s := Setup{}
			if tt.netns {
				s.Netns = r.Node.Path()
			}
			p := r.Launch(s, without(tt.capability))
			eventually(t, "the switch ends", func() bool { return ended(p) })
			t.Log(p.Output())
			if out := p.Output(); strings.Count(out, "needs CAP_") != 1 || !strings.Contains(out, tt.want) {
				t.Errorf("it does not say once %q", tt.want)
			}
		})
	}
}

func ended(p *lab.Process) bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}
