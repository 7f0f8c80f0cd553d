package bridge

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A way is what the driver remembers of a frame, to send those like it past the bridge.
type way struct {
	in, out  int
	dst, src uint64
	vid      uint16
}

// A detour is a bridge, and the ways in force past it.
type detour struct {
	b       *Bridge
	now     int64
	changes uint64
	ways    map[way]int64 // until when
}

// frames shows frames to the bridge, most of them from stations at home, and remembers their ways.
func (o *detour) frames(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "frames") {
		w := way{dst: anyStation.Draw(t, "dst"), src: anyStation.Draw(t, "src"), vid: 1}
		w.in = int(w.src) % (modelPorts - 1)
		if rapid.IntRange(0, 7).Draw(t, "odd") == 0 {
			w = way{in: anyPort.Draw(t, "in"), dst: anyAddress.Draw(t, "dst"), src: anyAddress.Draw(t, "src"),
				vid: rapid.Uint16Range(1, 2).Draw(t, "vid")}
		}
		o.frame(t, w)
	}
}

func (o *detour) frame(t *rapid.T, w way) {
	d := o.b.Forward(w.in, w.dst, w.src, w.vid, 60, o.now)
	until := o.b.Until()
	if n := o.b.Changes(); n != o.changes {
		o.forget()
	}
	if until == 0 {
		return
	}
	assert.MustEqual(t, d.Kind, Unicast, "%+v has a way until %d", d, until)
	w.out = d.Port
	o.ways[w] = until
}

func (o *detour) forget() {
	o.changes = o.b.Changes()
	clear(o.ways)
}

// pass lets a frame of each way pass the bridge by, of which it hears later.
func (o *detour) pass(t *rapid.T) {
	passed, at := maps.Clone(o.ways), o.now
	o.wait(t)
	for w := range passed {
		o.b.See(w.in, w.src, w.vid, at)
	}
}

func (o *detour) wait(t *rapid.T) {
	o.now += rapid.Int64Range(0, modelAgeing).Draw(t, "ns")
	for w, until := range o.ways {
		if o.now >= until {
			delete(o.ways, w)
		}
	}
}

// check compares each way in force with what the bridge would do, which must learn nothing new either.
func (o *detour) check(t *rapid.T) {
	for w, until := range o.ways {
		d := o.b.Trace(w.in, w.dst, w.src, w.vid, o.now)
		assert.MustBeTrue(t, d.Kind == Unicast && d.Port == w.out,
			"at %d: %+v is in force until %d, and the bridge says %+v", o.now, w, until, d)
		if at := o.b.Lookup(w.src, w.vid, o.now); !at.Known || at.Port != w.in && !at.Group.Has(w.in) {
			t.Fatalf("at %d: %+v is in force until %d, and its sender is %+v", o.now, w, until, at)
		}
	}
}

// change changes the bridge as a configuration, a link or a command does. The driver then forgets all ways.
func (o *detour) change(t *rapid.T) {
	i := anyPort.Draw(t, "port")
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		o.setPort(t, i)
	case 1:
		o.b.SetUp(i, rapid.Bool().Draw(t, "up"))
	case 2:
		o.b.RemovePort(i)
	case 3: // the error says that the port does not exist, or that there is no room
		if mac := anyStation.Draw(t, "mac"); rapid.Bool().Draw(t, "group") {
			_ = o.b.AddStaticGroup(mac, 1, []int{i, anyPort.Draw(t, "other")}, o.now)
		} else {
			_ = o.b.AddStatic(mac, 1, i, o.now)
		}
	case 4:
		o.b.RemoveStatic(anyStation.Draw(t, "mac"), 1)
	case 5:
		o.b.Flush(i)
	}
	o.forget()
}

func (o *detour) setPort(t *rapid.T, i int) {
	tagged := assert.Got(VLANs(2)).Must(t)
	c := PortConfig{PVID: 1, Tagged: tagged, Learning: true, Flood: true, Loop: rapid.Bool().Draw(t, "loop"),
		Stations: rapid.IntRange(0, 3).Draw(t, "stations")}
	if rapid.Bool().Draw(t, "guard") {
		c.Secure = rapid.SampledFrom([]Secure{SecureSticky, SecureStatic}).Draw(t, "secure")
	}
	if c.Secure != SecureSticky { // which takes learning
		c.Learning = rapid.IntRange(0, 3).Draw(t, "learning") > 0
	}
	assert.Got(o.b.SetPort(i, c)).Must(t)
	o.b.SetUp(i, true)
}

// A way that is in force is that of each frame that the bridge would see instead: whatever is learned, moves, is held,
// makes room or is dropped by the source guard meanwhile.
func TestWaysInForceAreTheBridges(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		b := assert.Got(New(Config{MaxEntries: rapid.IntRange(2, 12).Draw(t, "max"), Ageing: modelAgeing,
			Identity: testIdentity})).Must(t)
		b.holdoff = modelHold
		o := &detour{b: b, ways: map[way]int64{}}
		for i := range modelPorts - 1 {
			o.setPort(t, i)
		}
		o.forget()
		t.Repeat(map[string]func(*rapid.T){
			"frames": o.frames, "frames2": o.frames, "frames3": o.frames, "frames4": o.frames,
			"pass": o.pass, "wait": o.wait, "change": o.change,
			"age":   func(*rapid.T) { b.Age(o.now, 8) },
			"probe": func(t *rapid.T) { i := anyPort.Draw(t, "port"); handle(b, i, i, o.now) },
			"tick":  func(t *rapid.T) { b.LoopTick(anyPort.Draw(t, "port"), o.now) },
			"": func(t *rapid.T) {
				o.check(t)
				most = max(most, len(o.ways))
			},
		})
	})
	assert.True(t, most >= 3, "at most %d ways were in force at a time, so little is shown", most)
}
