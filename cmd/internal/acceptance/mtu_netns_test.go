package acceptance

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A TAP whose name an interface has already is down and says why and what to do, the other ports go on, and it works as
// soon as the name is free.
func TestTAPNameTaken(t *testing.T) {
	r := Start(t, 3, Setup{Ports: map[int]string{3: "kind: tap"}, Ready: []int{1, 2}})
	why := "TAP p3: interface p3 exists already and is a veth: delete it (" + port.CommandIn(r.Node.Path(),
		"ip link del dev p3") + "), or give the TAP another name with interface: NAME"
	assert.Equal(t, r.State(3), why, "state")
	got := r.Events(dataplane.EventPort, 3)
	assert.True(t, len(got) == 1 && got[0].Text == why, "events %+v, want one with %q", got, why)
	r.Passes(1, 2)
	must(t, r.Node.DeleteLink("p3"))
	r.WaitUp(3, true)
	r.WaitState(3, "")
	r.Passes(1, 2)
}

// Where an interface takes shorter frames than its port from the start, that is said with both numbers and what to do,
// once, also after a change of either, and the port works with what fits. The command runs as it is said: the port is
// in another namespace than the daemon. An MTU that suits the port stays so: see TestMTULoweredUnderTraffic.
func TestInterfaceMTUBelowThePorts(t *testing.T) {
	r := Start(t, 2, Setup{Ports: map[int]string{1: "mtu: 9000"}})
	wantEvents := func(n int, text string) {
		t.Helper()
		eventually(t, "an event says that "+text, func() bool {
			all := r.Events(dataplane.EventPort, 1)
			return len(all) == n && strings.Contains(all[n-1].Text, text)
		})
	}
	command := port.CommandIn(r.Node.Path(), "ip link set dev p1 mtu 9000")
	wantEvents(1, "interface p1 has an MTU of 1500, below the port's mtu of 9000: longer frames cannot leave by it ("+
		command+", at the far end too")
	r.Passes(1, 2)
	out, err := exec.Command("/bin/sh", "-c", command).CombinedOutput()
	assert.MustBeTrue(t, err == nil, "%s: %v\n%s", command, err, out)
	wantEvents(2, "interface p1 has an MTU of 9000 now, enough for the port's mtu of 9000")
	IP(t, r.Node, "link", "set", "dev", "p1", "mtu", "1400")
	wantEvents(3, "the switch has set the MTU to 9000 again (write ports.p1.mtu: 1400")
	must(t, r.Apply(Setup{Ports: map[int]string{1: "mtu: 9600"}}, 2))
	wantEvents(4, "interface p1 has an MTU of 9000, below the port's mtu of 9600")
	must(t, r.Apply(Setup{Ports: map[int]string{1: "mtu: 8000"}}, 2))
	wantEvents(5, "interface p1 has an MTU of 9000 now, enough for the port's mtu of 8000")
	events := r.Events(dataplane.EventPort, 2)
	assert.Equal(t, len(events), 0, "events of the port that fits: %+v", events)
}

// A host whose MTU is larger than its port's is told of by show events, once for a configuration: with its address, the
// length of the first frame too long and what to do. Its other frames pass, as do others'.
func TestFarEndMTUAboveThePorts(t *testing.T) {
	same := Setup{MTU: 3000, Keys: Lossless3, Each: "speed: 1G"} // a veth of 1500 would drop the frames itself
	r := Start(t, 2, same)
	client := r.ServeControl()
	h1 := r.Socket(1)
	long := func(octets int) {
		t.Helper()
		before := r.Snapshot(1).Counters.Drops[3][dataplane.DropOversize]
		for range 5 {
			must(t, h1.Send(frame.VnetHeader{}, Tagged(IPv4UDP(1, 2, 0, octets-14-28), 0x8100, 3<<13)))
		}
		eventually(t, "the frames are dropped",
			func() bool { return r.Snapshot(1).Counters.Drops[3][dataplane.DropOversize] == before+5 })
		r.Passes(1, 2)
		r.Passes(2, 1)
	}
	wantEvents := func(want ...string) {
		t.Helper()
		reply := assert.Got(client.Show(t.Context(), "events")).Must(t)
		all := slices.DeleteFunc(reply.(*api.Events).Events,
			func(e api.Event) bool { return e.Kind != string(dataplane.EventOversize) })
		assert.MustEqual(t, len(all), len(want), "events %+v", all)
		for i, e := range all {
			assert.True(t, *e.Port == "p1" && *e.Peer == HostMAC(1).String() && strings.Contains(e.Text, want[i]),
				"event of port %s about %s: %s\nwant one of p1 about %s: %s", *e.Port, *e.Peer, e.Text, HostMAC(1),
				want[i])
		}
	}
	const (
		longest = "a frame of 3014 octets came, and at an mtu of 1500 the port carries 1514"
		shorter = "a frame of 2014 octets came, and at an mtu of 1500 the port carries 1514"
	)
	long(3014)
	long(2014)
	wantEvents(longest)
	must(t, r.Apply(same, 2))
	long(2014)
	wantEvents(longest, shorter)
	r.NoLosslessDrops()
}
