package acceptance

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A control is a MAC Control frame from the wire and what becomes of it.
type control struct {
	name   string
	data   []byte
	reason macctl.Reason // ReasonNone: obeyed
	pauses bool          // priority 3
}

// controls come in at p1, a PFC port whose priority 3 is lossless.
func controls() []control {
	pfc := func(vector uint8) []byte {
		return macctl.AppendPFC(nil, [6]byte(HostMAC(1)), vector, [8]uint16{3: 0xffff, 5: 0xffff})
	}
	to := func(mac []byte, b []byte) []byte { return append(append([]byte(nil), mac...), b[6:]...) }
	set := func(at int, value byte, b []byte) []byte { b[at] = value; return b }
	all := []control{
		{"XOFF", pfc(1 << 3), macctl.ReasonNone, true},
		{"XOFF to the port's own address", to(PortMAC(1), pfc(1<<3)), macctl.ReasonNone, true},
		{"XOFF without padding", pfc(1 << 3)[:34], macctl.ReasonNone, true},
		{"XOFF and a priority without PFC", pfc(1<<3 | 1<<5), macctl.ReasonPriority, true},
		{"XOFF with octets in the vector's high half", set(16, 1, pfc(1<<3)), macctl.ReasonVector, true},
		{"a priority without PFC", pfc(1 << 5), macctl.ReasonPriority, false},
		{"empty vector", pfc(0), macctl.ReasonNone, false},
		{"to another address of the reserved block", to([]byte{1, 0x80, 0xc2, 0, 0, 2}, pfc(1<<3)),
			macctl.ReasonDestination, false},
		{"to a host behind the switch", to(HostMAC(2), pfc(1<<3)), macctl.ReasonDestination, false},
		{"broadcast", to(bytes.Repeat([]byte{0xff}, 6), pfc(1<<3)), macctl.ReasonDestination, false},
		{"PAUSE on a PFC port", macctl.AppendPause(nil, [6]byte(HostMAC(1)), 0xffff), macctl.ReasonDisabled, false},
		{"unknown opcode", set(15, 0x77, pfc(1<<3)), macctl.ReasonOpcode, false},
		{"opcode 0", set(14, 0, set(15, 0, pfc(1<<3))), macctl.ReasonOpcode, false},
		{"nothing behind the EtherType", pfc(1 << 3)[:14], macctl.ReasonTruncated, false},
		{"half an opcode", pfc(1 << 3)[:15], macctl.ReasonTruncated, false},
		{"no vector", pfc(1 << 3)[:16], macctl.ReasonTruncated, false},
		{"one octet of times short", pfc(1 << 3)[:33], macctl.ReasonTruncated, false},
		{"VLAN-tagged", Tagged(pfc(1<<3), 0x8100, 7<<13|1), macctl.ReasonOpcode, false},
		{"priority-tagged", Tagged(pfc(1<<3), 0x8100, 7<<13), macctl.ReasonOpcode, false},
		{"provider-tagged", Tagged(pfc(1<<3), 0x88a8, 7<<13|1), macctl.ReasonOpcode, false},
		{"VLAN-tagged to a host", Tagged(to(HostMAC(2), pfc(1<<3)), 0x8100, 7<<13|1), macctl.ReasonDestination, false},
	}
	return all
}

// From the wire MAC Control frames of every kind are obeyed, or ignored and counted by reason, and never forwarded.
func TestControlFramesFromTheWire(t *testing.T) {
	r := Start(t, 2, Setup{MTU: 9000, Keys: Lossless3, Each: "speed: 10M, mtu: 9000"})
	s := r.sockets()
	resume := macctl.AppendPFC(nil, [6]byte(HostMAC(1)), 1<<3, [8]uint16{})
	seen := func() (n uint64) {
		c := r.Snapshot(1).Received
		for _, v := range c.Ignored {
			n += v
		}
		for _, v := range c.PFCFrames {
			n += v
		}
		return n + c.PauseFrames
	}
	for _, c := range controls() {
		t.Run(c.name, func(t *testing.T) {
			before, seenBefore := r.Snapshot(1), seen()
			must(t, s[0].Send(frame.VnetHeader{}, c.data))
			if c.name == "empty vector" { // counts nowhere: the next frame shows that it was passed over
				must(t, s[0].Send(frame.VnetHeader{}, resume))
			}
			eventually(t, "the frame is counted", func() bool { return seen() > seenBefore })
			after := r.Snapshot(1)
			for reason := range after.Received.Ignored {
				want := before.Received.Ignored[reason]
				if reason > 0 && macctl.Reason(reason) == c.reason {
					want++
				}
				assert.Equal(t, after.Received.Ignored[reason], want, "ignored as %v", macctl.Reason(reason))
			}
			assert.Equal(t, after.Paused&(1<<3) != 0, c.pauses, "priority 3 is paused")
			assert.Equal(t, after.Counters.ReceivedFrames, before.Counters.ReceivedFrames, "it was taken for data")
			seenAfter := seen()
			must(t, s[0].Send(frame.VnetHeader{}, resume))
			eventually(t, "priority 3 is free, and that frame is counted before the next one comes", func() bool {
				return seen() > seenAfter && r.Snapshot(1).Paused == 0
			})
		})
	}
	t.Run("longer than a frame may be", func(t *testing.T) {
		seenBefore := seen()
		b := append(macctl.AppendPFC(nil, [6]byte(HostMAC(1)), 1<<5, [8]uint16{5: 1}), make([]byte, 8900)...)
		must(t, s[0].Send(frame.VnetHeader{}, b))
		eventually(t, "the frame is counted", func() bool { return seen() > seenBefore })
	})
	silent(t, s...)
	entries := r.Source().FDB()
	assert.Equal(t, len(entries), 2, "entries, want the static ones: control frames teach nothing: %+v", entries)
}

// A flood of control frames is neither forwarded nor keeps data from passing, and its newest frame is obeyed.
func TestControlFrameFlood(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3, Each: At100M})
	s := r.sockets()
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	h1.Send(Stream{To: 2, Prio: 3, Frames: 500, Rate: 40e6})
	junk := macctl.AppendPFC(nil, [6]byte(HostMAC(2)), 0, [8]uint16{})
	for range 20_000 {
		must(t, s[1].Send(frame.VnetHeader{}, junk))
	}
	before, lost := r.Snapshot(2).PausedNs[3], r.Snapshot(2).Counters.ControlLost
	h2.PFC(1<<3, 0xffff)
	eventually(t, "XOFF at the end of the flood is obeyed", func() bool {
		p := r.Snapshot(2)
		if p.Counters.ControlLost > lost { // the ring was full, maybe when XOFF came
			lost = p.Counters.ControlLost
			h2.PFC(1<<3, 0xffff)
		}
		return p.PausedNs[3] > before
	})
	events := r.Events(dataplane.EventControlFlood, 2)
	assert.Equal(t, len(events) > 0, r.Snapshot(2).Received.Ignored[macctl.ReasonSurplus] > 0,
		"there are events, want some where frames were surplus: %+v", events)
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
}

// A host that floods gets a tenth of its port's speed for that, without a key, and takes nothing from others' flows.
func TestBroadcastStorm(t *testing.T) {
	const broadcasts = 2000
	r := Start(t, 3, Setup{Keys: Lossless3, Each: At100M})
	s := r.sockets()
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	h1.Send(Stream{To: 2, Prio: 3, Frames: 500, Rate: 40e6})
	storm := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, HostMAC(3)...)
	storm = append(storm, make([]byte, 1500)...)
	for range broadcasts {
		must(t, s[2].Send(frame.VnetHeader{}, storm))
	}
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
	eventually(t, "broadcasts above the limit are dropped", func() bool {
		return r.Snapshot(3).Counters.Drops[0][dataplane.DropStorm] > 0
	})
	assert.True(t, len(r.Events(dataplane.EventStorm, 3)) != 0, "no event names the port")
}
