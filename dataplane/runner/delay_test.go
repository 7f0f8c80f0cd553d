package runner

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A sink is the sending half of a port: it keeps what it is given, and refuses as told.
type sink struct {
	port.Port
	frames  [][]byte
	vnets   []frame.VnetHeader
	control [][]byte
	refuse  []error // of the next sends; nil takes
}

func (s *sink) refusal() error {
	if len(s.refuse) == 0 {
		return nil
	}
	err := s.refuse[0]
	s.refuse = s.refuse[1:]
	return err
}

func (s *sink) Send(b *port.Batch) (int, error) {
	for i := range b.Len() {
		if err := s.refusal(); err != nil {
			return i, err
		}
		s.frames = append(s.frames, b.Frame(i, nil))
		s.vnets = append(s.vnets, b.Vnet(i))
	}
	return b.Len(), nil
}

func (s *sink) SendControl(b []byte) error {
	if err := s.refusal(); err != nil {
		return err
	}
	s.control = append(s.control, bytes.Clone(b))
	return nil
}

// line returns a delay line with rings of the given length.
func line(delay int64, octets int) *delayLine {
	lane := func() lane {
		g := &delayRing{delay: delay, octets: make([]byte, octets)}
		return lane{first: g, newest: g}
	}
	return &delayLine{delay: delay, data: lane(), control: lane(), batch: port.NewBatch()}
}

// flushAll makes send calls until nothing is due, or one failed.
func flushAll(l *delayLine, p port.Port, now int64) (sent, octets int, dropped []dataplane.Refusal, err error) {
	for err == nil && l.due(0) <= now {
		var n, o int
		var refused []dataplane.Refusal
		n, o, refused, err = l.flush(p, now)
		sent, octets, dropped = sent+n, octets+o, append(dropped, refused...)
	}
	return sent, octets, dropped, err
}

// leavesBy lets frames that hold or free the peer leave a line by p.
func leavesBy(l *delayLine, r *Refresher, p port.Port) {
	l.sendPause = func(b []byte, holds uint16, now, every int64) (int64, error) {
		return r.SendDelayed(0, p, b, holds, now, every)
	}
}

func put(l *delayLine, now int64, b []byte) bool {
	return l.put(now, dataplane.Origin{}, &frame.VnetHeader{}, b)
}

// Frames leave after the delay, in order, with what they came with.
func TestDelayLine(t *testing.T) {
	l, s := line(1000, 4096), &sink{}
	v := unfinished(14)
	assert.Equal(t, l.due(0), math.MaxInt64, "an empty line is due")
	l.put(5, dataplane.Origin{}, &v, []byte("first frame."))
	l.putControl(6, []byte("control"))
	l.put(9, dataplane.Origin{}, &frame.VnetHeader{}, []byte("second frame"))
	assert.Equal(t, l.due(0), 1005, "due at")
	if sent, octets, refused, err := flushAll(l, s, 1004); sent+octets+len(refused) != 0 || err != nil {
		t.Errorf("1 ns early: %d %d %v %v", sent, octets, refused, err)
	}
	sent, octets, refused, err := flushAll(l, s, 1006)
	assert.True(t, sent == 1 && octets == 12 && len(refused) == 0 && err == nil,
		"flush: %d %d %v %v, want the first and the control frame", sent, octets, refused, err)
	assert.True(t, len(s.control) == 1 && string(s.control[0]) == "control" && s.vnets[0] == v,
		"control %q, header %+v", s.control, s.vnets)
	sent, _, _, _ = flushAll(l, s, 2000)
	assert.True(t, sent == 1 && string(s.frames[1]) == "second frame" && s.vnets[1] == (frame.VnetHeader{}),
		"the second: %d, %q", sent, s.frames)
	assert.Equal(t, l.due(0), math.MaxInt64, "an empty line is due")
}

// A frame that the kernel does not take now stays; one that it never takes is dropped, and those behind it go on.
func TestDelayLineRefused(t *testing.T) {
	for _, again := range []error{port.ErrAgain, port.ErrDown} {
		l, s := line(0, 4096), &sink{refuse: []error{nil, again}}
		put(l, 1, []byte("one."))
		put(l, 1, []byte("two."))
		sent, octets, refused, err := flushAll(l, s, 1)
		assert.True(t, sent == 1 && octets == 4 && len(refused) == 0 && errors.Is(err, again),
			"%v: %d %d %v %v", again, sent, octets, refused, err)
		if sent, _, _, err := flushAll(l, s, 1); sent != 1 || err != nil || string(s.frames[1]) != "two." {
			t.Errorf("%v: the same frame again: %d %v %q", again, sent, err, s.frames)
		}
	}
	l, s := line(0, 4096), &sink{refuse: []error{unix.EMSGSIZE, unix.EINVAL}}
	put(l, 1, []byte("one."))
	l.putControl(1, []byte("control"))
	put(l, 1, []byte("two."))
	if sent, octets, refused, err := flushAll(l, s, 1); sent != 1 || octets != 4 || len(refused) != 1 || err != nil {
		t.Errorf("refused for ever: %d %d %v %v, want one data frame dropped and one sent", sent, octets, refused, err)
	}
}

func TestDelayLineFull(t *testing.T) {
	l := line(0, 3*(recordHeader+100)+50)
	n := 0
	for put(l, 1, make([]byte, 100)) {
		n++
	}
	assert.Equal(t, n, 3, "frames fitted")
	assert.True(t, !put(l, 1, make([]byte, 100)), "a full line took a frame")
	assert.True(t, put(l, 1, make([]byte, 50-recordHeader)), "a frame that fits was not taken after one that did not")
	s := &sink{}
	sent, _, _, _ := flushAll(l, s, 1)
	assert.True(t, sent == 4, "%d left, want 4", sent)
	for put(l, 1, make([]byte, 100)) {
	}
	l.clear()
	assert.True(t, l.due(0) == math.MaxInt64 && put(l, 1, make([]byte, 100)), "clear did not empty the line")
}

// Of the frames that a send call took, or that the kernel refused, the line says which are of lossless priorities.
func TestDelayLineKeepsTheOrigin(t *testing.T) {
	l, s := newDelayLine(0, gigabit, 10_000), &sink{}
	all := []dataplane.Origin{{Lossless: true, In: 2, Priority: 3}, {Priority: 1}, {Demoted: true, In: 1, Priority: 3},
		{Own: true, Priority: 3}}
	for range 2 {
		for _, o := range all {
			l.put(1, o, &frame.VnetHeader{}, make([]byte, 100))
		}
	}
	for range all {
		if o := originOf(l.data.oldest()); !slices.Contains(all, o) || o.LosslessPriority() != (o.In > 0) {
			t.Errorf("origin %+v, want one of %+v", o, all)
		}
		l.removeOldest(&l.data)
	}
	if sent, _, _, err := l.flush(s, 1); sent != 3 || l.lossless != 2 || err != nil {
		t.Errorf("%d left, %d of lossless priorities, %v, want 3 and 2", sent, l.lossless, err)
	}
}

// A line that newDelayLine made holds what a port sends in its delay, in the smallest frames, with its burst.
func TestDelayLineIsLargeEnough(t *testing.T) {
	for _, speed := range []int64{0, 10_000_000, gigabit, 10 * gigabit} {
		const delay, burst = 1_000_000, 62_500
		l := newDelayLine(delay, speed, burst)
		octets := int(delay*macctl.SpeedOrNominal(speed)/8/1_000_000_000) + burst
		for octets > 0 {
			assert.MustBeTrue(t, put(l, 1, make([]byte, 14)),
				"%d bit/s: full with %d octets still to come", speed, octets)
			octets -= frame.WireOctets(14)
		}
		assert.True(t, put(l, 1, make([]byte, port.MaxFrame)), "%d bit/s: no room for a GSO frame", speed)
	}
}

// XOFF enters a line that is full of data, and leaves on time where the kernel refuses the data before it. What is
// sent without end while the kernel takes none takes the place of the oldest: the newest state leaves.
func TestDelayLineRefusesNoXOFF(t *testing.T) {
	const delay = 1000
	l, s := newDelayLine(delay, gigabit, 10_000), &sink{}
	leavesBy(l, newRefresher(1), s)
	xoff := func(now int64, quanta uint16) { l.putPause(now, pfc(lossless, quanta), 0, 0) }
	for put(l, 1, make([]byte, port.MaxFrame)) || put(l, 1, make([]byte, 60)) {
	}
	xoff(2, 7)
	s.refuse = []error{port.ErrDropped, nil}
	retry := int64(0)
	for now := int64(0); l.due(retry) <= 2+delay; {
		now = max(now, l.due(retry))
		if _, _, _, err := l.flush(s, now); err != nil {
			retry = now + retryDelay
		}
	}
	assert.True(t, len(s.control) == 1 && l.entered == 2 && len(s.frames) == 0,
		"%d XOFFs have left behind data that the kernel refuses, %d data frames", len(s.control), len(s.frames))
	held := l.holds
	for xoff(3, 8); l.putControl(4, pfc(0, 0)); { // measurement frames take nobody's place
	}
	assert.Equal(t, meantOf(l.control.oldest()), 3+delay, "XOFF has gone: the oldest frame leaves at")
	for i := range uint16(10_000) {
		s.refuse = []error{port.ErrAgain}
		xoff(int64(i), i)
		_, _, _, _ = l.flush(s, retry-1)
	}
	for s.refuse, s.control = nil, nil; l.control.oldest() != nil; {
		_, _, _, _ = l.flush(s, second)
	}
	if n := len(s.control); n < controlBurst || !bytes.Equal(s.control[n-1], pfc(lossless, 9_999)) || l.holds > held {
		t.Errorf("%d leave after all, the newest is %x", n, s.control[n-1])
	}
}

// Against plain queues, with frames of all lengths and small rings, so that they wrap around in every way, and with
// a delay that changes.
func TestDelayLineIsTwoQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := line(rapid.Int64Range(0, 50).Draw(t, "delay"), rapid.IntRange(150, 600).Draw(t, "ring"))
		type entry struct {
			due int64
			b   []byte
		}
		var data, control []entry
		var last [2]int64 // of data and control, when the newest leaves
		s, now, serial := &sink{}, int64(1), byte(0)
		leavesBy(l, newRefresher(1), s)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				serial++
				e := entry{max(now+l.delay, last[0]), bytes.Repeat([]byte{serial},
					rapid.IntRange(14, 120).Draw(t, "octets"))}
				used := 0
				for _, m := range data {
					used += recordHeader + len(m.b)
				}
				took := put(l, now, e.b)
				if took {
					data, last[0] = append(data, e), e.due
				}
				// The end of the ring may be left unused once, by less than the longest record.
				if need := used + recordHeader + len(e.b); took && need > len(l.data.newest.octets) ||
					!took && len(data) == 0 && need <= len(l.data.newest.octets)/2 {
					t.Fatalf("taken: %v, %d of %d octets needed", took, need, len(l.data.newest.octets))
				}
			},
			"put control": func(t *rapid.T) {
				serial++
				e := entry{max(now+l.delay, last[1]), bytes.Repeat([]byte{serial}, 14)}
				l.putPause(now, e.b, 0, 0)
				control, last[1] = append(control, e), e.due
				left := 0 // the oldest may have gone
				for _, at := l.control.oldest(), l.control.first; at != nil; at = at.next {
					for r, i := at.record(at.head); r != nil; r, i = at.record(i + recordHeader + lengthOf(r)) {
						left++
					}
				}
				assert.MustBeTrue(t, left >= 1 && left <= len(control),
					"%d MAC Control frames in the line, %d sent", left, len(control))
				control = control[len(control)-left:]
			},
			"change": func(t *rapid.T) { l.change(rapid.Int64Range(0, 50).Draw(t, "delay"), gigabit, 100) },
			"flush": func(t *rapid.T) {
				now += rapid.Int64Range(0, 60).Draw(t, "time")
				if refuse := rapid.IntRange(0, 3).Draw(t, "refused after"); refuse < 3 {
					s.refuse = append(make([]error, refuse), port.ErrAgain)
				}
				s.frames, s.control = nil, nil
				sent, octets, _, err := flushAll(l, s, now)
				leave := func(model []entry, got [][]byte) []entry {
					for i, b := range got {
						assert.MustBeTrue(t, i != len(model) && bytes.Equal(b, model[i].b) && model[i].due <= now,
							"left at %d: %q, want %+v", now, got, model)
					}
					return model[len(got):]
				}
				data, control = leave(data, s.frames), leave(control, s.control)
				for _, b := range s.frames {
					octets -= len(b)
				}
				assert.MustBeTrue(t, sent == len(s.frames) && octets == 0,
					"%d left, said %d; %d octets more", len(s.frames), sent, octets)
				if err == nil && len(data) > 0 && data[0].due <= now {
					t.Fatalf("a frame due at %d stays at %d", data[0].due, now)
				}
				s.refuse, l.retryControl = nil, 0
			},
			"": func(t *rapid.T) {
				want := int64(math.MaxInt64)
				for _, model := range [][]entry{data, control} {
					if len(model) > 0 {
						want = min(want, model[0].due)
					}
				}
				assert.MustEqual(t, l.due(0), want, "due at")
			},
		})
	})
}

// The delay line takes the stream as it takes data, and counts it as none.
func TestStreamInTheDelayLine(t *testing.T) {
	l, out := newDelayLine(1000, gigabit, 10_000), &sink{}
	b := make([]byte, 100)
	for range 3 {
		assert.MustBeTrue(t, l.put(5, dataplane.Origin{Own: true}, &frame.VnetHeader{}, b), "the line is full")
	}
	out.refuse = []error{nil, unix.EINVAL}
	sent, octets, refused, err := flushAll(l, out, 1005)
	assert.True(t, sent == 0 && octets == 0 && len(refused) == 0 && err == nil && len(out.frames) == 2 &&
		l.longest == 0, "%d data frames of %d octets, %d refused, %v; %d left", sent, octets, len(refused), err,
		len(out.frames))
	assert.True(t, l.entered == 0 && l.holds == 0 && l.due(0) == math.MaxInt64, "they count as MAC Control, or stay")
	_ = l.put(5, dataplane.Origin{Own: true}, &frame.VnetHeader{}, b)
	assert.Equal(t, len(l.giveUp(nil)), 0, "data frames dropped")
}
