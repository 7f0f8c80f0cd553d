package bench

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// Of fewer than 100 reactions there is no 99th percentile.
func TestReactionValues(t *testing.T) {
	middle, high, most := int64(1000), int64(2000), int64(3000)
	for n, want := range map[uint64][]value{
		99:  {{samples, 99}, {p50, 1}, {highest, 3}},
		100: {{samples, 100}, {p50, 1}, {p99, 2}, {highest, 3}},
	} {
		r := api.Reaction{Count: n, P50Ns: &middle, P99Ns: &high, MaxNs: &most}
		got, err := reactionValues(&r)
		assert.True(t, err == nil && slices.Equal(got, want), "%d: %v, %v", n, got, err)
	}
	_, err := reactionValues(&api.Reaction{})
	assert.True(t, err != nil, "no reaction, no error")
}

// Of fewer than 1000 probes there is no percentile of 99.9.
func TestProbeValues(t *testing.T) {
	good := traffic.ReceivedFlow{Lost: 2, Finished: true,
		Latency: traffic.Latencies{P50: 1000, P99: 20_000, P999: 300_000, Max: 400_000}}
	for n, want := range map[uint64][]value{
		999:  {{p50, 1}, {p99, 20}, {highest, 400}, {samples, 999}, {lost, 2}},
		1000: {{p50, 1}, {p99, 20}, {p999, 300}, {highest, 400}, {samples, 1000}, {lost, 2}},
	} {
		good.Received = n
		got, err := probeValues(&traffic.SinkReport{Flows: []traffic.ReceivedFlow{good}})
		assert.True(t, err == nil && slices.Equal(got, want), "%d: %v, %v", n, got, err)
	}
	for _, flows := range [][]traffic.ReceivedFlow{nil, {{Finished: true}}, {{Received: 5}}, {{}, {}}} {
		_, err := probeValues(&traffic.SinkReport{Flows: flows})
		assert.True(t, err != nil, "%+v has values", flows)
	}
}

// The octets of IEEE 802.1Q figure 36-1: opcode 0101, enable vector with bit 3, eight times.
func TestPFCFrame(t *testing.T) {
	const want = "0180c200000102000000000288080101000800000000000012340000000000000000"
	b := pfcFrame(3, 0x1234)
	got := hex.EncodeToString(b[:34])
	assert.True(t, got == want && len(b) == 60, "%d octets %s, want 60 with %s", len(b), got, want)
}

func TestPauseTime(t *testing.T) {
	// 512 bit times at 100 Mbit/s are 5.12 µs.
	for q, want := range map[uint16]int64{0: 0, 1: 5120, 1000: 5_120_000, 0xffff: 335_539_200} {
		assert.Equal(t, pauseTime(q), want, "%d quanta: ns", q)
	}
}

func TestSilence(t *testing.T) {
	var w silence
	w.begin(1000, 1600)
	for _, at := range []int64{1010, 1020, 1500, 1510} {
		w.frame(at-1, at)
	}
	assert.True(t, w.last == 1020 && w.to == 1500 && !w.ended(),
		"from %d to %d, want 1020 to 1500, before the end", w.last, w.to)
	if w.frame(1899, 1900); !w.ended() || w.to != 1500 {
		t.Errorf("from %d to %d, want 1020 to 1500, and the last frame came after the end", w.last, w.to)
	}
	w.begin(0, 300)
	w.frame(399, 400) // none before: the silence began with the question
	assert.True(t, w.last == 0 && w.to == 400, "from %d to %d, want 0 to 400", w.last, w.to)
}

// A reader that slept did not see when a frame came: what it reads late hides no silence, and is none itself.
func TestSilenceSeenLate(t *testing.T) {
	var w silence
	for name, c := range map[string]struct {
		frames   [][2]int64 // earliest and read
		last, to int64
	}{
		"came before the pause, at 10 to 300":             {[][2]int64{{10, 300}, {515, 516}}, 300, 516},
		"came at 300: the pause did not hold":             {[][2]int64{{299, 300}, {515, 516}}, 0, 300},
		"came at 100 to 490, after a look that was empty": {[][2]int64{{10, 11}, {100, 490}, {515, 516}}, 490, 516},
		"many waited while the reader slept": {[][2]int64{{100, 400}, {100, 401}, {100, 402}, {515, 516}},
			402, 516},
		"the reader slept over the end":            {[][2]int64{{10, 11}, {100, 600}}, 11, 600},
		"in the first half: as one that came late": {[][2]int64{{10, 11}, {199, 200}, {515, 516}}, 200, 516},
		"in the second half":                       {[][2]int64{{10, 11}, {399, 400}, {515, 516}}, 11, 400},
	} {
		w.begin(0, 500)
		for _, f := range c.frames {
			w.frame(f[0], f[1])
		}
		assert.True(t, w.last == c.last && w.to == c.to && w.ended(),
			"%s: from %d to %d, want %d to %d", name, w.last, w.to, c.last, c.to)
	}
}

func TestStationFrames(t *testing.T) {
	seen := map[[6]byte]bool{}
	for i := range stations {
		m := [6]byte(stationMAC(i))
		assert.MustBeTrue(t, !seen[m] && m[0]&1 == 0, "station %d: %x is a group's or another's", i, m)
		seen[m] = true
	}
	const want = "020000000001" + "021000000102" + "8100" + "000a" + "88b5"
	got := hex.EncodeToString(stationFrame(hostMAC(1), stationMAC(0x102)))
	assert.True(t, got[:36] == want && len(got) == 120, "%s, want %s…", got, want)
}

// A load that is not half of what is delivered is named, with its switch and how often.
func TestNotHalf(t *testing.T) {
	b := &bench{}
	for round, share := range []float64{0.5, 0.31, 0.6} {
		b.record("latency", probeConditions("half", 60), dutPFC, round, value{p50, 10}, value{ofDelivered, share})
		b.record("latency", probeConditions("half", 60), dutBridge, round, value{ofDelivered, 0.5})
		b.record("loss-free", "octets=60", dutOVS, round, value{ofDelivered, share})
	}
	all := offHalfLoad(b.results)
	assert.True(t, len(all) == 1 && strings.Contains(all[0], "latency of pfcswitch") &&
		strings.Contains(all[0], "with 0.31 to 0.6 of its delivered rate in 2 of 3 rounds"), "%q", all)
}
