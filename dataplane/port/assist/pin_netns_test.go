package assist

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// An outlet is a namespace with one interface.
type outlet struct {
	path  string
	index int
}

func newOutlet(t *testing.T) (o outlet) {
	t.Helper()
	path, handle, _ := porttest.NewNamespace(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "p1"
	v := netlink.NewVeth(attrs)
	v.PeerName = "h1"
	assert.Must(t, handle.LinkAdd(v))
	l := assert.Got(handle.LinkByName("p1")).Must(t)
	return outlet{path, l.Attrs().Index}
}

// left is Pins.Left in the namespace of the interface.
func (o outlet) left(t *testing.T, pins Pins, name string) (left bool) {
	t.Helper()
	assert.Must(t, port.InNetns(o.path, func() error {
		left = pins.Left(name)
		return nil
	}))
	return left
}

func (o outlet) attach(m *Maps, i int, pins Pins, name string) (p *Port, err error) {
	err = port.InNetns(o.path, func() (err error) {
		p, err = m.Attach(i, o.index, pins, name, 0)
		return err
	})
	return p, err
}

// programs returns the ids of the programs at the interface.
func (o outlet) programs(t *testing.T) (ids []ebpf.ProgramID) {
	t.Helper()
	assert.Must(t, port.InNetns(o.path, func() error {
		all, err := link.QueryPrograms(link.QueryOptions{Target: o.index, Attach: ebpf.AttachTCXIngress})
		if err == nil {
			for _, p := range all.Programs {
				ids = append(ids, p.ID)
			}
		}
		return err
	}))
	return ids
}

// openPins makes maps, and mounts a place for what outlives a switch.
func openPins(t *testing.T) (m *Maps, root string) {
	t.Helper()
	m, err := Open()
	if errors.Is(err, ErrNotAllowed) && os.Getuid() != 0 {
		t.Skip(err)
	}
	assert.Must(t, err)
	t.Cleanup(func() { assert.Must(t, m.Close()) })
	root = t.TempDir()
	assert.Must(t, unix.Mount("bpf", root, "bpf", 0, ""))
	t.Cleanup(func() { assert.Must(t, unix.Unmount(root, 0)) })
	return m, root
}

// kill closes the files of a port, as the kernel does when it kills a switch.
func (p *Port) kill(t *testing.T) {
	t.Helper()
	assert.Must(t, errors.Join(p.link.Close(), p.ingress.Close(), p.steer.Close(), p.pin.lock.Close()))
}

// A kept program belongs to one port of one switch that lives, or that was killed: other switches of the same name
// leave it alone, in whatever namespace they are.
func TestPins(t *testing.T) {
	m, root := openPins(t)
	pins := Pins(filepath.Join(root, "pfcswitch:"+inFile("sw.1")+":"))
	folders := func() int {
		all := assert.Got(filepath.Glob(root + "/pfcswitch*")).Must(t)
		return len(all)
	}
	assert.True(t, !pins.Left("p.1") && !Pins("").Left("p.1"), "something is left of a switch that there never was")
	one, other := newOutlet(t), newOutlet(t)
	assert.MustBeTrue(t, one.index == other.index, "interfaces %d and %d: nothing is shown", one.index, other.index)
	a := assert.Got(one.attach(m, 0, pins, "p.1")).Must(t)
	b, err := other.attach(m, 1, pins, "p.1")
	assert.Must(t, err)
	ofOne, ofOther := one.programs(t), other.programs(t)
	assert.True(t, len(ofOne) == 1 && len(ofOther) == 1 && ofOne[0] != ofOther[0] && folders() == 2,
		"programs %v and %v, %d kept; want one of its own at each interface", ofOne, ofOther, folders())
	if _, err := one.attach(m, 2, pins, "p.1"); !errors.Is(err, ErrOccupied) || !slices.Equal(one.programs(t), ofOne) {
		t.Errorf("a second switch: error %v, programs %v; want it refused, and %v", err, one.programs(t), ofOne)
	}

	a.kill(t)
	b.kill(t)
	third := newOutlet(t)
	assert.True(t, one.left(t, pins, "p.1") && other.left(t, pins, "p.1"), "nothing is left of killed switches' ports")
	assert.True(t, !one.left(t, pins, "p") && !third.left(t, pins, "p.1"),
		"something is left of another port, or in another namespace")
	a, err = one.attach(m, 0, pins, "p.1")
	assert.Must(t, err)
	assert.Same(t, one.programs(t), ofOne, "programs before the next switch takes over, want those of the killed one")
	assert.Must(t, a.TakeOver())
	assert.True(t, a.TakeAdopted() && !slices.Equal(one.programs(t), ofOne) && slices.Equal(other.programs(t), ofOther),
		"the next start has not replaced its program, or another one")
	assert.Must(t, pins.Sweep(func(port string) bool { return port == "p.1" }))
	assert.Equal(t, folders(), 2, "kept, want those of both ports")
	assert.Must(t, pins.Sweep(func(string) bool { return false }))
	got := other.programs(t)
	assert.True(t, folders() == 1 && len(got) == 0 && len(one.programs(t)) == 1,
		"%d kept, programs %v at the interface of a port that is no more; want the living one's", folders(), got)
	assert.Must(t, a.Close())
	got = one.programs(t)
	assert.True(t, folders() <= 0 && len(got) == 0, "the end left %d folders and programs %v", folders(), got)
}

// What is kept for an interface that is gone is swept.
func TestPinOfALostInterface(t *testing.T) {
	m, root := openPins(t)
	pins := Pins(root + "/pfcswitch:sw:")
	o := newOutlet(t)
	p := assert.Got(o.attach(m, 0, pins, "p1")).Must(t)
	assert.Must(t, port.InNetns(o.path, func() error {
		l, err := netlink.LinkByName("p1")
		if err != nil {
			return err
		}
		return netlink.LinkDel(l)
	}))
	p.kill(t)
	assert.Must(t, pins.Sweep(func(string) bool { return true }))
	left, _ := filepath.Glob(root + "/pfcswitch*")
	assert.True(t, len(left) == 0, "%q is left of a port whose interface is gone", left)
}

// What a crash has left half-made keeps no start from having its programs, and their end leaves nothing.
func TestHalfMadePins(t *testing.T) {
	m, root := openPins(t)
	pins := Pins(root + "/pfcswitch:sw:")
	for _, tt := range []struct {
		name  string
		crash func(t *testing.T, p *Port)
	}{
		{"the folder alone", func(t *testing.T, p *Port) {
			assert.Must(t, os.Remove(p.pin.file()))
			p.kill(t)
		}},
		{"something else is kept", func(t *testing.T, p *Port) {
			assert.Must(t, os.Remove(p.pin.file()))
			assert.Must(t, p.ingress.Pin(p.pin.file()))
			p.kill(t)
		}},
		{"kept, and not attached any more", func(t *testing.T, p *Port) {
			assert.Must(t, p.link.Detach())
			p.kill(t)
		}},
		{"kept for a port that had another name", func(t *testing.T, p *Port) {
			p.kill(t)
			assert.Must(t, pins.Sweep(func(port string) bool { return port == "p2" }))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOutlet(t)
			p := assert.Got(o.attach(m, 0, pins, "p1")).Must(t)
			tt.crash(t, p)
			p = assert.Got(o.attach(m, 0, pins, "p1")).Must(t)
			assert.Equal(t, len(o.programs(t)), 1, "programs at the interface")
			assert.Must(t, p.Close())
			left := assert.Got(filepath.Glob(string(pins) + "*")).Must(t)
			got := o.programs(t)
			assert.True(t, len(left) == 0 && len(got) == 0, "the end left %q and programs %v", left, got)
		})
	}
}

// A program that cannot come back, since others have taken all places at its interface, comes back when one is free.
func TestBesideTriesAgain(t *testing.T) {
	m, root := openPins(t)
	o := newOutlet(t)
	p := assert.Got(o.attach(m, 0, Pins(root+"/pfcswitch:sw:"), "p1")).Must(t)
	assert.Must(t, p.link.Detach())
	occupants := o.occupy(t)
	beside := func() (others bool, err error) {
		return others, port.InNetns(o.path, func() error {
			others, err = p.Beside()
			return err
		})
	}
	for range 2 {
		if others, err := beside(); !others || err == nil {
			t.Errorf("no place is left, but others %v, error %v", others, err)
		}
	}
	for _, l := range occupants {
		assert.Must(t, detach(l))
	}
	_, err := beside()
	assert.NoError(t, err, "all places are free")
	got := o.programs(t)
	assert.True(t, slices.Equal(got, []ebpf.ProgramID{p.id}), "programs %v are at the interface, want %d", got, p.id)
	assert.Must(t, p.Close())
}

// occupy attaches programs of somebody else until the kernel takes no more.
func (o outlet) occupy(t *testing.T) (all []link.Link) {
	t.Helper()
	assert.Must(t, port.InNetns(o.path, func() error {
		for {
			p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL",
				Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}}) // TCX_NEXT
			if err != nil {
				return err
			}
			l, err := link.AttachTCX(link.TCXOptions{Interface: o.index, Program: p, Attach: ebpf.AttachTCXIngress})
			_ = p.Close()
			if errors.Is(err, unix.ERANGE) {
				return nil
			}
			if err != nil {
				return err
			}
			all = append(all, l)
		}
	}))
	return all
}
