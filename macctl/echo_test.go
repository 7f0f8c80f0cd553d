package macctl

import (
	"bytes"
	"pfcswitch/dataplane/assert"
	"testing"

	"pgregory.net/rapid"
)

var (
	asker    = [6]byte{2, 0, 0, 0, 0, 1}
	answerer = [6]byte{2, 0, 0, 0, 0, 2}
)

// An echo frame of every path, length and tag is read as it was written.
func TestEchoRoundTrip(t *testing.T) {
	f := DefaultMeasurementFormat
	rapid.Check(t, func(t *rapid.T) {
		e := Echo{Answer: rapid.Bool().Draw(t, "answer"), Session: rapid.Uint16().Draw(t, "session"),
			Sequence: rapid.Uint32().Draw(t, "sequence"),
			Received: rapid.Int64().Draw(t, "received"), Sent: rapid.Int64().Draw(t, "sent"),
			Octets: rapid.IntRange(0, 65535).Draw(t, "octets"),
			Path:   EchoPath(rapid.IntRange(0, int(NumPaths)-1).Draw(t, "way")),
			Tagged: rapid.Bool().Draw(t, "tag wanted"), TCI: rapid.Uint16().Draw(t, "TCI"),
			Checksum: Checksum(rapid.IntRange(0, 3).Draw(t, "checksum"))}
		way := EchoPath(rapid.IntRange(0, int(NumPaths)-1).Draw(t, "sent by"))
		tagged, tag := rapid.Bool().Draw(t, "tagged"), rapid.Uint16().Draw(t, "tag")
		octets := rapid.IntRange(0, 2000).Draw(t, "length")
		b := f.AppendEcho([]byte{1}, answerer, asker, way, octets, tagged, tag, e)[1:]
		assert.MustBeTrue(t, f.RecognizesEcho(b) && (!f.Recognizes(b) || way == PathControl || !tagged),
			"not recognized: % x", b)
		got, reason := f.ParseEcho(b, answerer)
		want := EchoFrame{Echo: e, Source: asker, ReceivedPath: way, Length: len(b),
			HasTag:     tagged && way != PathControl,
			ChecksumOK: e.Answer || e.Checksum == ChecksumNone}
		if want.HasTag {
			want.Tag = tag
		}
		assert.MustBeTrue(t, reason == ReasonNone && got == want && len(b) >= octets,
			"%v %+v\nwant %+v", reason, got, want)
		b[len(b)-1] ^= 1
		got, _ = f.ParseEcho(b, answerer)
		assert.MustBeTrue(t, !got.ChecksumOK, "a flipped bit leaves the checksum right")
	})
}

func TestParseEchoRefuses(t *testing.T) {
	f := DefaultMeasurementFormat
	good := f.AppendEcho(nil, answerer, asker, PathFallback, 60, false, 0, Echo{})
	change := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	for _, test := range []struct {
		name string
		b    []byte
		want Reason
	}{
		{"as it should be", good, ReasonNone},
		{"cut short", good[:59], ReasonTruncated},
		{"for another station", change(0, 2), ReasonDestination},
		{"from everybody", f.AppendEcho(nil, answerer, [6]byte{255, 255, 255, 255, 255, 255}, PathFallback, 60, false,
			0, Echo{}), ReasonDestination},
		{"from where bridges flood to", f.AppendEcho(nil, answerer, EchoAddress, PathControl, 60, false, 0, Echo{}),
			ReasonDestination},
		{"from nobody", f.AppendEcho(nil, answerer, [6]byte{}, PathBridged, 60, false, 0, Echo{}), ReasonDestination},
		{"another version", change(flagsOffset, 2<<4), ReasonOpcode},
		{"an unknown way", change(echoPath, byte(NumPaths)), ReasonOpcode},
		{"MAC Control for another", f.AppendEcho(nil, answerer, asker, PathControl, 60, false, 0, Echo{})[:60],
			ReasonNone},
	} {
		_, got := f.ParseEcho(test.b, answerer)
		assert.True(t, got == test.want, "%s: %v, want %v", test.name, got, test.want)
	}
	for _, b := range [][]byte{nil, good[:20], change(operationOffset+1, 1), change(identifierOffset, 9),
		change(opcodeOffset, 0), change(typeOffset, 8)} {
		assert.True(t, !f.RecognizesEcho(b), "recognized: % x", b)
	}
}

// An answer has the path and the tag of its request and is never longer. It says how the request came.
func TestEchoerAnswers(t *testing.T) {
	f := DefaultMeasurementFormat
	for _, test := range []struct {
		way, back  EchoPath
		octets     int
		ask        int
		tagged     bool
		checksum   Checksum
		unfinished bool
		length     int
		sum        Checksum
	}{
		{PathControl, PathFallback, 60, 60, false, ChecksumNone, false, 60, ChecksumNone},
		{PathFallback, PathControl, 60, 9000, false, ChecksumNone, false, 60, ChecksumNone},
		{PathFallback, PathFallback, 9000, 9000, true, ChecksumRight, true, 9000, ChecksumUnfinished},
		{PathFallback, PathFallback, 9000, 100, false, ChecksumRight, false, 100, ChecksumWrong},
		{PathBridged, PathBridged, 60, 60, false, ChecksumNone, false, 60, ChecksumNone},
	} {
		b := f.AppendEcho(nil, [6]byte{}, asker, test.way, test.octets, test.tagged, 0x600a,
			Echo{Session: 7, Sequence: 9, Octets: test.ask, Path: test.back, Tagged: test.tagged, TCI: 0x600a,
				Checksum: test.checksum})
		q, reason := f.ParseEcho(b, answerer)
		var e EchoResponder
		e.HandleRequest(&q, test.unfinished, 100, 110)
		assert.MustBeTrue(t, reason == ReasonNone && e.Pending(), "%+v: %v, nothing pending", test, reason)
		b, ok := e.Append(nil, &f, answerer, 150)
		a, reason := f.ParseEcho(b, asker)
		assert.True(t, ok && reason == ReasonNone && a.Answer && a.ReceivedPath == test.back &&
			a.Length == test.length && a.Path == test.way && a.Octets == test.octets && a.Tagged == test.tagged &&
			a.HasTag == test.tagged && a.Received == 100 && a.Sent == 150 && a.Session == 7 && a.Sequence == 9 &&
			a.Checksum == test.sum && a.ChecksumOK, "%+v: %v %+v", test, reason, a)
		assert.True(t, test.back != PathBridged || [6]byte(b) == asker, "a bridged answer goes to % x", b[:6])
		e.HandleRequest(&a, false, 200, 200)
		assert.True(t, !e.Pending(), "an answer is answered")
	}
}

// Fewer octets go out than came in, and no more than the rate.
func TestEchoerIsBounded(t *testing.T) {
	f := DefaultMeasurementFormat
	rapid.Check(t, func(t *rapid.T) {
		var e EchoResponder
		var now, in, out int64
		for range 400 {
			now += rapid.SampledFrom([]int64{0, 1000, 1_000_000}).Draw(t, "ns")
			octets := rapid.SampledFrom([]int{60, 1514, 9014}).Draw(t, "octets")
			q, _ := f.ParseEcho(f.AppendEcho(nil, [6]byte{}, asker, PathFallback, octets, false, 0,
				Echo{Octets: 65535}), answerer)
			e.HandleRequest(&q, false, now, now)
			in += int64(octets)
			if rapid.Bool().Draw(t, "send") {
				b, _ := e.Append(nil, &f, answerer, now)
				out += int64(len(b))
			}
		}
		if limit := echoDepth + now*echoRate/second; out > in || out > limit+int64(len("rounding")) {
			t.Fatalf("%d octets in, %d out in %d ns; the limit is %d", in, out, now, limit)
		}
	})
}

// However fast requests follow each other, answers go out at the rate.
func TestEchoerUnderAFlood(t *testing.T) {
	f := DefaultMeasurementFormat
	q, _ := f.ParseEcho(f.AppendEcho(nil, [6]byte{}, asker, PathFallback, 60, false, 0, Echo{Octets: 60}), answerer)
	var e EchoResponder
	var b []byte
	for now := int64(0); now < second; now += 900 {
		e.HandleRequest(&q, false, now, now)
		b, _ = e.Append(b[:0], &f, answerer, now)
	}
	got, want := e.Answered*60, uint64(echoDepth+echoRate)
	assert.True(t, got <= want && got >= want-1000, "%d octets in a second, want %d", got, want)
}

// An echo frame is the same after it was written and read again, or it is refused. Its answer is no longer.
func FuzzEcho(f *testing.F) {
	format := DefaultMeasurementFormat
	f.Add(format.AppendEcho(nil, answerer, asker, PathFallback, 64, true, 0x600a, Echo{Octets: 900}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if !format.RecognizesEcho(b) {
			return
		}
		q, reason := format.ParseEcho(b, answerer)
		if reason != ReasonNone {
			return
		}
		want := q
		if want.ReceivedPath == PathControl { // which has no tag
			want.HasTag, want.Tag = false, 0
		}
		again, reason := format.ParseEcho(format.AppendEcho(nil, answerer, q.Source, q.ReceivedPath, q.Length, q.HasTag,
			q.Tag, q.Echo), answerer)
		want.ChecksumOK = again.ChecksumOK // it covers octets that are not read
		assert.True(t, reason == ReasonNone && again == want,
			"%x read again\n got %+v, %v\nwant %+v", b, again, reason, want)
		var e EchoResponder
		e.HandleRequest(&q, false, 1, 1)
		if a, ok := e.Append(nil, &format, answerer, 2); ok && len(a) > max(len(b), FrameSize+tagOctets) {
			t.Errorf("%d octets are answered with %d", len(b), len(a))
		}
	})
}
