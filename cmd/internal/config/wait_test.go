package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// What may wait for p1. The shared segment is 62,464 bytes, of which with alpha 1 the queues of one port take a half,
// those of two ports three quarters, those of three seven eighths. Each queue has 4,096 bytes beside that, and headroom
// for four full frames of 1,542 octets on the wire. The lossy pool is 62,720 bytes, a half for each egress queue.
func TestWaits(t *testing.T) {
	const own, lossy = 4096 + 4*1542, 31_360
	text := func(more string, queues int, ports string) string {
		return fmt.Sprintf("preset: roce\nbuffer: {private: 4KiB, headroom: 6KiB, lossless: {size: %dB}, "+
			"lossy: {size: 62720B}%s}\nheadroom: {small_packets: 0%%}\nports: {%s}", queues*(4096+6144)+62_464, more,
			ports)
	}
	const p123 = "p1: {speed: 100M}, p2: {speed: 100M}, p3: {speed: 100M}, "
	const p1234 = p123 + "p4: {speed: 100M}"
	for _, tt := range []struct {
		name, text string
		priority   int
		lossless   bool
		bytes      int64
	}{
		{"one sender", text("", 2, "p1: {speed: 100M}, p2: {speed: 100M}"), 3, true, own + 31_232},
		{"three senders", text("", 4, p1234), 3, true, 3*own + 54_656},
		{"one with more alpha", text("", 4, p123+"p4: {speed: 100M, priorities: {3: {alpha: 3}}}"), 3, true,
			3*own + 58_560},
		{"lossy", text("", 4, p1234), 0, false, lossy},
		{"a lossy port among them", text("", 3, p123+"p4: {speed: 100M, flow_control: off}"), 3, true,
			2*own + 46_848 + lossy},
		{"static", text(", policy: static, xoff: 10KiB", 4, p1234), 3, true, 3 * (own + 10_240)},
		{"static, more than there is", text(", policy: static, xoff: 30KiB", 4, p1234), 3, true, 3*own + 62_464},
		{"PAUSE", text("", 2, "p1: {speed: 100M, flow_control: pause}, p2: {speed: 100M, flow_control: pause}"), 6,
			true, own + 31_232},
		{"not what comes by the wire of a TAP", strings.Replace(text("", 2, "p1: {speed: 100M}, p2: {speed: 100M, "+
			"flow_control: off}, p3: {speed: 100M}, host0: {kind: tap, wire: p3, flow_control: off}"), "62720B",
			"140800B", 1), 3, false, 70_400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := mustParse(t, tt.text).Waits()[tt.priority]
			assert.Equal(t, *w.Speed, 100_000_000, "speed")
			w.Speed = nil
			want := Wait{Port: "p1", Priority: tt.priority, Lossless: tt.lossless, Bytes: tt.bytes,
				Time: time.Duration(tt.bytes * 80)}
			assert.Equal(t, w, want, "wait")
		})
	}
}

// A port alone, a TAP, and a port that only its TAP sends to.
func TestWaitsOfWhom(t *testing.T) {
	of := func(text string) (ports string) {
		for _, w := range mustParse(t, text).Waits() {
			if w.Priority == 0 {
				ports += fmt.Sprintf("%s %v ", w.Port, w.Lossless)
			}
		}
		return ports
	}
	for text, want := range map[string]string{
		"ports: {p1: }": "",
		"ports: {p1: , p2: , host0: {kind: tap}}":       "p1 true p2 true ",
		"ports: {p1: , p2: , h: {kind: tap, wire: p1}}": "p1 true ",
	} {
		assert.Equal(t, of(text), want, "%s", text)
	}
}

// A port without a speed counts as one of 10G.
func TestWaitWithoutSpeed(t *testing.T) {
	w := mustParse(t, "buffer: {lossy: {size: 5000000B}}\nports: {p1: {speed: none}, p2: {speed: none}}").Waits()[0]
	assert.Equal(t, w, Wait{Port: "p1", Bytes: 2_500_000, Time: 2 * time.Millisecond}, "wait")
}

// Two ports have three quarters of the shared segment, and 4,096 bytes each beside that: of the 76,288 shared bytes at
// 122M less than kmin of preset roce, of 77,056 at 123M more. With what the warning says to write, there is none.
func TestECNThatNeverMarks(t *testing.T) {
	marks := func(speed, more string) (all []Warning) {
		text := "# a comment\npreset: roce\nports: {p1: {speed: %[1]s}, p2: {speed: %[1]s}, p3: {speed: %[1]s}, " +
			"p4: {speed: %[1]s}}\n%[2]s"
		return mustParse(t, fmt.Sprintf(text, speed, more)).warnMarks()
	}
	assert.Equal(t, len(marks("123M", "")), 0, "at 123M")
	all := marks("122M", "")
	if len(all) != 1 || all[0].Line != 2 || !strings.Contains(all[0].Text, " p2 and p3 may have at most 65408 bytes") {
		t.Fatalf("at 122M: %v", all)
	}
	_, write, _ := strings.Cut(all[0].Text, ": write ")
	write, _, _ = strings.Cut(write, ", or")
	assert.Equal(t, len(marks("122M", write)), 0, "with %s", write)
	// The two that may use most count, wherever they stand, and a single sender does not.
	static := strings.NewReplacer("p1: {", "p1: {priorities: {3: {xoff: 10KiB}}, ", "p2: {",
		"p2: {priorities: {3: {xoff: 10KiB}}, ", "p3: {", "p3: {priorities: {3: {xoff: 1MiB}}, ", "p4: {",
		"p4: {priorities: {3: {xoff: 1MiB}}, ").Replace("preset: roce\nports: {p1: {speed: 1G}, p2: {speed: 1G}, " +
		"p3: {speed: 1G}, p4: {speed: 1G}}\nbuffer: {policy: static, lossless: {size: 8MiB}}\n" +
		"ecn: {3: {kmin: 100KiB, kmax: 200KiB}}\n")
	assert.Equal(t, len(mustParse(t, static).warnMarks()), 0, "with two ports that may use 1 MiB")
	assert.Equal(t, len(mustParse(t, "preset: roce\nports: {p1: {speed: 10M}, p2: {speed: 10M}}\n").warnMarks()), 0,
		"with one sender")
}
