package dataplane

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
)

// vlans makes ports with every form that a frame of VLAN 10 can come in by and leave in:
// 0 trunk (PVID 1, tagged 10), 1 access (PVID 10), 2 trunk with a PVID of its own (PVID 20, tagged 1 and 10),
// 3 access that strips priority tags.
func vlans(tb reporter) *rig {
	tb.Helper()
	set := func(vids ...uint16) bridge.VLANSet {
		return assert.Got(bridge.VLANs(vids...)).Must(tb)
	}
	ports := testPorts(4)
	ports[0].Bridge.Tagged = set(10)
	ports[1].Bridge.PVID, ports[1].Classify.Default = 10, 5
	ports[2].Bridge.PVID, ports[2].Bridge.Tagged = 20, set(1, 10)
	ports[3].Bridge.PVID, ports[3].StripZero = 10, true
	r := newRig(tb, testConfig(4), ports...)
	for i := range ports {
		for _, vid := range []uint16{1, 10} {
			if r.sw.bridge.Egress(i, vid) != bridge.NotMember {
				r.station(host(i), vid, i)
			}
		}
	}
	return r
}

// tagOf returns the tag of a frame, nil where it has none.
func tagOf(b []byte) *frame.TCI {
	h, ok := frame.Parse(b)
	if !ok || !h.Tagged {
		return nil
	}
	return &h.TCI
}

func show(t *frame.TCI) string {
	if t == nil {
		return "no tag"
	}
	return fmt.Sprintf("PCP %d DEI %v VID %d", t.PCP(), t.DEI(), t.VID())
}

// unfinished is the header of a frame whose TCP checksum its sender left to the network card.
func unfinished(headers int) frame.VnetHeader {
	return frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOTCPv4, HdrLen: uint16(headers + 40),
		GSOSize: 1448, CsumStart: uint16(headers + 20), CsumOffset: 16}
}

// What leaves is what came but for the tag, whether it goes straight from the ring or out of the packet memory, and the
// checksum's place moves with the tag.
func TestTagOnTheWire(t *testing.T) {
	dei := frame.MakeTCI(6, true, 10)
	deiZero := frame.MakeTCI(6, true, 0)
	rows := []struct {
		name    string
		in      int
		tag     *frame.TCI
		out     int
		want    *frame.TCI
		shifted int
	}{
		{"untagged to untagged", 1, nil, 3, nil, 0},
		{"untagged to tagged: inserted, default priority", 1, nil, 0, tci(5, 10), 4},
		{"untagged to a trunk with another PVID", 1, nil, 2, tci(5, 10), 4},
		{"untagged of VLAN 1 to tagged", 0, nil, 2, tci(0, 1), 4},
		{"tagged to tagged", 0, tci(3, 10), 2, tci(3, 10), 0},
		{"tagged with DEI to tagged", 0, &dei, 2, &dei, 0},
		{"tagged to untagged: taken out", 0, tci(3, 10), 1, nil, -4},
		{"tagged to untagged that strips zero", 0, tci(3, 10), 3, nil, -4},
		{"priority-tagged to untagged: kept", 3, tci(3, 0), 1, tci(3, 0), 0},
		{"priority-tagged to untagged that strips", 1, tci(3, 0), 3, nil, -4},
		{"priority-tagged to tagged: VID written, DEI kept", 1, &deiZero, 0, &dei, 0},
		{"VLAN 1 with its tag by the untagged port", 0, tci(2, 1), 2, tci(2, 1), 0},
	}
	for _, row := range rows {
		for _, queued := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, queued %v", row.name, queued), func(t *testing.T) {
				r := vlans(t)
				frameIn := ether(host(row.out), host(row.in), row.tag, experimental, 3, 700)
				want := ether(host(row.out), host(row.in), row.want, experimental, 3, 700+row.shifted)
				header := 14
				if row.tag != nil {
					header += frame.TagOctets
				}
				body := frameIn[header:]
				want = append(want[:header+row.shifted], body...)
				r.burst = r.receive(row.in, [][]byte{frameIn})
				r.burst[0].Vnet = unfinished(header)
				taken, stop := r.sw.Ingress(row.in, r.burst, 0, r.now, 0)
				assert.MustBeTrue(t, taken == 1 && stop == Done, "Ingress: %d, %v", taken, stop)
				if queued {
					r.settle()
				}
				got := r.send(row.out, 64)
				assert.MustBeTrue(t, len(got) == 1, "%d frames left, drops %v", len(got), r.count(row.in).Drops)
				assert.True(t, bytes.Equal(got[0], want), "left with %s: %x\nwant %s: %x", show(tagOf(got[0])), got[0],
					show(row.want), want)
				assert.Equal(t, r.batch.Vnet(0), unfinished(header+row.shifted), "virtio header")
				sent := r.count(row.out).SentBytes
				assert.True(t, sent == uint64(len(want)), "%d octets counted, want %d", sent, len(want))
				r.settle()
				r.empty()
			})
		}
	}
}

// One arrival leaves in several forms at once.
func TestFloodFormsByPort(t *testing.T) {
	r := vlans(t)
	r.offer(1, ether(frame.Broadcast, host(1), nil, experimental, 0, 100))
	want := map[int]string{0: "PCP 5 DEI false VID 10", 2: "PCP 5 DEI false VID 10", 3: "no tag"}
	for i, text := range want {
		got := r.send(i, 64)
		assert.True(t, len(got) == 1 && show(tagOf(got[0])) == text,
			"port %d sent %x, want one frame with %s", i, got, text)
	}
	r.empty()
}

// A second tag is payload.
func TestInnerTagIsKept(t *testing.T) {
	r := vlans(t)
	inner := ether(host(1), host(0), tci(1, 99), experimental, 0, 100)
	b := slices.Concat(inner[:12], []byte{0x81, 0, 0x60, 10}, inner[12:])
	r.offer(0, b)
	got := r.send(1, 64)
	assert.True(t, len(got) == 1 && bytes.Equal(got[0], inner), "sent %x, want %x", got, inner)
	r.empty()
}

// The wire length that shaper and rounds count is that of the frame as it leaves.
func TestWireLengthCountsTheTagThatLeaves(t *testing.T) {
	r := vlans(t)
	r.sw.ports[0].shaper.Configure(0, 0, r.now)
	r.sw.ports[0].shaper.Configure(gigabit, 2*(100+4+24), r.now)
	r.now++
	for seq := range 3 {
		r.offer(1, ether(host(0), host(1), nil, experimental, seq, 100))
	}
	assert.Equal(t, len(r.send(0, 64)), 2, "frames left at once, want the two that the bucket pays for with their tags")
	at, want := r.sw.TxDeadline(0, r.now), r.now
	assert.True(t, r.sw.Dequeue(0, r.now, nil) == 0 && r.sw.TxDeadline(0, r.now) == want+(100+4+24)*8, "deadline %d",
		at)
	r.drain(0, r.now+second)
	r.empty()
}

// A frame with two tags leaves where the first stays and names a VLAN. Where else the second would put the frame into
// another VLAN, the frame stays, whether it is unicast or flooded.
func TestDoubleTags(t *testing.T) {
	for _, tt := range []struct {
		name    string
		in, out int
		outer   *frame.TCI
		inner   []byte // VIDs
		leaves  bool
	}{
		{"tagged to tagged", 0, 2, tci(3, 10), []byte{99}, true},
		{"the end of a tunnel", 0, 1, tci(3, 10), []byte{99}, true},
		{"a VLAN that the port carries", 2, 0, tci(3, 1), []byte{10}, false},
		{"a VLAN that the port carries, behind a priority tag", 2, 0, tci(3, 1), []byte{0, 10}, false},
		{"the end of a tunnel with a priority tag", 2, 0, tci(3, 1), []byte{0, 99}, true},
		{"priority-tagged to untagged, where many ignore the first", 3, 1, tci(3, 0), []byte{99}, false},
		{"priority-tagged to tagged", 1, 2, tci(3, 0), []byte{99}, true},
		{"priority-tagged to untagged that strips", 1, 3, tci(3, 0), []byte{99}, false},
		{"the PVID's tag to untagged", 1, 3, tci(3, 10), []byte{99}, false},
	} {
		for name, dst := range map[string]uint64{"unicast": host(tt.out), "flooded": frame.Broadcast} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				r := vlans(t)
				b := ether(dst, host(tt.in), tt.outer, frame.TypeVLAN, 3, 100)
				for i, vid := range tt.inner {
					copy(b[18+4*i:], []byte{0x60, vid, 0x81, 0})
				}
				copy(b[18+4*len(tt.inner)-2:], []byte{8, 0})
				r.offer(tt.in, b)
				sent := r.send(tt.out, 64)
				assert.Equal(t, len(sent) == 1, tt.leaves, "left")
				got := r.count(tt.in).Drops[3][DropDoubleTag]
				assert.Equal(t, r.count(tt.in).LosslessDiscarded[3][DropDoubleTag], got,
					"drops that count as discarded, want all")
				assert.True(t, ((got > 0) != tt.leaves || name != "unicast") && (got != 0 || tt.leaves),
					"%d drops (double-tag)", got)
				for i := range 4 {
					r.send(i, 64)
				}
				r.empty()
			})
		}
	}
}
