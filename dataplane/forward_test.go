package dataplane

import (
	"bytes"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

func (r *rig) sentBy(ports int) (all [][][]byte) {
	for i := range ports {
		all = append(all, r.send(i, 64))
	}
	return all
}

func TestUnicast(t *testing.T) {
	for _, prio := range []uint8{0, lossless} {
		r := plainRig(t, 3)
		want := data(0, 1, prio, 7, 1000)
		r.offer(0, want)
		got := r.sentBy(3)
		assert.MustBeTrue(t, len(got[0]) == 0 && len(got[2]) == 0 && len(got[1]) == 1 && bytes.Equal(got[1][0], want),
			"priority %d: ports sent %x, want the frame at port 1 only", prio, got)
		c := r.count(0)
		assert.True(t, c.ReceivedFrames == 1 && c.ReceivedBytes == 1000 && c.Copies == 0,
			"priority %d: received %d frames, %d octets, %d copies", prio, c.ReceivedFrames, c.ReceivedBytes, c.Copies)
		if c := r.count(1); c.SentFrames != 1 || c.SentBytes != 1000 {
			t.Errorf("priority %d: sent %d frames, %d octets", prio, c.SentFrames, c.SentBytes)
		}
		r.empty()
	}
}

func TestFlood(t *testing.T) {
	ports := testPorts(4)
	ports[2].Bridge.Flood = false
	for _, dst := range []uint64{frame.Broadcast, 0x01_00_5E_00_00_01, 0x02_00_00_00_99_99} {
		r := newRig(t, testConfig(4), ports...)
		want := ether(dst, host(0), nil, experimental, 1, 300)
		r.offer(0, want)
		assert.Equal(t, r.count(0).Copies, 1, "%012x: copies beyond the first", dst)
		r.balanced()
		got := r.sentBy(4)
		assert.True(t, len(got[0])+len(got[2]) == 0 && len(got[1]) == 1 && len(got[3]) == 1 &&
			bytes.Equal(got[1][0], want) && bytes.Equal(got[3][0], want),
			"%012x: ports sent %x, want the frame at ports 1 and 3", dst, got)
		r.empty()
	}
}

func TestLearning(t *testing.T) {
	r := plainRig(t, 3)
	const station = 0x02_00_00_00_77_77
	r.offer(2, ether(host(0), station, nil, experimental, 0, 100))
	r.drain(0, r.now+second)
	want := ether(station, host(1), nil, experimental, 1, 100)
	r.offer(1, want)
	if got := r.sentBy(3); len(got[0])+len(got[1]) != 0 || len(got[2]) != 1 {
		t.Errorf("ports sent %x, want the frame at port 2 only, where the station was seen", got)
	}
}

// entries returns the addresses that the switch has learned.
func (r *rig) entries() (learned []uint64) {
	all, _ := r.sw.bridge.Dump(nil, 0, 1<<30, r.now)
	for _, e := range all {
		if !e.Static {
			learned = append(learned, e.MAC)
		}
	}
	return learned
}

func TestNotForwarded(t *testing.T) {
	const stranger = 0x02_00_00_00_66_66
	pfc := macctl.AppendPFC(nil, [6]byte{2, 0, 0, 0, 0x66, 0x66}, 0xff, [8]uint16{})
	tagged := slices.Concat(pfc[:12], []byte{0x81, 0, 0x60, 1}, pfc[12:])
	toHost := slices.Clone(pfc)
	frame.PutAddress(toHost, host(1))
	rows := []struct {
		name    string
		b       []byte
		prio    uint8
		want    DropReason
		learned bool
	}{
		{"reserved, first", ether(0x0180C2000000, stranger, nil, experimental, 0, 60), 0, DropFiltered, false},
		{"reserved, last", ether(0x0180C200000F, stranger, tci(2, 0), experimental, 0, 64), 2, DropFiltered, false},
		{"bridge management", ether(0x0180C2000010, stranger, nil, experimental, 0, 60), 0, DropFiltered, false},
		{"PFC", pfc, 0, DropFiltered, false},
		{"PFC in a tag", tagged, 3, DropFiltered, false},
		{"PFC to a host", toHost, 0, DropFiltered, false},
		{"LLDP to a host", ether(host(1), stranger, nil, frame.TypeLLDP, 0, 60), 0, DropFiltered, false},
		{"VLAN without members", ether(host(1), stranger, tci(0, 77), experimental, 0, 64), 0, DropFiltered, false},
		{"VID 4095", ether(host(1), stranger, tci(0, 4095), experimental, 0, 64), 0, DropFiltered, false},
		{"same port", ether(host(0), stranger, tci(lossless, 0), experimental, 0, 64), lossless, DropSamePort, true},
		{"egress down", ether(host(2), stranger, tci(lossless, 0), experimental, 0, 64), lossless, DropPortDown, true},
		{"one octet too long", ether(host(1), stranger, nil, experimental, 0, mtu+1), 0, DropOversize, false},
		{"one octet too long behind its tag", ether(host(1), stranger, tci(1, 0), experimental, 0, mtu+5), 1,
			DropOversize, false},
		{"no EtherType", ether(host(1), stranger, nil, experimental, 0, 60)[:13], Unknown, DropMalformed, false},
		{"cut tag", ether(host(1), stranger, tci(3, 0), experimental, 0, 60)[:17], Unknown, DropMalformed, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := plainRig(t, 3)
			r.sw.SetUp(2, false, r.now)
			r.offer(0, row.b)
			for i, got := range r.sentBy(3) {
				assert.Equal(t, len(got), 0, "port %d sent %x", i, got)
			}
			want := Counters{ReceivedFrames: 1, ReceivedBytes: uint64(len(row.b))}
			want.Drops[row.prio][row.want] = 1
			if row.prio == lossless && row.want == DropPortDown { // of the rows, the one that a receiver misses
				want.LosslessDiscarded[row.prio][row.want] = 1
			}
			assert.Equal(t, *r.count(0), want, "counters")
			assert.Equal(t, len(r.entries()) > 0, row.learned, "learned")
			r.empty()
		})
	}
}

// The longest frame is MaxFrame octets, its tag not counted.
func TestLongestFrame(t *testing.T) {
	r := plainRig(t, 2)
	r.offer(0, ether(host(1), host(0), nil, experimental, 0, mtu), data(0, 1, 0, 1, mtu+frame.TagOctets))
	if got := r.drain(1, second); len(got) != 2 || len(got[0]) != mtu || len(got[1]) != mtu+frame.TagOctets {
		t.Errorf("%d frames left, want both", len(got))
	}
	r.empty()
}

// A malformed frame has no priority, whatever arrival used its place in the burst before.
func TestMalformedHasNoPriority(t *testing.T) {
	r := plainRig(t, 2)
	var a Arrival
	c := &r.sw.ports[0].cfg
	a.Data = data(0, 1, 6, 0, 64)
	a.Prepare(&c.Classify, c.MaxFrame)
	a.Data = a.Data[:10]
	a.Prepare(&c.Classify, c.MaxFrame)
	r.sw.Ingress(0, []Arrival{a}, 0, r.now, 0)
	got := r.count(0).Drops[Unknown][DropMalformed]
	assert.True(t, got == 1, "%d frames of unknown priority were malformed, want 1: %v", got, r.count(0).Drops)
}

// Frames that come in by a port that is down are counted and end there.
func TestIngressDown(t *testing.T) {
	r := plainRig(t, 2)
	r.sw.SetUp(0, false, r.now)
	r.offer(0, data(0, 1, lossless, 0, 100))
	assert.Equal(t, r.count(0).Drops[lossless][DropPortDown], 1, "port-down drops")
	taken, stop := r.sw.Ingress(9, make([]Arrival, 3), 1, r.now, 0)
	assert.True(t, taken == 3 && stop == Done, "a port that is not there: %d, %v, want 3, %v", taken, stop, Done)
	r.empty()
}

func TestStormControl(t *testing.T) {
	ports := testPorts(2)
	ports[0].Bridge.Storm = 1_000_000 // the bucket holds two frames of 1542 octets on the wire
	r := newRig(t, testConfig(2), ports...)
	var flood [][]byte
	for seq := range 10 {
		flood = append(flood, ether(frame.Broadcast, host(0), tci(5, 0), experimental, seq, 1518))
	}
	r.offer(0, flood...)
	r.offer(0, data(0, 1, 5, 10, 100))
	assert.Equal(t, r.count(0).Drops[5][DropStorm], 8, "frames over the storm limit")
	assert.Equal(t, len(r.drain(1, r.now+second)), 3, "frames left, want two of the flood and the unicast")
	r.empty()
}

func TestFloodNowhere(t *testing.T) {
	other := testPort(1)
	other.Bridge.PVID = 2
	r := newRig(t, testConfig(2), testPort(0), other)
	r.offer(0, ether(frame.Broadcast, host(0), nil, experimental, 0, 60))
	assert.Equal(t, r.count(0).Drops[0][DropFiltered], 1, "filtered")
	r.empty()
}
