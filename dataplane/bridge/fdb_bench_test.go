package bridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

const benchStations = 100_000

// benchKeys returns keys of stations with consecutive addresses, as a virtualised rack has them, in random order.
func benchKeys(n int) []uint64 {
	keys := make([]uint64, n)
	for i, p := range rand.Perm(n) {
		keys[i] = fdbKey(0x0200_0000_0001+uint64(p), 1)
	}
	return keys
}

// benchFDB returns a database in which every key is a station on one of ports ports.
func benchFDB(keys []uint64, ports uint64) *fdb {
	f := &fdb{ageing: int64(DefaultAgeing)}
	f.init(DefaultMaxEntries)
	for _, k := range keys {
		f.learn(k, int(k>>12%ports), 0)
	}
	return f
}

// BenchmarkLookup looks up a random station, in the table and in its simplest rival, a Go map of indexes into a slice
// of entries. Each lookup waits for the one before, as the copy of one frame waits for its decision.
func BenchmarkLookup(b *testing.B) {
	keys := benchKeys(benchStations)
	f := benchFDB(keys, 2)
	b.Run("table", func(b *testing.B) { benchLookup(b, keys, f.lookup) })

	index := make(map[uint64]int32, DefaultMaxEntries)
	entries := make([]entry, 0, DefaultMaxEntries)
	for i, k := range keys {
		index[k] = int32(i)
		entries = append(entries, entry{key: k, port: uint16(k >> 12 % 2)})
	}
	b.Run("map", func(b *testing.B) {
		benchLookup(b, keys, func(key uint64, now int64) (int, bool) {
			i, found := index[key]
			if !found || f.dead(&entries[i], now) {
				return 0, false
			}
			return int(entries[i].port), true
		})
	})
}

func benchLookup(b *testing.B, keys []uint64, lookup func(key uint64, now int64) (int, bool)) {
	b.ReportAllocs()
	port := 0
	for i := 0; b.Loop(); i++ {
		var ok bool
		port, ok = lookup(keys[(i+port)%len(keys)], 1)
		assert.MustBeTrue(b, ok, "station not found")
	}
}

// BenchmarkChurn learns a new station in a full database, part of which is aged: the cost per frame of a sender of
// random addresses.
func BenchmarkChurn(b *testing.B) {
	f := &fdb{ageing: DefaultMaxEntries}
	f.init(DefaultMaxEntries)
	b.ReportAllocs()
	for now := int64(0); b.Loop(); now++ {
		f.learn(fdbKey(rand.Uint64N(frame.Broadcast), 1), 1, now)
	}
}

// BenchmarkForward is the whole decision among 100,000 stations on 8 ports: one source learned, one destination
// looked up or flooded.
func BenchmarkForward(b *testing.B) {
	const ports = 8
	br := assert.Got(New(Config{})).Must(b)
	for i := range ports {
		if _, err := br.SetPort(i, PortConfig{PVID: 1, Learning: true, Flood: true}); err != nil {
			b.Fatal(err)
		}
		br.SetUp(i, true)
	}
	keys := benchKeys(benchStations)
	for _, k := range keys {
		br.fdb.learn(k, int(k>>12%ports), 0)
	}
	station := func(i int) uint64 { return keys[i%len(keys)] >> 12 }
	run := func(name string, kind Kind, src, dst func(i int) uint64) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			seen := 0
			for i := 0; b.Loop(); i++ {
				s := src(i)
				if d := br.Forward(int(s%ports), dst(i), s, 1, 60, int64(i)); d.Kind == kind {
					seen++
				}
			}
			assert.MustBeTrue(b, seen != 0, "no frame came out as %v", kind)
		})
	}
	run("unicast/random", Unicast, station, func(i int) uint64 { return station(i + 1) })
	run("unicast/one-flow", Unicast, func(int) uint64 { return keys[0] >> 12 },
		func(int) uint64 { return keys[0]>>12 ^ 1 })
	run("flood", Flood, station, func(int) uint64 { return frame.Broadcast })
}

// BenchmarkSweep is the cost of ageing per slot, 100,000 of 262,144 in use.
func BenchmarkSweep(b *testing.B) {
	f := benchFDB(benchKeys(benchStations), 2)
	b.ReportAllocs()
	for b.Loop() {
		f.sweep(1, 1)
	}
}

// BenchmarkPick is the decision for a frame to a station behind a group, the number of its flow left out.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{2, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			br := newPlain(b, n+1, Config{})
			var group []int
			for i := range n {
				group = append(group, i+1)
			}
			assert.Must(b, br.AddStaticGroup(stationA, 1, group, 0))
			b.ReportAllocs()
			for flow := uint64(0); b.Loop(); flow++ {
				br.Pick(br.Forward(0, stationA, stationB, 1, 60, 0), 0, 1, flow)
			}
		})
	}
}
