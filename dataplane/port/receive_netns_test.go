package port_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Frames arrive with all their octets and the time of their arrival, whatever their destination address.
func TestReceive(t *testing.T) {
	w := newWire(t)
	from := now()
	want := w.plain(1, 14)
	want = append(want, w.plain(1, 60)...)
	want = append(want, w.plain(1, 1514)...)
	got := w.collect(port.Other, 3)
	wantData(t, got, want)
	for i, f := range got {
		assert.True(t, f.Stamp >= from && f.Stamp <= now() && !f.Truncated && f.Vnet == (frame.VnetHeader{}),
			"frame %d: stamp %d not from %d to %d, cut %v, header %+v", i, f.Stamp, from, now(), f.Truncated, f.Vnet)
	}
}

// The ring wraps around, also when it is full, and hands over every frame once and in order.
func TestRingWrapsAround(t *testing.T) {
	w := newWire(t)
	slots := w.port.Slots(port.Other).Full
	assert.MustBeTrue(t, slots >= 1 && slots <= 1000, "%d slots", slots)
	var want [][]byte
	var frames [400]port.Frame
	waiting, taken := 0, 0
	for round := range 40 {
		n := rand.IntN(slots - waiting + 1)
		if round%8 == 0 {
			n = slots - waiting // to the brim
		}
		want = append(want, w.plain(n, 60)...)
		waiting += n
		w.awaitBacklog(port.Other, waiting)
		for _, limit := range []int{0, waiting - 1, waiting} {
			assert.MustEqual(t, w.port.BacklogExceeds(port.Other, limit), waiting > min(limit, slots/4),
				"more than %d of %d frames wait", limit, waiting)
		}
		read := w.port.Receive(port.Other, frames[:], 1<<20)
		if again := w.port.Receive(port.Other, frames[read:], 1<<20); read != waiting || again != 0 {
			t.Fatalf("round %d: %d frames and %d more, %d wait", round, read, again, waiting)
		}
		for i, f := range frames[:read] {
			assert.MustBeSame(t, f.Data, want[taken+i], "round %d: frame %d", round, i)
		}
		done := rand.IntN(read + 1)
		w.port.Release(port.Other, done)
		w.port.Rewind(port.Other)
		taken, waiting = taken+done, waiting-done
	}
	assert.Equal(t, w.port.Losses(port.Other), 0, "frames lost")
}

// Receive stops at its limit of octets, with one frame at least.
func TestReceiveLimit(t *testing.T) {
	w := newWire(t)
	w.plain(5, 1000)
	w.awaitBacklog(port.Other, 5)
	var frames [16]port.Frame
	for _, row := range []struct{ octets, want int }{{1, 1}, {1000, 1}, {1001, 2}, {9000, 1}} {
		assert.Equal(t, w.port.Receive(port.Other, frames[:], row.octets), row.want, "frames for %d octets", row.octets)
	}
	w.port.Rewind(port.Other)
	assert.Equal(t, w.port.Receive(port.Other, frames[:3], 1<<20), 3, "frames in room for 3")
}

// A received frame that was changed and finished is unchanged when it is received again: a small frame is a copy.
func TestSlotsOfSmallFramesStay(t *testing.T) {
	w := newWire(t)
	b, v := unfinished(nil, 3, 200, 0)
	w.send(v, b)
	var one [1]port.Frame
	eventually(t, "the frame comes", func() bool { return w.port.Receive(port.Other, one[:], 1<<20) == 1 })
	one[0].Data[60] ^= 0xff
	one[0].Finish()
	w.port.Rewind(port.Other)
	if w.port.Receive(port.Other, one[:], 1<<20); one[0].Vnet != v || one[0].Data[60] != b[60] {
		t.Errorf("received again: %+v and octet %02x, want %+v and %02x", one[0].Vnet, one[0].Data[60], v, b[60])
	}
}

// Frames that a full ring has no room for are counted. The other ring loses nothing, and earlier frames stay.
func TestLossesAreCounted(t *testing.T) {
	w := newWire(t)
	slots := w.port.Slots(port.Other).Full
	const beyond = 37
	want := w.plain(slots+beyond, 60)[:slots]
	kept := craft(tci(3, 0), experimental, 7, 64)
	w.send(frame.VnetHeader{}, kept)
	eventually(t, "losses are counted", func() bool { return w.port.Losses(port.Other) == beyond })
	again, lossless := w.port.Losses(port.Other), w.port.Losses(port.Lossless)
	assert.True(t, again == beyond && lossless == 0, "lost %d and %d, want %d and 0", again, lossless, beyond)
	wantData(t, w.collect(port.Other, slots), want)
	wantData(t, w.collect(port.Lossless, 1), [][]byte{kept})
	wantData(t, w.collect(port.Other, 0), nil)
	w.plain(1, 60)
	w.collect(port.Other, 1)
	assert.Equal(t, w.port.Losses(port.Other), beyond, "lost after the ring was emptied")
	assert.True(t, !w.port.Stopped(port.Other) && !w.port.Stopped(port.Lossless),
		"a full ring counts as one that the kernel has stopped")
}

// A Poller that sleeps finds frames that a ring loses, though no socket that it listens to is readable. Losses counts
// them. A sleep during which nothing is lost lasts as long as it is to.
func TestPollerFindsDrops(t *testing.T) {
	w := newWire(t)
	p := assert.Got(port.NewPoller()).Must(t)
	t.Cleanup(func() { assert.Must(t, p.Close()) })
	p.WatchDrops(w.port.Drops(nil))
	for _, d := range []time.Duration{500 * time.Millisecond, 1300 * time.Millisecond, 3300 * time.Millisecond} {
		from := time.Now()
		why := p.Wait(d)
		for why == port.Ready { // a signal of the runtime's
			from = time.Now()
			why = p.Wait(d)
		}
		slept := time.Since(from)
		assert.True(t, why == port.Expired && slept >= d, "a sleep of %v ended after %v: %v", d, slept, why)
	}
	woken := make(chan port.Wakeup, 1)
	go func() { woken <- p.Wait(-1) }()
	time.Sleep(100 * time.Millisecond) // it sleeps
	const beyond = 37
	w.plain(w.port.Slots(port.Other).Full+beyond, 60)
	select {
	case why := <-woken:
		assert.Equal(t, why, port.Dropped, "the sleep ended for another reason")
	case <-time.After(5 * time.Second):
		p.Wake()
		t.Error("the sleep goes on")
	}
	eventually(t, "losses are counted", func() bool { return w.port.Losses(port.Other) == beyond })
}

// Each frame arrives in the one ring that the program returns, also after Steer.
func TestSteering(t *testing.T) {
	w := newWire(t)
	lossless, other := craft(tci(3, 5), experimental, 1, 64), craft(tci(4, 5), experimental, 2, 64)
	untagged := craft(nil, experimental, 3, 60)
	for _, b := range [][]byte{lossless, other, untagged} {
		w.send(frame.VnetHeader{}, b)
	}
	wantData(t, w.collect(port.Lossless, 1), [][]byte{lossless})
	wantData(t, w.collect(port.Other, 2), [][]byte{other, untagged})
	w.silent()

	all, err := bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: uint32(port.Lossless)}})
	assert.Must(t, err)
	assert.Must(t, w.port.Steer(all))
	for _, b := range [][]byte{lossless, other, untagged} {
		w.send(frame.VnetHeader{}, b)
	}
	wantData(t, w.collect(port.Lossless, 3), [][]byte{lossless, other, untagged})
	w.silent()
	err = w.port.Steer(nil)
	assert.True(t, err != nil, "an empty program was taken")
}

// A tag, which the kernel moves into metadata, is put back into the frame, whatever its value and however often the
// frame is read.
func TestTagIsPutBack(t *testing.T) {
	w := newWire(t)
	zero := frame.TCI(0)
	dei := frame.MakeTCI(7, true, 4094)
	service := craft(tci(3, 100), experimental, 5, 80)
	service[12], service[13] = 0x88, 0xA8
	double := craft(tci(1, 10), frame.TypeVLAN, 6, 90)
	want := [][]byte{craft(&zero, experimental, 1, 64), craft(tci(5, 0), experimental, 2, 1518),
		craft(&dei, experimental, 4, 64), double}
	for _, b := range want {
		w.send(frame.VnetHeader{}, b)
	}
	w.send(frame.VnetHeader{}, service) // the program looks at the TCI alone
	w.awaitBacklog(port.Other, len(want))
	w.awaitBacklog(port.Lossless, 1)
	var frames [8]port.Frame
	for range 3 {
		n := w.port.Receive(port.Other, frames[:], 1<<20)
		wantData(t, frames[:n], want)
		n = w.port.Receive(port.Lossless, frames[:], 1<<20)
		wantData(t, frames[:n], [][]byte{service})
		w.port.Rewind(port.Other)
		w.port.Rewind(port.Lossless)
	}
}

// unfinished returns a TCP/IPv4 frame of n octets with its header, whose checksum is left to the network card.
func unfinished(tag *frame.TCI, seq, n int, gso uint16) ([]byte, frame.VnetHeader) {
	b := craft(tag, frame.TypeIPv4, seq, n)
	at := 14
	if tag != nil {
		at = 18
	}
	ip := b[at:]
	copy(ip, []byte{0x45, 0, byte((n - at) >> 8), byte(n - at), 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	sum := ^frame.Sum(ip[:20], 0)
	ip[10], ip[11] = byte(sum>>8), byte(sum)
	tcp := ip[20:]
	copy(tcp, []byte{0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0})
	pseudo := frame.Sum(ip[12:20], 6)
	length := uint32(pseudo) + uint32(len(tcp))
	length = length>>16 + length&0xffff
	tcp[16], tcp[17] = byte(length>>8), byte(length)
	v := frame.VnetHeader{Flags: frame.VnetNeedsCsum, CsumStart: uint16(at + 20), CsumOffset: 16}
	if gso > 0 {
		v.GSOType, v.GSOSize, v.HdrLen = frame.GSOTCPv4, gso, uint16(at+40)
	}
	return b, v
}

// The offsets in the header of a tagged frame include the tag, each time the frame is read.
func TestHeaderMovesWithTheTag(t *testing.T) {
	w := newWire(t)
	for _, row := range []struct {
		name string
		tag  *frame.TCI
		gso  uint16
	}{{"untagged", nil, 0}, {"tagged", tci(2, 10), 0}, {"GSO frame", nil, 400}, {"tagged GSO frame", tci(2, 0), 400}} {
		b, v := unfinished(row.tag, 1, 1400, row.gso)
		w.send(v, b)
		w.awaitBacklog(port.Other, 1)
		var frames [2]port.Frame
		for range 3 {
			n := w.port.Receive(port.Other, frames[:], 1<<20)
			wantData(t, frames[:n], [][]byte{b})
			got := frames[0].Vnet
			assert.True(t, got.CsumStart == v.CsumStart && got.CsumOffset == v.CsumOffset &&
				got.Flags&frame.VnetNeedsCsum != 0 && got.GSOType == v.GSOType && got.GSOSize == v.GSOSize,
				"%s: header %+v, want %+v", row.name, got, v)
			assert.True(t, row.gso <= 0 || (int(got.HdrLen) >= int(v.HdrLen) && int(got.HdrLen) <= len(b)),
				"%s: header length %d, want %d or more", row.name, got.HdrLen, v.HdrLen)
			w.port.Rewind(port.Other)
		}
		n := w.port.Receive(port.Other, frames[:], 1<<20)
		frames[0].Finish()
		w.port.Rewind(port.Other)
		w.port.Receive(port.Other, frames[:n], 1<<20)
		assert.Equal(t, frames[0].Vnet, frame.VnetHeader{}, "%s: header after Finish", row.name)
		w.port.Release(port.Other, n)
	}
}
