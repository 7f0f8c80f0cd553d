package config

import (
	"errors"
	"testing"

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
	cells := func(n int64) int64 { return (n + 255) / 256 * 256 }
	tests := []struct {
		port, priority int
		want           ResolvedQueue
	}{
		{0, 3, ResolvedQueue{Lossless: true, Private: 5120, Headroom: cells(frames1G + 6250 + 62_500), Xon: 192, XonOffset: 4096, Alpha: 1}},
		{0, 4, ResolvedQueue{Lossless: true, Private: 0, Headroom: 1024, Xon: 9000, XonOffset: 7168, Alpha: 2}},
		{0, 0, ResolvedQueue{}},
		{1, 0, ResolvedQueue{Lossless: true, Private: 5120, Headroom: cells(frames10G + 62_500 + 3084 + 100),
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
	const calculated = 72_192 // at 1G and MTU 1500, in whole cells
	tests := []struct {
		buffer, own string
		want        int64
	}{
		{"auto", "", calculated},
		{"calculated", "", calculated},
		{"64KiB", "", 64 << 10},
		{"64KiB", "auto", calculated},
		{"auto", "32KiB", 32 << 10},
		{"auto", "0", 0},
	}
	for _, tt := range tests {
		t.Run(tt.buffer+" "+tt.own, func(t *testing.T) {
			own := ""
			if tt.own != "" {
				own = "priorities: {3: {headroom: " + tt.own + "}}"
			}
			c := mustParse(t, "preset: roce\nbuffer: {headroom: "+tt.buffer+"}\nports: {p1: {"+own+"}}")
			if got := c.Ports[0].Queues[3].Headroom; got != tt.want {
				t.Errorf("headroom\n got %d\nwant %d", got, tt.want)
			}
		})
	}
}

// A port without a speed has no shaper, and its largest frame is a super-frame.
func TestPortWithoutSpeed(t *testing.T) {
	c := mustParse(t, "preset: roce\nports: {p1: {speed: none, burst: 1MiB}}")
	p := &c.Ports[0]
	if got, want := p.MaxFrame(), headroom.SuperFrame; got != want {
		t.Errorf("largest frame\n got %d\nwant %d", got, want)
	}
	const wire = 65_550 + 24
	want := int64(2*wire + 84 + 3840 + wire) // the send call is one frame, the burst of no shaper is 0
	if got := p.CalculatedHeadroom().Bytes(); got != want {
		t.Errorf("calculated headroom\n got %d\nwant %d", got, want)
	}
}

func TestResolveTakesTheLinksSpeed(t *testing.T) {
	c := mustParse(t, "preset: roce\nports: {p1: {}, p2: {speed: 100M}, p3: {burst: 5000B}}")
	resolved, err := c.Resolve(map[string]int64{"p1": 10 * gbit, "p2": 10 * gbit, "p3": -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ speed, burst int64 }{{10 * gbit, 625_000}, {gbit / 10, 6250}, {gbit, 5000}} {
		p := resolved.Ports[i]
		if p.Speed != want.speed || p.Burst != want.burst {
			t.Errorf("%s\n got speed %d, burst %d\nwant %d, %d", p.Name, p.Speed, p.Burst, want.speed, want.burst)
		}
	}
	if before, after := c.Ports[0].Queues[3].Headroom, resolved.Ports[0].Queues[3].Headroom; after <= before {
		t.Errorf("headroom of p1\n got %d\nwant more than the %d of 1G", after, before)
	}
	if got := c.Ports[0].Speed; got != gbit {
		t.Errorf("Resolve changed its receiver: speed %d", got)
	}
	again, err := resolved.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(Expand(again)), string(Expand(c)); got != want {
		t.Errorf("resolving back to 1G\n got\n%s\nwant\n%s", got, want)
	}
}

// A pool that was large enough at 1G may be too small for the link that then appears.
func TestResolveRefusesAFasterLink(t *testing.T) {
	c := mustParse(t, "preset: roce\nbuffer:\n  lossless: {size: 512KiB}\nports: {p1: {}}")
	_, err := c.Resolve(map[string]int64{"p1": 10 * gbit})
	var fault *Error
	if !errors.As(err, &fault) {
		t.Fatalf("want an *Error, got %v", err)
	}
	if fault.Key != "buffer.lossless.size" || fault.Line != 3 {
		t.Errorf("fault\n got %v\nwant one of buffer.lossless.size in line 3", fault)
	}
}

func TestAutomaticPool(t *testing.T) {
	tests := []struct {
		name, text string
		want       int64
	}{
		{"no lossless queue", "ports: {p1: }", 8 << 20},
		{"small", "preset: roce\nports: {p1: }", 8 << 20},
		{"large", "preset: roce\nbuffer: {headroom: 8MiB}\nports: {p1: , p2: }", 2 * (2*4096 + 2*8<<20 + 2*2*1536)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustParse(t, tt.text).Buffer.Lossless.Size; got != tt.want {
				t.Errorf("size\n got %d\nwant %d", got, tt.want)
			}
		})
	}
}

// The smallest pool that is accepted shares two largest frames per lossless queue.
func TestSmallestPool(t *testing.T) {
	text := func(size string) string {
		return "preset: roce\nbuffer: {cell: 80B, private: 1040B, headroom: 2000B, lossless: {size: " + size + "}}\nports: {p1: , p2: }"
	}
	c := mustParse(t, text("12160B")) // 2·(1040 + 2000 + 2·1520)
	if got, want := c.Shared(), int64(2*2*1520); got != want {
		t.Errorf("shared\n got %d\nwant %d", got, want)
	}
	if _, _, err := Parse("test.yaml", []byte(text("12159B"))); err == nil {
		t.Error("a pool that is one byte smaller is accepted")
	}
}
