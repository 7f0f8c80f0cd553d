package daemon

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// reports makes the interface of p1 report a speed, as a NIC does.
func (r *rig) reports(speed int64) {
	r.d().mu.Lock()
	r.d().inspect = func(ns, name string) (port.Link, error) {
		l, err := port.Inspect(ns, name)
		if name == "p1" {
			l.Speed = speed
		}
		return l, err
	}
	r.d().mu.Unlock()
	r.d().kick()
}

// awaitEvent waits for the one event of port p1 that has all these words. It comes after the change that it is about.
func (r *rig) awaitEvent(words ...string) {
	r.T.Helper()
	eventually(r.T, fmt.Sprintf("an event with %q", words), func() bool {
		n := 0
		for _, e := range r.Events(dataplane.EventPort, 1) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e.Text, w) }) {
				n++
			}
		}
		return n == 1
	})
}

// A port with speed: auto follows its link; one without goes its own way, and a link that says nothing changes nothing.
func TestSpeedFollowsTheLink(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3 + "buffer: {lossless: {size: 8MiB}}"})
	speed := func(want int64) {
		t.Helper()
		eventually(t, "the port follows its link", func() bool { return r.Snapshot(1).Config.Speed == want })
	}
	r.reports(100e6)
	speed(100e6)
	assert.Equal(t, r.Snapshot(2).Config.Speed, 1e9, "the other port's speed")
	r.awaitEvent("100 Mbit/s")
	r.reports(0)
	r.reports(200e6)
	speed(200e6)
	r.Passes(1, 2)
	must(t, r.Apply(Setup{Keys: Lossless3 + "buffer: {lossless: {size: 1MiB}}", Each: "ring: {outage: 1ms}"}, 2))
	r.reports(100e9)
	r.awaitEvent("stays at 200 Mbit/s", "buffer.lossless.size")
	speed(200e6)
	r.Passes(1, 2)
}

// A speed that the buffer is too full for is tried again until it is in force, and a person is told once.
func TestSpeedWaitsForTheBuffer(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3 + "buffer: {lossless: {size: 512KiB}}",
		Each: "ring: {outage: 400ms}", Ports: map[int]string{2: "speed: 100M"}})
	r.reports(1e9)
	liar, h2 := r.Station(1, macctl.ModeOff, 300e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := liar.Send(Stream{To: 2, Prio: 3})
	eventually(t, "the headroom is full", func() bool {
		h2.PFC(1<<3, 0xffff)
		return len(r.Events(dataplane.EventRingHold, 1)) > 0
	})
	stop()
	r.reports(10e6) // a headroom of a hundredth
	eventually(t, "a person is told", func() bool {
		h2.PFC(1<<3, 0xffff)
		return len(r.Events(dataplane.EventPort, 1)) > 0
	})
	r.awaitEvent("10 Mbit/s", "tried again until it is in force")
	assert.Equal(t, r.Snapshot(1).Config.Speed, 1e9, "with a full buffer the port's speed")
	h2.PFC(1<<3, 0)
	eventually(t, "the port follows its link", func() bool { return r.Snapshot(1).Config.Speed == 10e6 })
	eventually(t, "two events say that it waits, and that it came", func() bool {
		told := slices.DeleteFunc(r.Events(dataplane.EventPort, 1),
			func(e dataplane.Event) bool { return !strings.HasPrefix(e.Text, "the link's speed is now 10 Mbit/s") })
		return len(told) == 2
	})
	r.reports(1e9)
	eventually(t, "and back", func() bool { return r.Snapshot(1).Config.Speed == 1e9 })
}

// An interface that the kernel does not tell about keeps its port: frames pass, and the port is not reported as down.
func TestInterfaceCannotBeLookedAt(t *testing.T) {
	r := start(t, 2, Setup{})
	asked := make(chan bool, 1)
	r.d().mu.Lock()
	r.d().inspect = func(string, string) (port.Link, error) {
		select {
		case asked <- true:
		default:
		}
		return port.Link{}, unix.EMFILE
	}
	r.d().mu.Unlock()
	r.d().kick()
	<-asked
	<-asked // tried again, so the first try has ended
	r.Passes(1, 2)
	all := r.Events(dataplane.EventPortDown, 1)
	assert.True(t, len(all) == 0, "%+v", all)
}

// An interface that gets another address keeps its port, which takes the address over.
func TestAddressChanges(t *testing.T) {
	r := start(t, 2, Setup{})
	want := [6]byte{2, 0, 0, 0, 7, 7}
	IP(t, r.Node, "link", "set", "p1", "address", "02:00:00:00:07:07")
	eventually(t, "the port has the address", func() bool { return r.Snapshot(1).Config.MAC == want })
	r.awaitEvent("02:00:00:00:07:07")
	must(t, r.Apply(Setup{}, 2))
	got := r.Snapshot(1).Config.MAC
	assert.True(t, got == want, "a new configuration has brought back the address %x", got)
}

// An MTU that another program lowers is raised again at once, also while a change of the configuration waits for the
// buffer to drain: frames that are too long for the interface would be given up after a second.
func TestMTULoweredDuringAChange(t *testing.T) {
	r := start(t, 1, Setup{})
	r.d().mu.Lock() // as the change has it
	changed := sync.OnceFunc(r.d().mu.Unlock)
	defer changed()
	for _, mtu := range []string{"1400", "1300"} {
		IP(t, r.Node, "link", "set", "dev", "p1", "mtu", mtu)
		eventually(t, "the MTU is raised", func() bool {
			return strings.Contains(IP(t, r.Node, "link", "show", "dev", "p1"), "mtu 1500")
		})
	}
	changed()
	r.awaitEvent("an MTU of 1300 from another program", "to 1500 again")
}
