package frame

import (
	"bytes"
	"testing"

	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// The segments of any GSO frame are well-formed, and their payloads together are the frame's payload.
func TestSegmenterProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape{
			tags:    rapid.SliceOfN(rapid.SampledFrom([]uint16{TypeVLAN, TypeServiceTag}), 0, 3).Draw(t, "tags"),
			tci:     TCI(rapid.Uint16().Draw(t, "tci")),
			ipv6:    rapid.Bool().Draw(t, "ipv6"),
			udp:     rapid.Bool().Draw(t, "udp"),
			options: rapid.Bool().Draw(t, "options"),
			payload: rapid.IntRange(0, 20000).Draw(t, "payload"),
			tcp: layers.TCP{
				Seq: rapid.Uint32().Draw(t, "seq"), ACK: true,
				FIN: rapid.Bool().Draw(t, "fin"), PSH: rapid.Bool().Draw(t, "psh"), CWR: rapid.Bool().Draw(t, "cwr"),
			},
		}
		gso := rapid.IntRange(max(1, (s.payload+MaxSegments-1)/MaxSegments), 9000).Draw(t, "gso")
		whole, v := s.gsoFrame(t, gso)
		if rapid.Bool().Draw(t, "complete") {
			whole, _, _ = s.build(t)
			v.Flags = 0
		}
		before := bytes.Clone(whole)
		segments := cut(t, whole, v)
		checkSegments(t, s, whole, segments, gso)
		checkSkip(t, whole, v, segments)
		equalOctets(t, "GSO frame", whole, before)
	})
}

// checkSkip skips some of the segments and compares the next one.
func checkSkip(t *rapid.T, whole []byte, v VnetHeader, segments [][]byte) {
	skipped := rapid.IntRange(-1, len(segments)+1).Draw(t, "skipped")
	var c Segmenter
	c.Reset(whole, v)
	c.Skip(skipped)
	next := max(0, skipped)
	if left := max(0, len(segments)-next); c.Left() != left {
		t.Fatalf("%d segments left behind %d of %d, want %d", c.Left(), skipped, len(segments), left)
	}
	dst := make([]byte, c.MaxOctets())
	if n := c.Next(dst); n == 0 != (next >= len(segments)) {
		t.Fatalf("%d octets behind %d of %d segments", n, skipped, len(segments))
	} else if n > 0 {
		equalOctets(t, "segment behind those skipped", dst[:n], segments[next])
	}
}

// dataPath returns the functions that the data path calls, each with a typical frame.
func dataPath(t rapid.TB) map[string]func() {
	tagged, v := shape{tags: []uint16{TypeVLAN}, payload: 6000}.gsoFrame(t, 1448)
	udp6, udp6v := shape{ipv6: true, udp: true, payload: 64240}.gsoFrame(t, 1448)
	unfinished, network, transport := shape{udp: true, payload: 1000}.build(t)
	partial := shape{udp: true, payload: 1000}.unfinish(unfinished, network, transport)
	sctp := VnetHeader{Flags: VnetNeedsCsum, CsumStart: 34, CsumOffset: sctpChecksumOffset}
	var c Segmenter
	dst, header := make([]byte, 2048), make([]byte, VnetHeaderOctets)
	segment := func(whole []byte, v VnetHeader) func() {
		return func() {
			for c.Reset(whole, v); c.Next(dst) > 0; {
			}
		}
	}
	return map[string]func(){
		"Parse":            func() { Parse(tagged) },
		"InsertTag":        func() { InsertTag(dst, 8, TypeVLAN, 1) },
		"DSCP":             func() { DSCP(tagged, 18, TypeIPv4) },
		"MarkCE":           func() { MarkCE(tagged, 18, TypeIPv4) },
		"Sum of 20":        func() { Sum(dst[:20], 0) },
		"Sum of 1500":      func() { Sum(dst[:1500], 0) },
		"CompleteChecksum": func() { CompleteChecksum(unfinished, partial) },
		"SCTP checksum":    func() { CompleteChecksum(unfinished, sctp) },
		"VnetHeader":       func() { v.Shift(4).Encode(header); DecodeVnetHeader(header) },
		"Segmenter, TCP":   segment(tagged, v),
		"Segmenter, UDP":   segment(udp6, udp6v),
	}
}

func TestDataPathAllocatesNothing(t *testing.T) {
	for name, f := range dataPath(t) {
		assert.Equal(t, testing.AllocsPerRun(50, f), 0, "%s: allocations", name)
	}
}

func BenchmarkDataPath(b *testing.B) {
	for name, f := range dataPath(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}
