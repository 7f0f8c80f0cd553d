package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
)

// What Expand writes, Parse reads as the same configuration, and the schema takes it.
func TestExpandThenParse(t *testing.T) {
	valid := validator(t, NewSchema())
	rapid.Check(t, func(t *rapid.T) {
		want, err := drawConfig(t).Resolve(nil)
		if err != nil {
			t.Skip(err)
		}
		text := Expand(want)
		err = valid(text)
		assert.MustBeTrue(t, err == nil, "%v\n%s", err, text)
		got, _, err := Parse("expanded.yaml", text)
		assert.MustBeTrue(t, err == nil, "the expansion is refused: %v\n%s", err, text)
		got.source = source{}
		assert.MustBeTrue(t, reflect.DeepEqual(got, want),
			"the expansion means something else\n got %+v\nwant %+v\nfrom\n%s", got, want, text)
	})
}

// A port of all VLANs and of the largest frames is written so that it can be read again.
func TestExpandTheLargestPort(t *testing.T) {
	vlans := make([]string, 0, 4093)
	for vid := 2; vid <= 4094; vid++ {
		vlans = append(vlans, fmt.Sprintf("\n      - %d", vid))
	}
	c := mustParse(t, "ports:\n  p1:\n    mtu: 65535\n    tagged:"+strings.Join(vlans, ""))
	again := mustParse(t, string(Expand(c)))
	if got := again.Ports[0]; len(got.Tagged) != len(vlans) || got.Ring.Frame != 65549 || got.MTU != 65535 {
		t.Errorf("%d VLANs, mtu %d, frames of %d octets", len(got.Tagged), got.MTU, got.Ring.Frame)
	}
}

// An automatic pool always has room for what is reserved, and for two frames per queue to share.
func TestAutomaticPoolAlwaysFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		c.Buffer.Lossless.Auto = true
		c.Buffer.Cell = rapid.Int64Range(1, 64<<10).Draw(t, "any cell")
		c.Buffer.Lossy.Auto = true
		resolved, faults := c.fill(nil)
		assert.MustBeTrue(t, len(faults) == 0, "an automatic pool is refused: %v", faults)
		if need := resolved.reserve().frames; resolved.Shared() < need {
			t.Fatalf("shared segment\n got %d\nwant at least %d", resolved.Shared(), need)
		}
	})
}

func drawConfig(t *rapid.T) *Config {
	c := defaults()
	c.Name = drawName(t, "name")
	drawBuffer(t, &c.Buffer)
	c.UnknownLossless = choose(t, "unknown", Demote, DropUnknown)
	c.Priorities.Trust = choose(t, "trust", TrustPCP, TrustDSCP, TrustPort)
	c.Priorities.Default = rapid.Uint8Range(0, 7).Draw(t, "default")
	c.Priorities.Lossless = rapid.Uint8().Draw(t, "lossless")
	c.Priorities.DSCP[rapid.IntRange(0, 63).Draw(t, "dscp")] = rapid.Uint8Range(0, 7).Draw(t, "priority of dscp")
	for i := range c.Queues {
		if c.Queues[i].Weight = rapid.IntRange(0, 100).Draw(t, "weight"); c.Queues[i].Weight == 0 {
			c.Queues[i].Strict = true
		}
	}
	drawECN(t, &c.ECN[rapid.IntRange(0, 7).Draw(t, "ecn queue")])
	drawWatchdog(t, &c.Watchdog)
	c.Ageing = time.Duration(rapid.Int64Range(1e9, 1e12).Draw(t, "ageing"))
	c.Workers = choose(t, "workers", WorkersAuto, WorkersPerPort)
	c.Nice = rapid.IntRange(-20, 19).Draw(t, "nice")
	if c.Assist.Off = rapid.Bool().Draw(t, "assist off"); !c.Assist.Off {
		c.Assist.Freeze = time.Duration(rapid.Int64Range(1e6, 1e8).Draw(t, "assist freeze"))
		c.Assist.Hold = time.Duration(rapid.Int64Range(1e8, 6e10).Draw(t, "assist hold"))
	}
	drawMeasuring(t, &c.Headroom)
	if rapid.Bool().Draw(t, "remaining") {
		c.Pause.Remaining = true
	} else {
		c.Pause.Quanta = rapid.Uint16Range(1, 65535).Draw(t, "quanta")
	}
	c.Metrics.Listen = choose(t, "listen", "", ":0", "127.0.0.1:9808", "[::1]:80")
	c.Metrics.WebConfig = choose(t, "web_config", "", "/etc/web.yml", "/a b/c")
	c.Metrics.Hosts = rapid.SampledFrom([][]string{nil, {"a.example"}, {"b", "c.d-e.example"}}).Draw(t, "hosts")
	c.API.Socket = "/run/pfcswitch/" + c.Name + ".sock"
	if c.API.Auto = rapid.Bool().Draw(t, "api auto"); !c.API.Auto {
		c.API.Socket = rapid.StringMatching(`/[a-z "'\\#:]{0,20}x`).Draw(t, "socket")
	}
	c.Capture = Capture{
		Ring: rapid.Bool().Draw(t, "capture ring"), Memory: rapid.Int64Range(5<<20, 1<<30).Draw(t, "capture memory"),
		Last:      time.Duration(rapid.Int64Range(1e8, 1e12).Draw(t, "capture last")),
		Snap:      rapid.IntRange(14, 65600).Draw(t, "capture snap"),
		Directory: rapid.StringMatching(`/[a-z "'\\#:]{0,20}`).Draw(t, "capture directory"),
		Files:     rapid.IntRange(1, 1000).Draw(t, "capture files"),
	}
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}`), 0, 4,
		rapid.ID[string]).Draw(t, "ports")
	for _, name := range names {
		c.Ports = append(c.Ports, drawPort(t, c, name))
		if rapid.Bool().Draw(t, "static entry") {
			c.FDB = append(c.FDB, StaticEntry{MAC: [6]byte{2, 0, 0, 0, 0, byte(len(c.FDB))},
				VLAN: rapid.Uint16Range(1, 4094).Draw(t, "vlan"), Port: name})
			if e := &c.FDB[len(c.FDB)-1]; len(c.Ports) > 1 && rapid.Bool().Draw(t, "group") {
				e.Port, e.Ports = "", []string{name, c.Ports[0].Name}
			}
		}
	}
	drawTrunk(t, c)
	return c
}

// drawTrunk makes a trunk of the last port and those before it, whose flow control becomes its own.
func drawTrunk(t *rapid.T, c *Config) {
	n := len(c.Ports)
	if n < 2 || !rapid.Bool().Draw(t, "trunk") {
		return
	}
	mode := choose(t, "trunk's flow control", FlowPFC, FlowPause, FlowOff)
	trunk := Trunk{
		Name: drawName(t, "trunk's name"), Uplink: c.Ports[n-1].Name, FlowControl: mode,
		Distribution: choose(t, "distribution", LeastFilled, FlowHash),
		MeterOctets:  choose(t, "octets", WireOctets, IPOctets),
		Colour:       choose(t, "colour", ColourBlind, ColourAware),
		REDQueue:     choose(t, "RED's queue", InstantaneousQueue, AveragedQueue),
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		p.FlowControl, p.Priorities = mode, [8]Override{}
		p.Speed, p.SpeedAuto = rapid.Int64Range(minRate, maxRate).Draw(t, "speed in a trunk"), false
		if i < n-1 {
			trunk.Members = append(trunk.Members, p.Name)
		}
	}
	c.FDB = nil
	lossless := c.TrunkLossless(&trunk)
	for p := range 7 { // the rest of the uplink is for the last one
		if rapid.Bool().Draw(t, "metered") {
			trunk.Meters[p] = TrunkMeter{CIR: new(rapid.Int64Range(1000, minRate/8).Draw(t, "cir")),
				CBS: new(rapid.Int64Range(70_000, 1<<20).Draw(t, "cbs"))}
		}
		if lossless>>p&1 == 1 || !rapid.Bool().Draw(t, "dropped") {
			continue
		}
		trunk.Meters[p].PIR, trunk.Meters[p].PBS = new(rapid.Int64Range(maxRate/2, maxRate).Draw(t, "pir")),
			new(rapid.Int64Range(70_000, 1<<20).Draw(t, "pbs"))
		low := drawSize(t, "low", 0)
		trunk.RED[p] = &TrunkRED{Low: low, High: low + drawSize(t, "high", 1), Probability: rapid.Float64Range(1e-9,
			1).Draw(t, "probability")}
	}
	trunk.TotalRED = trunk.RED[0]
	mark := func() *Mark {
		low := drawSize(t, "low mark", 1)
		return &Mark{High: low + drawSize(t, "high mark", 1), Low: low}
	}
	switch mode {
	case FlowPause:
		trunk.Watermarks = Watermarks{Member: mark(), Uplink: mark()}
	case FlowPFC:
		for p := range 8 {
			if lossless>>p&1 == 1 {
				trunk.Watermarks.Priority[p], trunk.Watermarks.UplinkPriority[p] = mark(), mark()
			}
		}
	}
	c.Trunks = append(c.Trunks, trunk)
}

// choose draws one of several values.
func choose[T any](t *rapid.T, label string, all ...T) T {
	return rapid.SampledFrom(all).Draw(t, label)
}

func drawName(t *rapid.T, label string) string {
	words := rapid.SampledFrom([]string{"null", "true", "off", "Yes", "1e3", "0x10", "12", "leaf-1", "a.b"})
	return rapid.OneOf(words, rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9._-]{0,20}`)).Draw(t, label)
}

func drawSize(t *rapid.T, label string, least int64) int64 {
	return rapid.Int64Range(least, 1<<20).Draw(t, label)
}

func drawOptional(t *rapid.T, label string, least int64) *int64 {
	return rapid.Ptr(rapid.Int64Range(least, 1<<20), true).Draw(t, label)
}

func drawAlpha(t *rapid.T) float64 { return rapid.Float64Range(1.0/1024, 1024).Draw(t, "alpha") }

func drawHeadroom(t *rapid.T) Headroom {
	mode := choose(t, "headroom mode", HeadroomAuto, HeadroomCalculated, HeadroomFixed)
	if mode == HeadroomFixed {
		return Headroom{Mode: mode, Bytes: drawSize(t, "headroom", 0)}
	}
	return Headroom{Mode: mode}
}

func drawPool(t *rapid.T, least int64) Pool {
	p := Pool{Auto: rapid.Bool().Draw(t, "auto"), Alpha: drawAlpha(t)}
	if !p.Auto {
		p.Size = rapid.Int64Range(least, 1<<30).Draw(t, "size")
	}
	return p
}

func drawBuffer(t *rapid.T, b *Buffer) {
	b.Cell = rapid.Int64Range(256, 64<<10).Draw(t, "cell")
	b.Lossless, b.Lossy = drawPool(t, 1<<20), drawPool(t, 64<<10)
	b.Private, b.XonOffset = drawSize(t, "private", 0), drawOptional(t, "xon_offset", 0)
	b.Headroom = drawHeadroom(t)
	if b.HeadroomPool.Ratio = rapid.Float64Range(1, 1024).Draw(t, "pool ratio"); rapid.Bool().Draw(t, "pool size") {
		b.HeadroomPool = buffer.HeadroomSharing{Ratio: 1, Size: drawSize(t, "pool", 1)}
	}
	b.RingHold = rapid.Bool().Draw(t, "ring hold")
	switch b.Policy = choose(t, "policy", PolicyDT, PolicyStatic, PolicyDSH, PolicyABM); b.Policy {
	case PolicyStatic:
		b.Xoff = new(int64(1 << 20))
	case PolicyDSH:
		b.HeadroomPool = buffer.HeadroomSharing{Ratio: 1}
	}
	b.Xon = drawOptional(t, "xon", 0)
	b.defaultXonOffset()
}

func drawMeasuring(t *rapid.T, h *HeadroomDefaults) {
	h.K = rapid.Int64Range(0, 1<<24).Draw(t, "k")
	h.Precision = time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "precision"))
	h.Answer = choose(t, "answer", AnswerGenerator, AnswerLink)
	h.Variant = choose(t, "variant", VariantMAC, VariantClient)
	h.Stamps = choose(t, "stamps", FourStamps, TwoStamps)
	if h.Stamps == TwoStamps {
		h.Mode = choose(t, "mode", ModeAcknowledge, ModeLoopback)
	}
	h.Opcode = rapid.Uint16Range(0x0102, 0xFFFF).Draw(t, "opcode")
	h.Identifier = [3]byte(rapid.SliceOfN(rapid.Byte(), 3, 3).Draw(t, "identifier"))
	h.EtherType = rapid.Uint16Range(0x9000, 0xFFFF).Draw(t, "ethertype")
	h.Percentile = rapid.Float64Range(50, 100).Draw(t, "percentile")
	h.Share = rapid.Float64Range(0.001, 1).Draw(t, "share")
	h.Small = rapid.Float64Range(0, 1).Draw(t, "small packets")
	h.Interval = time.Duration(rapid.Int64Range(1e7, 1e11).Draw(t, "interval"))
	h.Agree = choose(t, "agree", AgreeLLDP, AgreeAlways)
	h.Min = drawSize(t, "min", 0)
	h.Max = HeadroomLimit{Times: rapid.Float64Range(1, 1000).Draw(t, "times")}
	if rapid.Bool().Draw(t, "max is a size") {
		h.Max = HeadroomLimit{Bytes: drawSize(t, "max", 1)}
	}
}

func drawECN(t *rapid.T, e *ECN) {
	kmin := drawSize(t, "kmin", 1)
	*e = ECN{Enabled: true, Kmin: kmin, Kmax: kmin + drawSize(t, "kmax", 0), Pmax: rapid.Float64Range(1e-9, 1).Draw(t,
		"pmax")}
}

func drawPort(t *rapid.T, c *Config, name string) Port {
	p := c.defaultPort(name)
	p.Interface = name
	p.Force, p.Learning = rapid.Bool().Draw(t, "force"), rapid.Bool().Draw(t, "learning")
	p.Flood, p.Loop = rapid.Bool().Draw(t, "flood"), rapid.Bool().Draw(t, "loop")
	p.Netns = choose(t, "netns", "", "sw", "null", "/run/netns/a b", "pid:17")
	p.MTU = rapid.IntRange(68, 65535).Draw(t, "mtu")
	if p.SpeedAuto = rapid.Bool().Draw(t, "speed auto"); !p.SpeedAuto {
		p.Speed = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(minRate, maxRate)).Draw(t, "speed")
	}
	if p.BurstAuto = rapid.Bool().Draw(t, "burst auto"); !p.BurstAuto {
		p.Burst = rapid.Int64Range(70_000, 4<<20).Draw(t, "burst")
	}
	p.Delay = time.Duration(rapid.Int64Range(0, 100_000).Draw(t, "delay"))
	p.K = rapid.Int64Range(0, 1<<24).Draw(t, "port k")
	if p.Watchdog = c.Watchdog; rapid.Bool().Draw(t, "own watchdog") {
		drawPortWatchdog(t, &p.Watchdog)
	}
	p.Trust = choose(t, "port trust", TrustPCP, TrustDSCP, TrustPort)
	p.DefaultPriority = rapid.Uint8Range(0, 7).Draw(t, "default priority")
	p.Send = choose(t, "send", SendAuto, SendPacket)
	p.PriorityTags = choose(t, "tags", KeepPriorityTags, StripPriorityTags)
	p.Storm = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1000, maxRate)).Draw(t, "storm")
	if p.Learning {
		p.Secure = choose(t, "secure", SecureOff, SecureSticky, SecureStatic)
	}
	p.Stations = rapid.IntRange(1, 131072).Draw(t, "stations")
	p.Admit = choose(t, "admit", AdmitAuto, AdmitAll, AdmitTagged, AdmitUntagged)
	p.PVID = rapid.Uint16Range(1, 2000).Draw(t, "pvid")
	if tagged := rapid.SliceOfNDistinct(rapid.Uint16Range(2001, 4094), 0, 5, rapid.ID[uint16]).Draw(t,
		"tagged"); len(tagged) > 0 {
		p.Tagged = tagged
	}
	p.Ring = Ring{
		Outage: time.Duration(rapid.Int64Range(1e6, 1e10).Draw(t, "outage")),
		Frame:  rapid.Int64Range(60, maxMTU+14).Draw(t, "frame"),
		Max:    rapid.Int64Range(64<<10, 1<<30).Draw(t, "max"),
		Other:  rapid.OneOf(rapid.Just(0), rapid.IntRange(16, 1<<13)).Draw(t, "other"),
		Small:  rapid.OneOf(rapid.Just(0), rapid.IntRange(16, 1<<22)).Draw(t, "small"),
	}
	p.FlowControl = choose(t, "flow control", FlowPFC, FlowPause, FlowOff)
	priority := rapid.IntRange(0, 7).Draw(t, "override")
	if p.FlowControl == FlowPause {
		priority = 0
	}
	p.Priorities[priority] = drawOverride(t)
	return p
}

func drawOverride(t *rapid.T) Override {
	var own Override
	if rapid.Bool().Draw(t, "own alpha") {
		own.Alpha = new(drawAlpha(t))
	}
	if rapid.Bool().Draw(t, "own headroom") {
		own.Headroom = new(drawHeadroom(t))
	}
	own.Private, own.XonOffset = drawOptional(t, "own private", 0), drawOptional(t, "own xon_offset", 0)
	own.Xon = drawOptional(t, "own xon", 0)
	if own.Xon == nil {
		own.Xoff = drawOptional(t, "own xoff", 1<<20)
	}
	return own
}
