package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/gopacket/pcapgo"

	"pfcswitch/dataplane/assert"
)

// ports are two interfaces for files.
func ports(dst []Interface) []Interface {
	return append(dst, Interface{Port: 4, Name: "p4", Speed: 1e9, MAC: [6]byte{2, 0, 0, 0, 0, 4}},
		Interface{Port: 7, Name: "p7"})
}

// file makes a file of records.
func file(t testing.TB, o Options, records ...Record) []byte {
	t.Helper()
	var tap Tap
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	for _, rec := range records {
		r.Lock()
		data := rec.Data
		copy(r.Put(&rec), data)
		r.Unlock()
	}
	if o.Interfaces == nil {
		o.Interfaces = ports
	}
	if o.Snap == 0 {
		o.Snap = MaxSnap
	}
	s := NewStream(c, o)
	b := s.Begin(nil)
	for more := true; more; {
		b, more = s.Append(b, len(b)+1000)
	}
	return s.End(b, 0, 10)
}

// wantTally compares what a file has, and what is missing, with what is expected.
func wantTally(t *testing.T, file []byte, want Tally) {
	t.Helper()
	got, err := Copy(io.Discard, bytes.NewReader(file))
	assert.True(t, err == nil && got == want, "%+v, %v; want %+v", got, err, want)
}

func frameOf(n int) []byte { return bytes.Repeat([]byte{0xaa}, n) }

// Another implementation (gopacket) reads the file.
func TestPcapgoReads(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	b := file(t, Options{Snap: 100, Program: "pfcswitch", Comment: "switch s1", Wall: start.UnixNano()},
		Record{Port: 4, Time: 1, Length: 61, Data: frameOf(61), Note: []byte("dropped: red")},
		Record{Port: 7, Out: true, Time: 2_000_000_003, Length: 1514, Data: frameOf(1514)},
		Record{Port: 9, Time: 3, Length: 60, Data: frameOf(60)}) // nobody has said what it is
	r, err := pcapgo.NewNgReader(bytes.NewReader(b), pcapgo.DefaultNgReaderOptions)
	assert.Must(t, err)
	got := r.SectionInfo()
	assert.True(t, got.Application == "pfcswitch" && got.Comment == "switch s1", "section %+v", got)
	for i, want := range []struct {
		at             time.Duration
		port           int
		length, octets int
	}{{1, 0, 61, 61}, {2_000_000_003, 1, 1514, 100}, {3, 2, 60, 60}} {
		data, info, err := r.ReadPacketData()
		assert.Must(t, err)
		assert.True(t, info.Timestamp.Equal(start.Add(want.at)) && info.InterfaceIndex == want.port &&
			info.Length == want.length && bytes.Equal(data, frameOf(want.octets)), "frame %d: %+v, %d octets; want %+v",
			i, info, len(data), want)
	}
	_, _, err = r.ReadPacketData()
	assert.True(t, errors.Is(err, io.EOF), "after the last frame: %v", err)
	for i, want := range []struct {
		name  string
		count uint64
	}{{"p4", 1}, {"p7", 1}, {"port 9", 1}} {
		is, err := r.Interface(i)
		assert.True(t, err == nil && is.Name == want.name && is.TimestampResolution.Exponent() == 9 &&
			is.Statistics.PacketsReceived == pcapgo.NgNoValue64, "interface %d: %+v, %v", i, is, err)
	}
}

// Comments, direction and missing frames stand in the options of a packet.
func TestPacketOptions(t *testing.T) {
	b := file(t, Options{}, Record{Port: 4, Length: 14, Data: frameOf(14), Note: []byte("why"), Held: 1_234_000},
		Record{Port: 4, Out: true, Length: 14, Data: append([]byte{1, 0x80, 0xc2, 0, 0, 1}, frameOf(8)...)},
		Record{Port: 4, Length: 14, Data: append(bytes.Repeat([]byte{0xff}, 6), frameOf(8)...)})
	for _, want := range []string{"\x01\x00\x03\x00why\x00",
		"held in the receive ring for 1.234 ms: no room in the buffer",
		"\x02\x00\x04\x00\x0a\x00\x00\x00", /* out, multicast */
		"\x02\x00\x04\x00\x0d\x00\x00\x00" /* in, broadcast */} {
		assert.True(t, bytes.Contains(b, []byte(want)), "the file lacks %q", want)
	}
}

func TestMissingFrames(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	r.Missed(4, 5)
	const frames = 2 * MinMemory / 1000
	for i := range uint64(frames) {
		put(r, 4, 1000, i)
	}
	s := NewStream(c, Options{Snap: 60, Interfaces: ports})
	b := s.Begin(nil)
	for more := true; more; {
		b, more = s.Append(b, 1<<30)
	}
	tally, err := Copy(io.Discard, bytes.NewReader(s.End(b, 0, 1)))
	assert.True(t, err == nil && tally.Frames == s.Frames() && tally.Frames+tally.Missing == frames &&
		tally.Missing != 0, "%+v, %v; want %d frames in all, some of them missing", tally, err, frames)
	assert.True(t, bytes.Contains(b, []byte("0 frames lost in the receive ring")),
		"the reader is not told of what was missing")
}

// A port's next frame reports the frames that its receive rings lost.
func TestLostInRing(t *testing.T) {
	var tap Tap
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	r.Missed(4, 5)
	put(r, 7, 60, 0)
	put(r, 4, 60, 0)
	put(r, 4, 60, 1)
	s := NewStream(c, Options{Snap: 60, Interfaces: ports})
	b, _ := s.Append(s.Begin(nil), 1<<20)
	wantTally(t, b, Tally{Frames: 3, Missing: 5})
	assert.Equal(t, bytes.Count(b, []byte("missing before it: 5 frames lost in the receive ring")), 1,
		"how often it is said")
}

// names are the interfaces of a file's frames, in their order.
func names(t *testing.T, file []byte) (all []string) {
	t.Helper()
	r := assert.Got(pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)).Must(t)
	for {
		_, info, err := r.ReadPacketData()
		if err != nil {
			return all
		}
		is := assert.Got(r.Interface(info.InterfaceIndex)).Must(t)
		all = append(all, is.Name)
	}
}

// A port that comes later, or changes, is described before its first frame.
func TestInterfacesChange(t *testing.T) {
	var tap Tap
	a := Interface{Port: 1, Name: "a"}
	tap.Describe(a)
	c := attach(t, &tap, everything)
	s := NewStream(c, Options{Snap: 60, Interfaces: func(dst []Interface) []Interface { return append(dst, a) }})
	b := s.Begin(nil)
	put(tap.Recorder(), 1, 60, 0)
	b, _ = s.Append(b, 1<<20)
	tap.Describe(Interface{Port: 1, Name: "b"})
	tap.Describe(Interface{Port: 2, Name: "c"})
	put(tap.Recorder(), 2, 60, 0)
	put(tap.Recorder(), 1, 60, 0)
	tap.Describe(a)
	put(tap.Recorder(), 1, 60, 0)
	b, _ = s.Append(b, 1<<20)
	b = s.End(b, 0, 1)
	assert.Equal(t, strings.Join(names(t, b), " "), "a c b a", "frames, want a c b a")
	assert.Equal(t, bytes.Count(b, []byte("\x02\x00\x01\x00a")), 1, "how often a is described")
}

// Frames in the ring belong to the port that had the index when they came: not to the port that has it now, and also
// if no port has it now. They are left out if only the other port is wanted.
func TestNumbersAreGivenAgain(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	tap.Describe(Interface{Port: 1, Name: "old"})
	attach(t, &tap, everything)
	put(tap.Recorder(), 1, 60, 0)
	put(tap.Recorder(), 1, 60, 1)
	last := func(want string, o Options) {
		t.Helper()
		c := attach(t, &tap, everything)
		c.Rewind()
		o.Snap = 60
		s := NewStream(c, o)
		b, _ := s.Append(s.Begin(nil), 1<<20)
		assert.Equal(t, strings.Join(names(t, s.End(b, 0, 1)), " "), want, "frames")
	}
	last("old old", Options{Interfaces: func(dst []Interface) []Interface { return dst }})
	now := Interface{Port: 1, Name: "new"}
	tap.Describe(now)
	put(tap.Recorder(), 1, 60, 2)
	present := func(dst []Interface) []Interface { return append(dst, now) }
	last("old old new", Options{Interfaces: present})
	last("new", Options{Interfaces: present, Ports: []string{"new"}})
}

// Ports are described while their frames come, for the race detector. Each frame belongs to the port that had the
// index.
func TestDescribeConcurrently(t *testing.T) {
	var tap Tap
	tap.SetMemory(MinMemory)
	c := attach(t, &tap, everything)
	const times = 300
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range uint64(times) {
			tap.Describe(Interface{Port: 1, Name: "p", Speed: int64(i)})
			put(tap.Recorder(), 1, 60, i)
			put(tap.Recorder(), 1, 60, i)
		}
	})
	var read, missing uint64
	for read+missing < 2*times {
		c.Read(func(r *Record) bool {
			missing += c.Missing(1)
			if got := uint64(r.Interface.Speed); got != binary.BigEndian.Uint64(r.Data) {
				t.Errorf("frame %d is of port %d", binary.BigEndian.Uint64(r.Data), got)
			}
			read++
			return true
		})
	}
	writer.Wait()
}

// A file ends after a number of frames, and begins at a time.
func TestBounds(t *testing.T) {
	records := []Record{{Port: 4, Time: 1, Length: 9, Data: frameOf(9)},
		{Port: 4, Time: 2, Length: 9, Data: frameOf(9)}, {Port: 4, Time: 3, Length: 9, Data: frameOf(9)}}
	for _, test := range []struct {
		o    Options
		want uint64
	}{{Options{}, 3}, {Options{Frames: 2}, 2}, {Options{Since: 2}, 2}} {
		wantTally(t, file(t, test.o, records...), Tally{Frames: test.want})
	}
}

// The statistics at the end report frames that are missing behind the last frame, or all frames.
func TestMissingAtTheEnd(t *testing.T) {
	var tap Tap
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	s := NewStream(c, Options{Snap: 60, Interfaces: ports})
	r.Missed(4, 5)
	put(r, 4, 60, 0)
	b, _ := s.Append(s.Begin(nil), 1<<20)
	put(r, 4, 60, 1)
	put(r, 7, 60, 0)
	c.Abandon()
	b, more := s.Append(b, 1<<20)
	assert.True(t, !more, "there is more behind the end")
	wantTally(t, s.End(b, 0, 1), Tally{Frames: 1, Missing: 5 + 2})
}

// Frames lost before the requested time are not missing.
func TestNotMissingBefore(t *testing.T) {
	var tap Tap
	c := attach(t, &tap, everything)
	r := tap.Recorder()
	r.Missed(4, 5)
	put(r, 4, 60, 0) // number and time are the same
	r.Missed(4, 3)
	put(r, 4, 60, 1)
	s := NewStream(c, Options{Snap: 60, Interfaces: ports, Since: 1})
	b, _ := s.Append(s.Begin(nil), 1<<20)
	wantTally(t, s.End(b, 0, 1), Tally{Frames: 1, Missing: 3})
}

// A copy consists of whole blocks, also if the file ends too early.
func TestCopyWholeBlocks(t *testing.T) {
	b := file(t, Options{}, Record{Port: 4, Length: 61, Data: frameOf(61)},
		Record{Port: 7, Length: 100, Data: frameOf(100)})
	for n := range b {
		var out bytes.Buffer
		_, err := Copy(&out, bytes.NewReader(b[:n]))
		rest := out.Len()
		for at := 0; at < rest; {
			size := int(uint32(out.Bytes()[at+4]) | uint32(out.Bytes()[at+5])<<8)
			at += size
			assert.MustBeTrue(t, at <= rest, "%d of %d octets: a block is cut", n, len(b))
		}
		assert.MustBeTrue(t, rest == n || errors.Is(err, io.ErrUnexpectedEOF),
			"%d of %d octets: error %v", n, len(b), err)
	}
}

// Copy of any input ends, and writes no more than it read.
func FuzzCopy(f *testing.F) {
	f.Add(file(f, Options{}, Record{Port: 4, Length: 61, Data: frameOf(61), Note: []byte("x")}))
	f.Add([]byte{6, 0, 0, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0,
		0, 36, 0, 0, 0})
	buffer := bufio.NewReaderSize(nil, 64<<10) // else each call makes one
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		buffer.Reset(bytes.NewReader(b))
		_, _ = Copy(&out, buffer)
		assert.True(t, bytes.HasPrefix(b, out.Bytes()), "something else came out")
	})
}
