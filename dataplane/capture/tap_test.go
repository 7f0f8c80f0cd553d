package capture

import (
	"errors"
	"runtime/metrics"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// The data path captures what a reader wants, and nothing without readers.
func TestTap(t *testing.T) {
	var tap Tap
	assert.True(t, tap.Recorder() == nil, "somebody captures before anybody came")
	var one, two Ports
	one.Add(1)
	two.Add(200)
	a, b := attach(t, &tap, Want{one, 60}), attach(t, &tap, Want{two, 100})
	r := tap.Recorder()
	assert.True(t, r.Wants(1) && r.Wants(200) && !r.Wants(2) && !r.Wants(-1) && !r.Wants(MaxPorts), "wanted: %v",
		r.want.Load())
	put(r, 1, 500, 7)
	put(r, 200, 500, 8)
	got := all(a)
	assert.True(t, len(got) == 1 && got[0] == 7, "the first reader got %v, want frame 7 of its port", got)
	b.Close()
	b.Close()
	assert.True(t, !r.Wants(200) && r.want.Load().Snap == 60, "after a reader has left: %v", r.want.Load())
	a.Close()
	assert.True(t, tap.Recorder() == nil, "nobody captures any more, and the data path does")
}

func TestTooManyReaders(t *testing.T) {
	var tap Tap
	for range MaxCursors {
		attach(t, &tap, everything)
	}
	_, err := tap.Attach(everything)
	assert.True(t, errors.Is(err, ErrTooMany), "got %v, want ErrTooMany", err)
}

// Readers go on when the size of the ring changes.
func TestSetMemory(t *testing.T) {
	var tap Tap
	c := attach(t, &tap, everything)
	put(tap.Recorder(), 0, 60, 1)
	tap.SetMemory(2 * MinMemory)
	put(tap.Recorder(), 0, 60, 2)
	got := append(all(c), all(c)...)
	assert.True(t, len(got) == 2 && got[0] == 1 && got[1] == 2, "got %v, want frames 1 and 2", got)
	assert.Equal(t, len(tap.Recorder().chunks)*chunkOctets, 2*MinMemory, "octets of the ring")
}

// Allocating a ring takes milliseconds, in which all ports may be described. So it happens outside of the lock that
// Describe takes.
func TestDescribeDoesNotWaitForMemory(t *testing.T) {
	const octets = 32 << 20
	var tap Tap
	tap.SetMemory(octets)
	for _, call := range []struct {
		name string
		f    func()
	}{
		{"Attach", func() { _, _ = tap.Attach(everything) }},
		{"SetMemory", func() { tap.SetMemory(octets + MinMemory) }}, // of the ring that is in use by now
	} {
		before := allocated()
		done := make(chan struct{})
		tap.mu.Lock()
		go func() { call.f(); close(done) }()
		for from := time.Now(); allocated() < before+octets; time.Sleep(time.Millisecond) {
			if time.Since(from) > 5*time.Second {
				t.Errorf("%s waits for the lock of Describe before it makes the memory", call.name)
				break
			}
		}
		tap.is[3] = &Interface{Port: 3, Name: call.name} // what Describe did meanwhile
		tap.mu.Unlock()
		<-done
		if is := tap.Recorder().described(3); is == nil || is.Name != call.name {
			t.Errorf("%s: a port that was described meanwhile is %+v", call.name, is)
		}
	}
}

// allocated returns the octets that have been allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Rewind tells from when on frames are kept once older ones were overwritten.
func TestRewindTellsHowFar(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	c := attach(t, &tap, everything)
	assert.Equal(t, c.Rewind(), 0, "nothing came, and what came before is overwritten")
	overwritten := false
	for i := range uint64(2 * MinMemory / 1000) {
		put(tap.Recorder(), 1, 1000, 1+i) // number and time are the same
		oldest := uint64(c.Rewind())
		var first uint64
		c.Read(func(r *Record) bool { first = uint64(r.Time); return false })
		for first == 0 { // empty chunks
			c.Read(func(r *Record) bool { first = uint64(r.Time); return false })
		}
		if overwritten = first > 1; oldest != first && overwritten || oldest != 0 && !overwritten {
			t.Fatalf("after frame %d: the oldest is %d, but the first that is read is %d", 1+i, oldest, first)
		}
	}
	assert.True(t, overwritten, "nothing was overwritten")
}

// A reader that stops after the size of the ring has changed reads both rings until there is no more.
func TestSetMemoryAndStop(t *testing.T) {
	var tap Tap
	c := attach(t, &tap, everything)
	put(tap.Recorder(), 0, 60, 1)
	tap.SetMemory(2 * MinMemory)
	put(tap.Recorder(), 0, 60, 2)
	c.Stop()
	put(tap.Recorder(), 0, 60, 3)
	got := all(c)
	assert.True(t, len(got) == 2 && got[0] == 1 && got[1] == 2, "got %v, want frames 1 and 2", got)
}

// A reader that wants more ports gets their frames from then on. The data path is told.
func TestAddPorts(t *testing.T) {
	var tap Tap
	var one, two Ports
	one.Add(1)
	two.Add(2)
	called := 0
	c := attach(t, &tap, Want{one, 60})
	tap.OnAttach(func() { called++ })
	c.AddPorts(one)
	if r := tap.Recorder(); r.Wants(2) || called != 0 {
		t.Errorf("port 2 is wanted: %v; the data path was told %d times", r.Wants(2), called)
	}
	c.AddPorts(two)
	assert.Equal(t, called, 1, "how often the data path was told")
	put(tap.Recorder(), 1, 60, 7)
	put(tap.Recorder(), 2, 60, 8)
	got := all(c)
	assert.True(t, len(got) == 2 && tap.Recorder().Wants(2), "got %v, want frames 7 and 8", got)
	c.Close()
	c.AddPorts(AllPorts)
	assert.True(t, tap.Recorder() == nil, "a reader that has left captures")
}
