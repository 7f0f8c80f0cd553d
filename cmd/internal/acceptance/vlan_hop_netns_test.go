package acceptance

import (
	"fmt"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
)

// A host at an untagged port that puts the tag of its own VLAN before that of another does not reach that other VLAN
// behind the next switch: at the first switch the port does not accept the tag, or, where it does, the frame does not
// leave without it. Nor does it with a priority tag, which receivers skip.
//
//	h1:eth0 ── p1 s1 p2 ── eth0 s2 q3 ── eth1:h3     VLAN 20 is tagged between the switches, and untagged at h3
func TestNoVLANHop(t *testing.T) {
	for _, tt := range []struct {
		admit  string
		outer  uint16
		reason dataplane.DropReason
	}{{"auto", 1, dataplane.DropFrameType}, {"all", 1, dataplane.DropDoubleTag}, {"auto", 0, dataplane.DropDoubleTag}} {
		t.Run(fmt.Sprintf("admit %s outer %d", tt.admit, tt.outer), func(t *testing.T) {
			r := NewRig(t, 3)
			r.linkBehind()
			r.Start(Setup{Ports: map[int]string{1: "admit: " + tt.admit, 2: "tagged: [20]"}, Keys: `fdb: [{mac: "02:00:00:00:00:03", vlan: 1, port: p2}]`})
			r.startBehind("tagged: [20]", "pvid: 20")
			host, victim := r.Socket(1), socketAt(t, r.Host(3), "eth1")
			before := r.Snapshot(1).Counters.Drops[0][tt.reason]
			for range 5 {
				must(t, host.Send(frame.VnetHeader{}, Tagged(Tagged(IPv4UDP(1, 3, 0, 50), 0x8100, 20), 0x8100,
					tt.outer)))
			}
			eventually(t, "all five are dropped", func() bool {
				return r.Snapshot(1).Counters.Drops[0][tt.reason] == before+5
			})
			silent(t, victim)
		})
	}
}

// Nor does it on the fast path, which its priority-tagged frames take.
func TestNoVLANHopOnTheFastPath(t *testing.T) {
	needAssist(t)
	r := Start(t, 2, fastPorts)
	s := r.sockets()
	ordinary := Tagged(Ethernet(1, 2, NumberedType, pattern(60)), 0x8100, 0)
	eventually(t, "frames pass the switch by", func() bool {
		arrives(t, s, 1, 2, ordinary, ordinary)
		return r.forwarded(2) > 0
	})
	hops := func() uint64 { return r.Snapshot(1).Counters.Drops[0][dataplane.DropDoubleTag] }
	for range 5 {
		must(t, s[0].Send(frame.VnetHeader{}, Tagged(IPv4UDP(1, 2, 0, 50), 0x8100, 0, 0x8100, 20)))
	}
	eventually(t, "all five are dropped", func() bool { return hops() == 5 })
	silent(t, s...)
}

// linkBehind makes a second link of host 3, to host 2, whose namespace is that of a second switch.
func (r *Rig) linkBehind() {
	r.T.Helper()
	must(r.T, r.Lab.Link(r.Host(3), "eth1", r.Host(2), "q3", lab.LinkOptions{}))
}

// startBehind runs the second switch, with keys of its port to the first and of its port to host 3.
func (r *Rig) startBehind(up, q3 string) Switch {
	r.T.Helper()
	s2, _ := Run(r.T, Parse(r.T, Header("s2", r.Dir+"/s2.sock")+fmt.Sprintf(
		"ports:\n  up: {interface: eth0, netns: %[1]s, %[2]s}\n  q3: {netns: %[1]s, %[3]s}\n",
		r.Host(2).Path(), up, q3)))
	eventually(r.T, "the second switch is up", func() bool { return nicUp(s2) })
	return s2
}

// Priority-tagged frames, and with admit: all also those with the tag of the PVID, still pass an untagged port beside
// ports with tagged VLANs.
func TestPriorityTagsAreAdmitted(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3, Ports: map[int]string{2: "tagged: [20], admit: all"}})
	s := r.sockets()
	arrives(t, s, 1, 2, Tagged(IPv4UDP(1, 2, 0, 60), 0x8100, 3<<13), Tagged(IPv4UDP(1, 2, 0, 60), 0x8100, 3<<13))
	arrives(t, s, 2, 1, Tagged(IPv4UDP(2, 1, 0, 60), 0x8100, 3<<13|1), IPv4UDP(2, 1, 0, 60))
	must(t, s[0].Send(frame.VnetHeader{}, Tagged(IPv4UDP(1, 2, 0, 60), 0x8100, 3<<13|1)))
	eventually(t, "the tag of the PVID is refused", func() bool {
		return r.Snapshot(1).Counters.Drops[3][dataplane.DropFrameType] == 1
	})
	silent(t, s...)
}
