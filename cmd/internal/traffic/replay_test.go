package traffic

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A recording is a file whose frame n, of n frames, make returns.
type recording struct {
	n, at int
	make  func(n int) (data []byte, at int64)
}

func (r *recording) Next() (data []byte, at int64, err error) {
	if r.at == r.n {
		return nil, 0, io.EOF
	}
	data, at = r.make(r.at)
	r.at++
	return data, at, nil
}

// replayOf is a configuration that sends a recording.
func replayOf(t *testing.T, n int, timed bool, of func(n int) ([]byte, int64)) SendConfig {
	t.Helper()
	c := twoFlows()
	sends, left, err := c.Replay(func() (Capture, error) { return &recording{n: n, make: of}, nil }, timed)
	assert.MustBeTrue(t, sends == uint64(n) && left == 0 && err == nil, "%d frames, %d left out, %v", sends, left, err)
	return c
}

// numbered is a frame of a priority with a number at its end.
func numbered(priority uint8, octets, n int) []byte {
	b := wrap(addressing{tagged: true, octets: octets, tci: frame.MakeTCI(priority, false, 0)}, message{})
	binary.BigEndian.PutUint32(b[len(b)-4:], uint32(n))
	return b
}

// sentBy runs a source under virtual time until an end, with a kernel that often takes fewer frames than it is offered.
// It calls sent for every frame that left.
func sentBy(s *source, end int64, sent func(now int64, data []byte)) {
	b := port.NewBatch()
	for now, calls := int64(0), 0; now < end; calls++ {
		n := s.next(now)
		if n == 0 {
			now = max(now+1, min(s.retry, end))
			continue
		}
		b.Reset()
		s.fill(b, 1)
		if took := n - calls%3%n; took > 0 {
			for i := range took {
				sent(now, b.Frame(i, nil))
			}
			s.sent(took)
		}
	}
}

// A file of 100,000 frames goes whole: each frame once, each priority in its order, also where another priority is
// paused for long. No more of it is held than goes next.
func TestReplayOfALongFile(t *testing.T) {
	const n, second = 100_000, int64(time.Second)
	priorityOf := func(n int) uint8 {
		if n%10 == 0 {
			return 5
		}
		return 3
	}
	c := replayOf(t, n, false, func(n int) ([]byte, int64) { return numbered(priorityOf(n), 60+n%1000, n), 0 })
	s, flows := newTestSource(c)
	pause(s, 1<<3, math.MaxUint16, 0) // 168 ms, in which priority 5 has the port for itself
	next, last, meanwhile := [8]int{}, int64(0), 0
	sentBy(s, 10*second, func(now int64, data []byte) {
		got := int(binary.BigEndian.Uint32(data[len(data)-4:]))
		h, _ := frame.Parse(data)
		p := h.TCI.PCP()
		for priorityOf(next[p]) != p {
			next[p]++
		}
		if got != next[p] || p != priorityOf(got) || len(data) != 60+got%1000 {
			t.Fatalf("frame %d of %d octets in priority %d, want frame %d", got, len(data), p, next[p])
		}
		if next[p], last = got+1, now; last < second/8 {
			meanwhile++
		}
	})
	assert.True(t, meanwhile > 5000, "%d frames went in 125 ms beside a priority that was paused", meanwhile)
	assert.True(t, flows[0].sent == 90_000 && flows[1].sent == 10_000 && c.Count == n, "sent %d and %d, ends after %d",
		flows[0].sent, flows[1].sent, c.Count)
	octets := int64(flows[0].octets+flows[1].octets) + n*frame.WireExtras
	least := octets * 8 * second / c.Speed
	assert.True(t, last >= least-second/1000 && last <= least+second/2,
		"it took %v, want %v and at most the pause more", time.Duration(last), time.Duration(least))
	for _, f := range flows {
		held := 0
		for _, slot := range f.Replay.window {
			held += cap(slot.data)
		}
		assert.True(t, held <= (port.BatchFrames+2)*2048, "priority %d: %d octets are held", f.Priority, held)
	}
}

// With timed a frame goes when it came in the capture, counted from the first frame, whatever its priority, and in each
// round anew. A flow that comes late tells so.
func TestReplayKeepsTheTimes(t *testing.T) {
	const ms = int64(time.Millisecond)
	c := twoFlows()
	c.Duration = time.Second
	frames := func(n int) ([]byte, int64) { return numbered(uint8(3*(n%2)), 1000, n), 1e18 + int64(n)*10*ms }
	_, _, err := c.Replay(func() (Capture, error) { return &recording{n: 8, make: frames}, nil }, true)
	assert.Must(t, err)
	s, _ := newTestSource(c)
	count := 0
	sentBy(s, 400*ms, func(now int64, data []byte) {
		got, want := int(binary.BigEndian.Uint32(data[len(data)-4:])), count%8
		if due := int64(count) * 10 * ms; got != want || now < due || now > due+ms {
			t.Errorf("frame %d at %v, want frame %d at %v", got, time.Duration(now), want, time.Duration(due))
		}
		count++
	})
	assert.Equal(t, count, 40, "frames in five rounds of 80 ms")

	whole := &sender{c: &c, elapsed: 400 * ms}
	whole.source, whole.flows = newTestSource(c)
	for _, f := range whole.flows {
		for range 10 {
			f.Replay.due(f.sent, 0)
			f.octets += uint64(len(f.Replay.frame(f.sent)))
			f.sent++
		}
	}
	if got := whole.behind(); got < 0.45 || got > 0.55 { // 20 of 40 frames
		t.Errorf("behind %.2f, want about 0.5", got)
	}
}

// No flow reads more than a few frames of the file between two looks at the port, however far away its next one is.
// All frames go, in order, and with timed at their times.
func TestReplayReadsInSteps(t *testing.T) {
	const n, gap, ms = 50_000, 10_000, int64(time.Millisecond)
	rare := func(k int) []byte { return numbered(uint8(3+3*(k/(n-1))), 60, k) } // the last frame has priority 6
	alone := func(k int) []byte {
		b := numbered(3, 60, k)
		if k%(n-1) != 0 {
			binary.BigEndian.PutUint16(b[16:], frame.TypeMACControl)
		}
		return b
	}
	for name, of := range map[string]func(k int) []byte{"rare": rare, "alone": alone} {
		for _, timed := range []bool{false, true} {
			read, next := 0, [8]int{}
			c := twoFlows()
			_, left, err := c.Replay(func() (Capture, error) {
				return &recording{n: n, make: func(k int) ([]byte, int64) { read++; return of(k), int64(k) * gap }}, nil
			}, timed)
			assert.Must(t, err)
			s, flows := newTestSource(c)
			most := sentInSteps(s, 600*ms, &read, func(now int64, data []byte) {
				h, _ := frame.Parse(data)
				got, p, due := int(binary.BigEndian.Uint32(data[len(data)-4:])), h.TCI.PCP(), int64(0)
				if timed {
					due = int64(got) * gap
				}
				if got < next[p] || now < due || now > due+ms && (timed || name == "alone") {
					t.Fatalf("%s: frame %d goes at %v, due at %v, want frame %d or later", name, got,
						time.Duration(now), time.Duration(due), next[p])
				}
				next[p] = got + 1
			})
			total := left
			for _, f := range flows {
				total += f.sent
			}
			assert.True(t, most <= 256 && total == n, "%s, timed %v: %d frames were read at once, and %d of "+
				"%d went", name, timed, most, total, n)
		}
	}
}

// sentInSteps runs a source until an end, calls sent for every frame, and returns how much a look at the flows added to
// read at most.
func sentInSteps(s *source, end int64, read *int, sent func(now int64, data []byte)) (most int) {
	b := port.NewBatch()
	for now := int64(0); now < end; {
		before := *read
		n := s.next(now)
		if most = max(most, *read-before); n == 0 {
			now = max(now+1, min(s.retry, end))
			continue
		}
		b.Reset()
		s.fill(b, 1)
		for i := range n {
			sent(now, b.Frame(i, nil))
		}
		s.sent(n)
	}
	return most
}

// Why one flow cannot go on is told at the end, also where the others always had something to send.
func TestReplayTellsAtTheEnd(t *testing.T) {
	opened := 0
	frames := func(n int) ([]byte, int64) { return numbered(uint8(3*(n%2)), 60, n), 0 }
	c := twoFlows()
	c.Count = 10
	_, _, err := c.Replay(func() (Capture, error) {
		if opened++; opened == 2 {
			return nil, errors.New("broken")
		}
		return &recording{n: 100, make: frames}, nil
	}, false)
	assert.Must(t, err)
	s, _ := testSender(t, c)
	s.prepare(testMAC)
	assert.Fails(t, s.load(t.Context()), "after 0 frames of priority 0: broken", "a load of which one flow failed")
	assert.Equal(t, s.total(), 10, "frames of the other flow")
}

// What is no load, and a file that is another one when it is read again, are refused.
func TestReplayRefuses(t *testing.T) {
	good := func(n int) ([]byte, int64) { return numbered(3, 60, n), 7 }
	broken := errors.New("broken")
	for want, open := range map[string]func() (Capture, error){
		"no frame to send": func() (Capture, error) { return &recording{}, nil },
		"broken":           func() (Capture, error) { return nil, broken },
		"frame 2: it has 13 octets": func() (Capture, error) {
			return &recording{n: 2, make: func(n int) ([]byte, int64) { return make([]byte, 14-n), 0 }}, nil
		},
		"have no times": func() (Capture, error) { return &recording{n: 2, make: good}, nil },
	} {
		c := twoFlows()
		c.Duration = time.Second
		_, _, err := c.Replay(open, true)
		assert.Fails(t, err, want, "replay")
	}
	for name, second := range map[string]*recording{
		"shorter":       {n: 2, make: good},
		"longer frames": {n: 3, make: func(n int) ([]byte, int64) { return numbered(3, 61, n), 0 }},
		"no frames":     {n: 3, make: func(int) ([]byte, int64) { return nil, 0 }},
	} {
		opened := 0
		c := twoFlows()
		_, _, err := c.Replay(func() (Capture, error) {
			if opened++; opened == 1 {
				return &recording{n: 3, make: good}, nil
			}
			return second, nil
		}, false)
		assert.Must(t, err)
		s := &sender{c: &c}
		s.source, s.flows = newTestSource(c)
		run(s.source, 0, int64(time.Second))
		assert.Fails(t, s.sleep(0, 0), "has changed", "%s", name)
	}
}
