package dataplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// Equal events within a second are one, also with a few others between them.
func TestEventsAreJoined(t *testing.T) {
	r := plainRig(t, 0)
	note := func(kind EventKind, port string, prio int) {
		r.sw.Note(Event{Kind: kind, Port: port, Priority: prio}, r.now)
	}
	start := r.sw.events.next
	for range 1000 {
		note(EventLosslessDrop, "p0", 3)
		note(EventLosslessDrop, "p0", 4)
		note(EventRingHold, "p1", 3)
		r.now += 1000
	}
	first := r.sw.Events(nil, start)
	assert.MustEqual(t, len(first), 3, "events, want 3: %+v", first)
	for i, e := range first {
		assert.True(t, e.Count == 1000 && e.Seq == start+uint64(i) && e.Time == 1,
			"event %+v, want the first with 1000 counted", e)
	}
	r.now = 1 + eventJoin - 1
	note(EventLosslessDrop, "p0", 3)
	r.now = 1 + eventJoin
	note(EventLosslessDrop, "p0", 3)
	all := r.sw.Events(nil, start)
	assert.True(t, len(all) == 4 && all[0].Count == 1001 && all[3].Count == 1 && all[3].Time == r.now,
		"events %+v, want a new one a second after the first", all)
	late := r.sw.Events(nil, all[3].Seq)
	assert.True(t, len(late) == 1 && late[0].Seq == all[3].Seq, "since %d: %+v", all[3].Seq, late)
	assert.Equal(t, len(r.sw.Events(nil, all[3].Seq+1)), 0, "after the last")
}

// The count of a lossless-drop is what was lost, also where a whole reading of the kernel's counter is one event.
func TestLostFramesAreCountedInTheEvent(t *testing.T) {
	r := plainRig(t, 1)
	for _, lossless := range []uint64{1020, 1023} {
		r.sw.ReadLosses(0, RingLosses{Lossless: lossless}, r.now)
	}
	r.sw.RingLost(0, port.Lossless, 7, r.now)
	r.now += 2 * eventJoin
	r.sw.ReadLosses(0, RingLosses{Lossless: 4132}, r.now)
	var counts []uint64
	for _, e := range r.events(EventLosslessDrop) {
		counts = append(counts, e.Count)
	}
	want := []uint64{1023, 7, 3109}
	assert.True(t, slices.Equal(counts, want), "events count %v lost frames, want %v", counts, want)
}

// The kernel that has stopped a ring is blamed for the losses of that ring's class only.
func TestStoppedRingIsBlamedByClass(t *testing.T) {
	for stopped, want := range map[port.Class]string{port.Other: "overflowed", port.Lossless: "the kernel stopped"} {
		r := plainRig(t, 1)
		lost := RingLosses{Other: 3, Lossless: 5}
		r.sw.RingStopped(0, stopped, lost, r.now)
		r.sw.ReadLosses(0, lost, r.now)
		e := r.events(EventLosslessDrop)
		assert.True(t, len(e) == 1 && e[0].Count == 5 && strings.Contains(e[0].Text, want),
			"%v ring stopped: %+v, want one event of 5 frames, %q", stopped, e, want)
		assert.Equal(t, r.snapshot().Ports[0].Counters.Drops[Unknown][DropRing], 8, "%v ring stopped: frames lost",
			stopped)
	}
}

// The log keeps the newest.
func TestEventsOverflow(t *testing.T) {
	r := plainRig(t, 0)
	for i := range maxEvents + 50 {
		r.sw.Note(Event{Kind: EventPort, Text: fmt.Sprint(i)}, r.now)
	}
	all := r.sw.Events(nil, 0)
	assert.True(t, len(all) == maxEvents && all[0].Text == "50" && all[maxEvents-1].Text == fmt.Sprint(maxEvents+49),
		"%d events from %q to %q", len(all), all[0].Text, all[len(all)-1].Text)
	for i := 1; i < len(all); i++ {
		assert.MustBeTrue(t, all[i].Seq == all[i-1].Seq+1, "event %d follows %d", all[i].Seq, all[i-1].Seq)
	}
}

// Ports that come and go say so.
func TestLinkEvents(t *testing.T) {
	r := plainRig(t, 1)
	r.sw.SetUp(0, true, r.now)
	r.sw.SetUp(0, false, r.now)
	r.sw.SetUp(5, true, r.now)
	if all := r.sw.Events(nil, 0); len(all) != 2 || all[0].Kind != EventPortUp || all[1].Kind != EventPortDown {
		t.Errorf("events %v, want up, once, and down", all)
	}
}

// A station whose MTU is larger than the port's is told of once for each configuration, with what to do; of whichever
// priority its frames are, the others pass.
func TestOversizeIsTold(t *testing.T) {
	r := plainRig(t, 2)
	reported := func(want ...string) {
		t.Helper()
		var got []string
		for _, e := range r.events(EventOversize) {
			got = append(got, e.Text)
			assert.True(t, e.Port == "p0" && e.Priority == -1 && e.Peer == host(0) && e.Count == 1,
				"event %+v: want one of port p0 as a whole, about %x", e, host(0))
		}
		assert.MustBeSame(t, got, want, "events")
	}
	says := func(octets, most int) string {
		return fmt.Sprintf("a frame of %d octets came, and at an mtu of %d the port carries %d "+
			"(a tag comes on top): longer frames are dropped (oversize), those of lossless "+
			"priorities too. Lower the MTU of the station that sends them to %d, "+
			"or raise ports.p0.mtu to %d (pfcswitch nic: --mtu)", octets, most-14, most, most-14, octets-14)
	}
	r.offer(0, data(0, 1, lossless, 0, mtu+4)) // the longest
	reported()
	first := says(3014, mtu)
	r.offer(0, data(0, 1, lossless, 0, 3014+4), data(0, 1, 0, 1, 3014+4), ether(host(1), host(0), nil, experimental, 2,
		9014))
	reported(first)
	burst := r.receive(0, [][]byte{data(0, 1, lossless, 0, 3018)})
	assert.Equal(t, testing.AllocsPerRun(100, func() { r.sw.Ingress(0, burst, 0, r.now, 0) }), 0,
		"allocations for each such frame after the first")
	_, err := r.sw.SetMAC(0, [6]byte{2, 9}, r.now) // which changes nothing of it
	assert.Must(t, err)
	r.offer(0, data(0, 1, lossless, 0, 3018))
	reported(first)

	larger := testPorts(2)
	larger[0].MaxFrame, larger[1].MaxFrame = 2014, 2014
	r.reconfigure(testConfig(2), larger...)
	reported(first)
	r.offer(0, data(0, 1, 0, 0, 2018), ether(host(1), host(0), nil, experimental, 2, 2015), data(0, 1, 0, 1, 3018))
	reported(first, says(2015, 2014))
	assert.Equal(t, len(r.drain(1, r.now+second)), 2, "frames passed, want the two that fit")
	r.empty()
}

// A frame longer than any port carries, and a frame that the kernel hands over to nobody, are counted and told of once
// for each configuration, each with what to do at its sender.
func TestUnreadableFramesAreTold(t *testing.T) {
	r := plainRig(t, 2)
	long := r.receive(0, [][]byte{data(0, 1, lossless, 0, port.MaxFrame+18)})[0]
	long.Octets = 100_004
	long.Prepare(&r.sw.ports[0].cfg.Classify, port.MaxFrame)
	offer := func() { r.sw.Ingress(0, []Arrival{long, r.receive(0, [][]byte{nil})[0]}, 0, r.now, 0) }
	for _, row := range []struct {
		kind   EventKind
		reason DropReason
		prio   int
		peer   uint64
		want   string
	}{
		{EventOversize, DropOversize, lossless, host(0), "a GSO frame of 100004 octets came (BIG TCP), and the " +
			"switch takes 65550: longer frames are dropped (oversize), those of lossless priorities too. " +
			"At the station that sends them: ip link set dev eth0 gso_max_size 65536 gso_ipv4_max_size 65536"},
		{EventMalformed, DropMalformed, Unknown, 0, "a GSO frame came of a kind that the kernel hands to no packet " +
			"socket (SCTP, UDP fragmentation): such frames are dropped (malformed), those of lossless priorities " +
			"too. Switch it off at the station that sends them (ethtool -K eth0 tx-sctp-segmentation off; in the " +
			"network card of a virtual machine, host_ufo=off)"},
	} {
		before := r.count(0).Drops[row.prio][row.reason]
		for range 3 {
			offer()
		}
		assert.Equal(t, r.count(0).Drops[row.prio][row.reason]-before, 3, "drops for %v", row.reason)
		all := r.events(row.kind)
		assert.True(t, len(all) == 1 && all[0].Text == row.want && all[0].Peer == row.peer && all[0].Port == "p0",
			"events %+v\nwant one about %x: %s", all, row.peer, row.want)
	}
	larger := testPorts(2)
	larger[0].MaxFrame, larger[1].MaxFrame = 2014, 2014
	r.reconfigure(testConfig(2), larger...)
	r.now += 2 * eventJoin
	offer()
	n, m := len(r.events(EventOversize)), len(r.events(EventMalformed))
	assert.True(t, n == 2 && m == 2, "%d and %d events after a change of the configuration, want 2 of each", n, m)
	r.empty()
}

// A peer that sends lossless and lossy frames by turns at the port's speed is not too fast, though a switch that comes
// late reads all of one ring before those of the other.
func TestNoOverspeedOfTwoRings(t *testing.T) {
	in := testPort(0)
	in.Speed, in.Burst = 10_000_000, 2*(mtu+24)
	r := newRig(t, testConfig(2), in, testPort(1))
	const n = 8
	from, each := r.now, wireTime(1, mtu)*100 // the time of one frame at 10 Mbit/s
	r.now += 2 * n * each
	for i := range int64(n) {
		r.arriveAt(from+2*i*each, 0, several(0, 1, 0, 1, mtu)...)
	}
	for i := range int64(n) {
		r.arriveAt(from+(2*i+1)*each, 0, several(0, 1, lossless, 1, mtu)...)
	}
	r.settle()
	assert.Equal(t, r.count(0).Overspeed, 0, "frames over the speed")
	r.drain(1, r.now+second)
	r.empty()
}

// The peer that sends faster than the port's speed is counted, and named once.
func TestOverspeed(t *testing.T) {
	in := testPort(0)
	in.Speed, in.Burst = 10_000_000, 2*(mtu+24) // meter: four frames at once
	r := newRig(t, testConfig(2), in, testPort(1))
	r.offer(0, several(0, 1, 0, 10, mtu)...)
	assert.Equal(t, r.count(0).Overspeed, 6, "frames of ten at once over the speed")
	r.now += wireTime(1, mtu) * 100 // the time of one frame at 10 Mbit/s
	r.offer(0, several(0, 1, lossless, 2, mtu)...)
	assert.Equal(t, r.count(0).Overspeed, 7, "over the speed")
	assert.Equal(t, len(r.events(EventOverspeed)), 1, "events")
	r.drain(1, r.now+second)
	r.empty()
}
