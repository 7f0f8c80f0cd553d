package capture

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// put adds a frame of n octets that carries a number.
func put(r *Recorder, port, n int, number uint64) {
	b := make([]byte, max(n, 8))
	binary.BigEndian.PutUint64(b, number)
	r.Lock()
	copy(r.Put(&Record{Port: port, Time: int64(number), Length: len(b)}), b)
	r.Unlock()
}

func attach(t testing.TB, tap *Tap, w Want) *Cursor {
	t.Helper()
	c := assert.Got(tap.Attach(w)).Must(t)
	t.Cleanup(c.Close)
	return c
}

// all reads what there is.
func all(c *Cursor) (numbers []uint64) {
	for c.Read(func(r *Record) bool { numbers = append(numbers, binary.BigEndian.Uint64(r.Data)); return true }) {
	}
	return numbers
}

var everything = Want{Ports: AllPorts, Snap: MaxSnap}

// A reader gets every field of a record.
func TestRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tap Tap
		tap.SetMemory(MinMemory)
		snap := rapid.IntRange(1, 100).Draw(t, "snap")
		c := assert.Got(tap.Attach(Want{Ports: AllPorts, Snap: snap})).Must(t)
		want := Record{Port: rapid.IntRange(0, MaxPorts-1).Draw(t, "port"), Out: rapid.Bool().Draw(t, "out"),
			Time: rapid.Int64().Draw(t, "time"), Held: rapid.Int64().Draw(t, "held"),
			Note: []byte(rapid.String().Draw(t, "note"))}
		data := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "data")
		want.Length = len(data)
		note := want.Note[:min(len(want.Note), MaxNote)]
		r := tap.Recorder()
		missed := rapid.IntRange(0, 9).Draw(t, "missed")
		r.Missed(want.Port, missed)
		r.Lock()
		put := want
		copy(r.Put(&put), data)
		r.Unlock()
		n := 0
		for c.Read(func(got *Record) bool {
			n++
			assert.MustBeTrue(t, got.Port == want.Port && got.Out == want.Out && got.Time == want.Time &&
				got.Held == want.Held && got.Length == want.Length && got.Missed == uint32(missed) &&
				string(got.Note) == string(note) && string(got.Data) == string(data[:min(snap, len(data))]),
				"got %+v, want %+v with %x", got, want, data)
			return true
		}) {
		}
		assert.MustEqual(t, n, 1, "records")
	})
}

// A checked reader checks that it gets the numbered frames of four ports once and in order.
type checked struct {
	*Cursor
	read, missing, from [4]uint64
}

func (r *checked) count() {
	for p := range r.missing {
		r.missing[p] += r.Missing(p)
	}
}

// readSome reads at most so many records of one chunk.
func (r *checked) readSome(t rapid.TB, records int) (more bool) {
	return r.Read(func(rec *Record) bool {
		if records--; records < 0 {
			return false
		}
		r.count()
		p := rec.Port
		assert.MustEqual(t, binary.BigEndian.Uint64(rec.Data), r.from[p]+r.read[p]+r.missing[p], "port %d: frame", p)
		r.read[p]++
		return true
	})
}

// drain reads the rest. Then every frame until sent was read, or counted as missing.
func (r *checked) drain(t rapid.TB, sent [4]uint64) {
	for r.readSome(t, 1<<30) {
	}
	r.count()
	for p := range sent {
		assert.MustBeTrue(t, (r.from[p]+r.read[p]+r.missing[p]) == sent[p],
			"port %d: %d frames before this reader, %d read and %d missing; want %d in all", p, r.from[p], r.read[p],
			r.missing[p], sent[p])
	}
}

// Every frame is read once and in order, or counted as missing, with any number of readers, however late they are. A
// stopped reader gets the frames before its stop, and an abandoned one counts the rest.
func TestReadersGetAllOrCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tap Tap
		tap.SetMemory(MinMemory)
		var readers, stopped []*checked
		var ends [][4]uint64 // of those that are stopped
		var sent [4]uint64
		t.Repeat(map[string]func(*rapid.T){
			"attach": func(t *rapid.T) {
				if len(readers)+len(stopped) == MaxCursors {
					return
				}
				c := assert.Got(tap.Attach(everything)).Must(t)
				readers = append(readers, &checked{Cursor: c, from: sent})
			},
			"put": func(t *rapid.T) {
				r := tap.Recorder()
				if r == nil {
					return
				}
				octets := rapid.SampledFrom([]int{60, 1514, 65000}).Draw(t, "octets")
				for range rapid.IntRange(1, 200).Draw(t, "frames") {
					p := rapid.IntRange(0, 3).Draw(t, "port")
					put(r, p, octets, sent[p])
					sent[p]++
				}
			},
			"read": func(t *rapid.T) {
				if len(readers) == 0 {
					return
				}
				rapid.SampledFrom(readers).Draw(t, "reader").readSome(t, rapid.IntRange(0, 300).Draw(t, "records"))
			},
			"stop": func(t *rapid.T) {
				if len(readers) == 0 {
					return
				}
				r := readers[0]
				r.Stop()
				readers, stopped, ends = readers[1:], append(stopped, r), append(ends, sent)
				if rapid.Bool().Draw(t, "abandon") {
					r.Abandon()
				}
			},
		})
		for _, r := range readers {
			r.drain(t, sent)
		}
		for i, r := range stopped {
			r.drain(t, ends[i])
		}
	})
}

// Readers that are late by more than the ring, one of them stopped before, get what is left.
func TestReadersOfAnOverwrittenRing(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	reader := func() *checked { return &checked{Cursor: attach(t, &tap, everything)} }
	late, stopped, abandoned := reader(), reader(), reader()
	var sent [4]uint64
	fill := func(octets int) {
		for n := 0; n < octets; n += 1500 {
			put(tap.Recorder(), n/1500%4, 1500, sent[n/1500%4])
			sent[n/1500%4]++
		}
	}
	fill(MinMemory / 2)
	stopped.Stop()
	stopped.readSome(t, 10)
	abandoned.readSome(t, 10)
	abandoned.Abandon()
	before := sent
	fill(MinMemory / 4)
	late.readSome(t, 10)
	fill(3 * MinMemory)
	stopped.drain(t, before)
	abandoned.drain(t, before)
	late.drain(t, sent)
	assert.True(t, stopped.missing[0] != 0 && stopped.read[0] != 0 && late.missing[0] != 0 && late.read[0] != 0 &&
		abandoned.missing[0] != 0, "read and missing: %v %v, %v %v, %v %v; want some of each", stopped.read,
		stopped.missing, late.read, late.missing, abandoned.read, abandoned.missing)
}

// A reader that stops or is abandoned while the ring is replaced counts its missing frames in both rings.
func TestStopBehindAnExchange(t *testing.T) {
	for _, abandon := range []bool{false, true} {
		var tap Tap
		c := attach(t, &tap, everything)
		put(tap.Recorder(), 0, 60, 1)
		tap.SetMemory(2 * MinMemory)
		put(tap.Recorder(), 0, 60, 2)
		c.Stop()
		put(tap.Recorder(), 0, 60, 3)
		if abandon {
			c.Abandon()
		}
		got := append(all(c), all(c)...)
		if n := uint64(len(got)) + c.Missing(0); n != 2 || abandon == (len(got) > 0) {
			t.Errorf("abandoned: %v, got %v and %d in all, want 2", abandon, got, n)
		}
	}
}

// An idle reader costs the data path only a chunk, and learns how many frames it missed.
func TestSlowReader(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	slow, quick := attach(t, &tap, everything), attach(t, &tap, everything)
	const frames = 3 * MinMemory / 1000
	var read int
	slow.Read(func(*Record) bool { return false }) // in the middle of a chunk
	for i := range uint64(frames) {
		put(tap.Recorder(), 1, 1000, i)
		if i%100 == 0 {
			read += len(all(quick))
		}
	}
	read += len(all(quick))
	assert.True(t, read == frames && quick.Missing(1) == 0, "the quick reader got %d of %d frames", read, frames)
	got := all(slow)
	if missing := slow.Missing(1); missing == 0 || missing+uint64(len(got)) != frames || got[len(got)-1] != frames-1 {
		t.Errorf("the slow reader got %d frames, %d are missing; want all %d and the newest", len(got), missing, frames)
	} else if tap.Missing() != missing {
		t.Errorf("in all %d frames are missing, want %d", tap.Missing(), missing)
	}
}

// Writers and readers at the same time, for the race detector.
func TestConcurrently(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	keep := attach(t, &tap, everything)
	const frames = 20_000
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		c := attach(t, &tap, everything)
		readers.Go(func() {
			var got [2]uint64
			wrong := false
			for ended := false; ; {
				more := c.Read(func(r *Record) bool {
					got[r.Port] += c.Missing(r.Port)
					wrong = wrong || binary.BigEndian.Uint64(r.Data) != got[r.Port]
					got[r.Port]++
					return true
				})
				if ended && !more {
					break
				}
				select {
				case <-stop:
					ended = true
				default:
				}
			}
			for p := range got { // behind the last frame
				got[p] += c.Missing(p)
			}
			assert.True(t, !wrong && got == [2]uint64{frames, frames},
				"got or counted %v frames, in order: %v; want %d of each port", got, !wrong, frames)
		})
	}
	for p := range 2 {
		writers.Go(func() {
			for i := range uint64(frames) {
				put(tap.Recorder(), p, 700, i)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	n := len(all(keep))
	assert.True(t, n != 0, "the reader that came last got nothing")
}

func TestLosses(t *testing.T) {
	var tap Tap
	tap.Lost() // nobody listens
	losses := tap.Losses()
	for range 3 {
		tap.Lost()
	}
	<-losses
	select {
	case <-losses:
		t.Error("three losses at once were told twice")
	default:
	}
}

func TestPutAllocatesNothing(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	attach(t, &tap, everything)
	r := tap.Recorder()
	b := make([]byte, 1514)
	n := testing.AllocsPerRun(10_000, func() {
		r.Lock()
		copy(r.Put(&Record{Port: 3, Length: len(b)}), b)
		r.Unlock()
	})
	assert.True(t, n == 0, "%v allocations", n)
}

// Who must not wait puts records aside while another holds the lock. They follow in their order; too many are counted.
func TestPutAside(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	aside := func(number uint64) {
		b := binary.BigEndian.AppendUint64(nil, number)
		r.PutAside(&Record{Port: 1, Length: len(b)}, b)
	}
	aside(0) // nobody holds the lock
	r.Lock()
	for i := range uint64(asideSlots + 3) {
		aside(1 + i)
	}
	r.Unlock()
	aside(99)
	var want []uint64
	for i := range uint64(asideSlots + 1) {
		want = append(want, i)
	}
	missed := uint32(0)
	var got []uint64
	for c.Read(func(rec *Record) bool {
		got, missed = append(got, binary.BigEndian.Uint64(rec.Data)), missed+rec.Missed
		return true
	}) {
	}
	want = append(want, 99)
	assert.True(t, slices.Equal(got, want) && missed == 3, "got %v, %d missed; want %v, 3 missed", got, missed, want)
}

// However records aside and records under the lock meet, each comes once or is counted as missed.
func TestPutAsideBesideOthers(t *testing.T) {
	var tap Tap
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	const each = 5000
	var all sync.WaitGroup
	for port := range 4 {
		all.Go(func() {
			for i := range uint64(each) {
				if b := binary.BigEndian.AppendUint64(nil, i); port < 2 {
					r.PutAside(&Record{Port: port, Length: len(b)}, b)
				} else {
					put(r, port, 8, i)
				}
			}
		})
	}
	all.Wait()
	var next, n [4]uint64
	for c.Read(func(rec *Record) bool {
		number := binary.BigEndian.Uint64(rec.Data)
		assert.True(t, n[rec.Port] <= 0 || number >= next[rec.Port],
			"port %d: record %d after %d", rec.Port, number, next[rec.Port])
		next[rec.Port], n[rec.Port] = number+1, n[rec.Port]+1+uint64(rec.Missed)
		return true
	}) {
	}
	for port := range n {
		n[port] += uint64(r.missed[port].Load())
	}
	assert.Equal(t, n, [4]uint64{each, each, each, each}, "records and missed ones, want %d of each port", each)
}
