package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
)

const gbit int64 = 1_000_000_000

func TestResolvedQueues(t *testing.T) {
	c := mustParse(t, `
priorities: {lossless: [3, 4]}
buffer: {private: 5000B}
ports:
  p1: {speed: 1G, priorities: {4: {alpha: 2, headroom: 1000B, private: 0, xon: 9000B, xon_offset: 7KiB}}}
  p2: {speed: 10G, cable: 100m, k: 800, burst: 3084B, flow_control: pause, priorities: {all: {alpha: 0.5}}}
  p3: {flow_control: off}
`)
	const (
		frames1G  = 2*1542 + 84 + 128 // PFC delay value of a link without length
		frames10G = 2*1542 + 84 + 3840 + 2*625
	)
	smallest := func(n int64) int64 { return (n + 83) / 84 * 256 } // frames of 84 octets on the wire, a cell each
	tests := []struct {
		port, priority int
		want           ResolvedQueue
	}{
		{0, 3, ResolvedQueue{Lossless: true, Private: 5120, Headroom: smallest(frames1G + 6250 + 62_500), Xon: 192,
			XonOffset: 4096, Alpha: 1}},
		{0, 4, ResolvedQueue{Lossless: true, Private: 0, Headroom: 1024, Xon: 9000, XonOffset: 7168, Alpha: 2}},
		{0, 0, ResolvedQueue{}},
		{1, 0, ResolvedQueue{Lossless: true, Private: 5120, Headroom: smallest(frames10G + 62_500 + 3084 + 100),
			Xon: (512+30_720)/8 + 2*625, XonOffset: 4096, Alpha: 0.5}},
		{1, 3, ResolvedQueue{}},
		{2, 3, ResolvedQueue{}},
	}
	for _, tt := range tests {
		if got := c.Ports[tt.port].Queues[tt.priority]; got != tt.want {
			t.Errorf("port %s, queue %d\n got %+v\nwant %+v", c.Ports[tt.port].Name, tt.priority, got, tt.want)
		}
	}
}

func TestHeadroomModes(t *testing.T) {
	const (
		calculated = 858 * 256  // 72,046 octets at 1G and MTU 1500, as frames of 84 octets
		full       = 47 * 1536  // the same as frames of 1538 octets
		long       = 2346 * 256 // 197,038 octets with 100 km of cable
	)
	tests := []struct {
		buffer, own, port, more string
		want                    int64
	}{
		{"auto", "", "", "", calculated},
		{"calculated", "", "", "", calculated},
		{"64KiB", "", "", "", 64 << 10},
		{"64KiB", "auto", "", "", calculated},
		{"auto", "32KiB", "", "", 32 << 10},
		{"auto", "0", "", "", 0},
		{"auto", "", "cable: 100km, ", "", long},
		{"auto", "", "", "headroom: {small_packets: 0%}", full},
		{"auto", "", "", "headroom: {small_packets: 50%}", 429*256 + 24*1536},
		{"64KiB", "", "", "headroom: {small_packets: 0}", 64 << 10},
	}
	for _, tt := range tests {
		t.Run(strings.Join([]string{tt.buffer, tt.own, tt.port, tt.more}, " "), func(t *testing.T) {
			own := ""
			if tt.own != "" {
				own = "priorities: {3: {headroom: " + tt.own + "}}"
			}
			c := mustParse(t, "preset: roce\n"+tt.more+"\nbuffer: {headroom: "+tt.buffer+"}\nports: {p1: {"+tt.port+
				own+"}}")
			assert.Equal(t, c.Ports[0].Queues[3].Headroom, tt.want, "headroom")
		})
	}
}

// A port without a speed has no shaper, and its largest frame is a GSO frame.
func TestPortWithoutSpeed(t *testing.T) {
	c := mustParse(t, "preset: roce\nports: {p1: {speed: none, burst: 1MiB}}")
	p := &c.Ports[0]
	assert.Equal(t, p.MaxFrame(), headroom.GSOFrame, "largest frame")
	const wire = 65_550 + 24
	want := int64(2*wire + 84 + 3840 + wire) // the send call is one frame, the burst of no shaper is 0
	assert.Equal(t, p.CalculatedHeadroom().Bytes(), want, "calculated headroom")
}

// The lossless ring of a slow link takes 512 frames too where the speed is the link's. What is written stays.
func TestResolveTakesTheLinksSpeedForTheRing(t *testing.T) {
	c := mustParse(t, "preset: roce\nports: {p1: {}, p2: {ring: {outage: 60ms}}, p3: {}}")
	resolved := assert.Got(c.Resolve(map[string]int64{"p1": 10e6, "p2": 10e6, "p3": gbit})).Must(t)
	for i, want := range []time.Duration{630 * time.Millisecond, 60 * time.Millisecond, 60 * time.Millisecond} {
		if p := resolved.Ports[i]; p.Ring.Outage != want {
			t.Errorf("%s at %d bit/s: outage %v, want %v", p.Name, p.Speed, p.Ring.Outage, want)
		}
	}
}

func TestResolveTakesTheLinksSpeed(t *testing.T) {
	c := mustParse(t, "preset: roce\nports: {p1: {}, p2: {speed: 100M}, p3: {burst: 5000B}}")
	resolved := assert.Got(c.Resolve(map[string]int64{"p1": 10 * gbit, "p2": 10 * gbit, "p3": -1})).Must(t)
	for i, want := range []struct{ speed, burst int64 }{{10 * gbit, 625_000}, {gbit / 10, 6250}, {gbit, 5000}} {
		p := resolved.Ports[i]
		assert.True(t, p.Speed == want.speed && p.Burst == want.burst, "%s\n got speed %d, burst %d\nwant %d, %d",
			p.Name, p.Speed, p.Burst, want.speed, want.burst)
	}
	before, after := c.Ports[0].Queues[3].Headroom, resolved.Ports[0].Queues[3].Headroom
	assert.True(t, after > before, "headroom of p1\n got %d\nwant more than the %d of 1G", after, before)
	assert.Equal(t, c.Ports[0].Speed, gbit, "Resolve changed its receiver: speed")
	again := assert.Got(resolved.Resolve(nil)).Must(t)
	assert.Equal(t, string(Expand(again)), string(Expand(c)), "resolving back to 1G")
}

// A pool that was large enough at 1G may be too small for the link that then appears.
func TestResolveRefusesAFasterLink(t *testing.T) {
	c := mustParse(t, "preset: roce\nbuffer:\n  lossless: {size: 512KiB}\nports: {p1: {}}")
	_, err := c.Resolve(map[string]int64{"p1": 10 * gbit})
	var fault *Error
	assert.MustBeTrue(t, errors.As(err, &fault), "want an *Error, got %v", err)
	assert.True(t, fault.Key == "buffer.lossless.size" && fault.Line == 3,
		"fault\n got %v\nwant one of buffer.lossless.size in line 3", fault)
}

// An automatic pool shares what the fastest port sends in 5 ms, beside what is reserved: 4096 bytes private, and 8192
// of headroom. A frame of 1518 octets takes 1536 bytes, a GSO frame 65792. With preset roce seven queues are lossy.
func TestAutomaticPool(t *testing.T) {
	const roce, queue = "preset: roce\nbuffer: {headroom: 8KiB}\n", 4096 + 8192
	const calculated, room = 94 * 256, 481 * 256 // headrooms: 7,896 octets at 1M, and that of a TAP

	const at100M, at1G, at10G, at100G = 62720, 625152, 6250240, 62500096 // in whole cells
	tests := []struct {
		name, text      string
		lossless, lossy int64
	}{
		{"no port", "ports: {}", at10G, at10G},
		{"no lossless queue", "ports: {p1: }", at1G, at1G},
		{"one queue", roce + "ports: {p1: {speed: 100M}}", queue + at100M, at100M},
		{"the fastest of three", roce + "ports: {p1: {speed: 100M}, p2: {speed: 10G}, p3: {speed: 1G}}",
			3*queue + at10G, at10G},
		{"100G", roce + "ports: {p1: {speed: 100G}, p2: {speed: 10G}}", 2*queue + at100G, at100G},
		{"no speed", roce + "ports: {p1: {speed: none}, p2: {speed: 100M}}", 2*queue + at10G, at10G},
		{"slow", roce + "ports: {p1: {speed: 1M}, p2: {speed: 1M}, p3: {speed: 1M}}", 3*queue + 3*2*1536,
			3 * 7 * 2 * 1536},
		{"slow and measured", strings.Replace(roce, "8KiB", "auto", 1) + "ports: {p1: {speed: 1M, priorities: {3: " +
			"{headroom: 8KiB}}}, p2: {speed: 1M}, p3: {speed: 1M, flow_control: off}}",
			2*4096 + 8192 + calculated + 2*2*1536, (7 + 7 + 8) * 2 * 1536},
		{"TAP", "buffer: {headroom: 8KiB}\nports: {p1: {speed: 10M}, host0: {kind: tap, wire: p1}}",
			8*(4096+room) + 8*2*65792, 8*2*1536 + 2*65792},
		{"trunk", roce + "ports: {u: {speed: 100M}, m: {speed: 100M}}\ntrunks: {t: {uplink: u, members: [m], " +
			"watermarks: {priority: {3: {high: 256KiB, low: 1KiB}}}}}", 2*queue + 512<<10, at100M},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := mustParse(t, tt.text).Buffer
			assert.True(t, b.Lossless.Size == tt.lossless && b.Lossy.Size == tt.lossy,
				"sizes\n got %d, %d\nwant %d, %d", b.Lossless.Size, b.Lossy.Size, tt.lossless, tt.lossy)
		})
	}
}

// Measured headrooms grow into a pool whose size is written, and an automatic one grows with them: by headroom.share,
// half, of what the fastest port sends in 20 ms, 8 MiB at most, or 5 ms, and at any speed by two frames for each queue.
func TestMeasuredHeadroomsGrow(t *testing.T) {
	const at100M, at1G, most, at100G = 250_000 / 2, 2_500_000 / 2, 8 << 20 / 2, 62_500_000 / 2
	for _, tt := range []struct {
		keys, port string
		queues     int64
		want       int64
	}{
		{"", "speed: 1M", 4, 4 * 2 * 1536},
		{"priorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}", "speed: 10M", 32, 32 * 2 * 1536},
		{"", "speed: 100M", 4, at100M},
		{"", "speed: 1G", 4, at1G},
		{"", "speed: 10G", 4, most},
		{"", "speed: none", 4, most},
		{"", "speed: 100G", 4, at100G},
		{"headroom: {share: 10%}", "speed: 1G", 4, at1G / 5},
		{"headroom: {min: 1MiB, small_packets: 0%}", "speed: 100M", 4, 4 * (1<<20 - 58*256)},
		{"buffer: {headroom: calculated}", "speed: 1G", 4, 0},
		{"buffer: {lossless: {size: 8MiB}}", "speed: 1G", 4, 0},
	} {
		c := mustParse(t, fmt.Sprintf("preset: roce\n%s\nports: {p1: {%[2]s}, p2: {%[2]s}, p3: {%[2]s}, p4: {%[2]s}}",
			tt.keys, tt.port))
		if got := c.HeadroomGrowth(); got > tt.want || got < tt.want-tt.queues*c.Buffer.Cell {
			t.Errorf("%s, %s: the pool grows by %d B, want %d, a part for each queue in whole cells", tt.keys, tt.port,
				got, tt.want)
		}
	}
	c := mustParse(t, "preset: roce\nbuffer: {lossless: {size: 8MiB}}\nports: {p1: {speed: 1G}, p2: {speed: 1G}}")
	p := &c.Ports[0]
	if got, want := c.MostHeadroom(p)-p.Queues[3].Headroom, c.Shared()/4; got > want || got < want-c.Buffer.Cell {
		t.Errorf("of a written pool, a headroom grows by %d B, want %d, a quarter of what is shared", got, want)
	}
}

// A trunk's watermark has the same room above it whatever is measured, since an automatic pool follows.
func TestTrunkRoomInAutomaticPool(t *testing.T) {
	c := mustParse(t, "priorities: {lossless: [3]}\nports: {m1: {speed: 100M}, m2: {speed: 100M}, u: {speed: 100M}}\n"+
		"trunks: {t: {uplink: u, members: [m1, m2], watermarks: {priority: {3: {high: 100KiB, low: 60KiB}}}}}\n")
	assert.MustNoError(t, c.TrunkRoom(map[string]int64{"m1": 1 << 20, "u": 1 << 20}), "TrunkRoom")
}

// The smallest pool that is accepted shares two largest frames per lossless queue.
func TestSmallestPool(t *testing.T) {
	text := func(size string) string {
		return "preset: roce\nbuffer: {cell: 80B, private: 1040B, headroom: 2000B, lossless: {size: " + size +
			"}}\nports: {p1: , p2: }"
	}
	c := mustParse(t, text("12160B")) // 2·(1040 + 2000 + 2·1520)
	assert.Equal(t, c.Shared(), int64(2*2*1520), "shared")
	_, _, err := Parse("test.yaml", []byte(text("12159B")))
	assert.True(t, err != nil, "a pool that is one byte smaller is accepted")
}

// A headroom that was measured needs its room above the watermarks of a trunk, as a calculated one does: that of the
// ports which a watermark holds, and that of all others, which the pool keeps for them.
func TestTrunkRoom(t *testing.T) {
	const pfc = `
headroom: {small_packets: 0%}
priorities: {lossless: [3]}
buffer: {lossless: {size: 1MiB}, cell: 256}
ports: {m1: {speed: 100M}, m2: {speed: 100M, priorities: {3: {headroom: M2}}}, u: {speed: 100M}, other: {speed: 100M}}
trunks: {t: {uplink: u, members: [m1, m2],
  watermarks: {priority: {3: {high: 870KiB, low: 1KiB}}, uplink_priority: {3: {high: 700KiB, low: 1KiB}}}}}
`
	const pause = `
headroom: {small_packets: 0%}
buffer: {lossless: {size: 1MiB}, cell: 256}
ports: {m1: {speed: 100M, flow_control: pause}, m2: {speed: 100M, flow_control: pause},
  u: {speed: 100M, flow_control: pause}}
trunks: {t: {uplink: u, members: [m1, m2], flow_control: pause,
  watermarks: {member: {high: 870KiB, low: 1KiB}, uplink: {high: 800KiB, low: 1KiB}}}}
`
	auto, byHand := strings.ReplaceAll(pfc, "M2", "auto"), strings.ReplaceAll(pfc, "M2", "60KiB")
	for _, tt := range []struct {
		name, yaml string
		found      map[string]int64
		want       []string // what the error says, in order; none: there is room
	}{
		{"nothing found", auto, nil, nil},
		{"members just fit", auto, map[string]int64{"m1": 61 << 10, "m2": 61 << 10}, nil},
		{"members one cell above", auto, map[string]int64{"m1": 61 << 10, "m2": 61<<10 + 256},
			[]string{"t.watermarks.priority.3.high: 870KiB leaves too little"}},
		{"one member found, the other calculated", auto, map[string]int64{"m1": 120 << 10},
			[]string{"t.watermarks.priority.3.high"}},
		{"the uplink just fits beside members", auto, map[string]int64{"u": 110 << 10}, nil},
		{"the uplink takes the room of members", auto, map[string]int64{"u": 111 << 10},
			[]string{"t.watermarks.priority.3.high"}},
		{"the uplink has room", auto, map[string]int64{"m1": 200 << 10, "u": 88 << 10},
			[]string{"t.watermarks.priority.3.high"}},
		{"both ways", auto, map[string]int64{"m1": 200 << 10, "u": 89 << 10}, []string{"t.watermarks.priority.3.high",
			"t.watermarks.uplink_priority.3.high: 700KiB leaves too little"}},
		{"a port of no trunk just fits", auto, map[string]int64{"other": 110 << 10, "gone": 500 << 10}, nil},
		{"a port of no trunk takes the room", auto, map[string]int64{"other": 111 << 10},
			[]string{"t.watermarks.priority.3.high"}},
		{"by hand stays by hand", byHand, map[string]int64{"m2": 500 << 10}, nil},
		{"beside one by hand", byHand, map[string]int64{"m1": 65 << 10, "m2": 1},
			[]string{"t.watermarks.priority.3.high"}},
		{"under pause just fits", pause, map[string]int64{"m1": 62 << 10, "m2": 62 << 10, "u": 22 << 10}, nil},
		{"a member under pause", pause, map[string]int64{"m1": 62 << 10, "m2": 62<<10 + 256, "u": 22 << 10},
			[]string{"t.watermarks.member.high"}},
		{"the uplink under pause", pause, map[string]int64{"u": 195 << 10}, []string{"t.watermarks.member.high",
			"t.watermarks.uplink.high"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := mustParse(t, tt.yaml).TrunkRoom(tt.found)
			if tt.want == nil {
				assert.True(t, err == nil, "got %v, want room", err)
				return
			}
			assert.MustBeTrue(t, err != nil, "there is room, want %q", tt.want)
			lines := strings.Split(err.Error(), "\n")
			assert.MustBeTrue(t, len(lines) == len(tt.want), "got %q, want %q", lines, tt.want)
			for i, want := range tt.want {
				assert.True(t, strings.Contains(lines[i], want), "got %q, want %q in it", lines[i], want)
			}
		})
	}
}

func TestLosslessSlots(t *testing.T) {
	tests := []struct {
		name, port string
		slots      int64
		slotBytes  int64
	}{
		{"1G", "speed: 1G", 4876, 1632}, // 60 ms · 1G / (1538 · 8)
		{"100M", "speed: 100M", 512, 1632},
		{"20M", "speed: 20M", 512, 1632},
		{"20M, and a short outage", "speed: 20M, ring: {outage: 60ms}", 97, 1632},
		{"10G is limited by max", "speed: 10G", 20_560, 1632}, // 32 MiB / 1632
		{"jumbo", "speed: 1G, mtu: 9000", 829, 9136},
		{"no speed counts as 10G", "speed: none, ring: {max: 1GiB}", 48_764, 1632},
		{"one at least", "speed: 1M, ring: {outage: 1ms}", 1, 1632},
		{"small slots", "speed: 1G, ring: {frame: 64}", 85_227, 176},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustParse(t, "ports: {p1: {"+tt.port+"}}").Ports[0]
			assert.Equal(t, p.LosslessSlots(), tt.slots, "slots")
			assert.Equal(t, p.Ring.SlotBytes(), tt.slotBytes, "bytes of a slot")
		})
	}
}

func TestOutage(t *testing.T) {
	p := mustParse(t, "ports: {p1: {speed: 1G}}").Ports[0]
	tests := []struct {
		frame int64
		want  time.Duration
	}{
		{1514, 4876 * 1538 * 8},
		{144, 16_384 * 168 * 8}, // from here on down the other ring takes them
		{60, 16_384 * 84 * 8},
		{145, 4876 * 169 * 8}, // the worst length
	}
	for _, tt := range tests {
		assert.Equal(t, p.Outage(tt.frame), tt.want, "outage at %d octets", tt.frame)
	}
	p.Ring.Small = 50_000
	assert.Equal(t, p.Outage(60), time.Duration(50_000*84*8), "outage with a number of small slots")
	p.Speed = 0
	got, want := p.Outage(1514), time.Duration(20_560*1538*8/10)
	assert.True(t, (got-want).Abs() <= time.Microsecond, "outage without a speed\n got %v\nwant %v", got, want)
}

func TestOtherSlots(t *testing.T) {
	tests := []struct {
		speed string
		want  int64
	}{
		{"speed: 10M", 256},
		{"speed: 100M", 256},
		{"speed: 200M", 406}, // 25 ms of 1514 octets
		{"speed: 1G", 2031},
		{"speed: 10G", 2048},
		{"speed: none", 2048},
		{"speed: 10M, ring: {other: 3000}", 3000},
		{"speed: 100M, mtu: 9000", 256}, // 34 arrive in 25 ms
	}
	for _, tt := range tests {
		c := mustParse(t, "ports: {p1: {"+tt.speed+"}}")
		assert.Equal(t, c.Ports[0].OtherSlots(), tt.want, "%s: slots", tt.speed)
	}
}

// The ring is smaller by default where a program in the kernel holds the peer, and only there.
func TestAssisted(t *testing.T) {
	for _, tt := range []struct {
		port string
		want time.Duration
	}{
		{"speed: 1G", 60 * time.Millisecond}, // 149 pauses in assist.hold
		{"speed: none", 60 * time.Millisecond},
		{"speed: 100M", 30 * time.Millisecond}, // 15 pauses, each of 4 frames
		{"speed: 10M", 157 * time.Millisecond}, // 128 frames
		{"speed: 100M, cable: 10km", 63 * time.Millisecond},
		{"speed: 100M, ring: {outage: auto}", 30 * time.Millisecond},
		{"speed: 1G, ring: {outage: 60ms}", 60 * time.Millisecond},
		{"speed: 1G, ring: {outage: 5ms}", 5 * time.Millisecond},
	} {
		c := mustParse(t, "ports: {p1: {"+tt.port+"}}")
		assert.Equal(t, c.Assisted(&c.Ports[0]).Ring.Outage, tt.want, "%s", tt.port)
		assert.Equal(t, mustParse(t, string(Expand(c))).Ports[0].Ring, c.Ports[0].Ring,
			"%s: read again, want the first", tt.port)
	}
}

// A shorter hold makes the ring smaller, a shorter pause larger.
func TestAssistedByHoldAndPause(t *testing.T) {
	for keys, want := range map[string]time.Duration{
		"assist: {hold: 1s}\nports: {p1: {speed: 1G}}":           15 * time.Millisecond,
		"assist: {hold: 2s}\nports: {p1: {speed: 1G}}":           30 * time.Millisecond,
		"pause: {quanta: 30000}\nports: {p1: {speed: 100M}}":     63 * time.Millisecond,
		"pause: {quanta: remaining}\nports: {p1: {speed: 100M}}": 63 * time.Millisecond,
	} {
		c := mustParse(t, keys)
		assert.Equal(t, c.Assisted(&c.Ports[0]).Ring.Outage, want, "%s", keys)
	}
}
