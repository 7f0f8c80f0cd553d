package bridge

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// The sizes of the model: few addresses, ports and VLANs, so that every combination occurs.
const (
	modelPorts  = 5
	modelVLANs  = 3 // 1, 2, 3; 4 is nobody's
	modelAgeing = 50
	modelHold   = 100
)

type modelKey struct {
	mac uint64
	vid uint16
}

type modelEntry struct {
	port   int
	seen   int64
	static bool
	place  int // in the line of the port's learned stations
	heard  bool
}

type modelPort struct {
	pvid                  uint16
	tagged                map[uint16]bool
	learning, flood, loop bool
	up, shut              bool
	returned              int64
}

func (p *modelPort) member(vid uint16) bool { return vid == p.pvid || p.tagged[vid] }

// model is a slow and obvious bridge: one map, from which entries vanish at once.
type model struct {
	b       *Bridge
	now     int64
	max     int
	entries map[modelKey]modelEntry
	ports   map[int]*modelPort
	moves   uint64
	full    uint64
	forgot  uint64
	places  int
}

func (m *model) expire() {
	for k, e := range m.entries {
		if !e.static && m.now-e.seen >= modelAgeing {
			delete(m.entries, k)
		}
	}
}

func (m *model) flush(port int, static bool) {
	for k, e := range m.entries {
		if e.port == port && (static || !e.static) {
			delete(m.entries, k)
		}
	}
}

func (m *model) forward(in int, dst, src uint64, vid uint16) Decision {
	p := m.ports[in]
	if p == nil || !p.up {
		return drop(DropPortDown)
	}
	if !p.member(vid) || dst >= 0x0180_C200_0000 && dst <= 0x0180_C200_0010 {
		return drop(DropFiltered)
	}
	_, known := m.entries[modelKey{dst, vid}]
	isGroup := dst>>40&1 == 1
	if p.shut && (isGroup || !known) {
		return drop(DropFiltered)
	}
	if p.learning && src>>40&1 == 0 && src != 0 {
		m.learn(modelKey{src, vid}, in)
	}
	e, known := m.entries[modelKey{dst, vid}]
	if isGroup || !known {
		return m.floodTo(in, dst, vid)
	}
	out := m.ports[e.port]
	switch {
	case e.port == in:
		return drop(DropSamePort)
	case out == nil || !out.member(vid):
		return drop(DropFiltered)
	case !out.up:
		return drop(DropPortDown)
	}
	return unicast(e.port)
}

func (m *model) canLearn(k modelKey) bool {
	_, known := m.entries[k]
	return known || len(m.entries) < m.max
}

func (m *model) learn(k modelKey, in int) {
	e, known := m.entries[k]
	switch {
	case known && e.static:
		return
	case !m.canLearn(k) && !m.forgetForPort(in):
		m.full++
		return
	case known && e.port != in:
		m.moves++
	case known:
		m.entries[k] = modelEntry{port: in, seen: m.now, place: e.place, heard: true}
		return
	}
	m.places++
	m.entries[k] = modelEntry{port: in, seen: m.now, place: m.places}
}

// forgetForPort makes room at the cost of the port that has most learned stations: the first in line goes, and those
// that were heard since they got their place go to the end of the line instead.
func (m *model) forgetForPort(in int) bool {
	var lines [modelPorts][]modelKey
	for k, e := range m.entries {
		if !e.static {
			lines[e.port] = append(lines[e.port], k)
		}
	}
	most := in
	for i := range lines {
		if len(lines[i]) > len(lines[most]) {
			most = i
		}
	}
	line := lines[most]
	if len(line) == 0 {
		return false
	}
	slices.SortFunc(line, func(x, y modelKey) int { return cmp.Compare(m.entries[x].place, m.entries[y].place) })
	for looks := 0; looks < forgetLooks && m.entries[line[0]].heard; looks++ {
		e := m.entries[line[0]]
		m.places++
		e.place, e.heard = m.places, false
		m.entries[line[0]] = e
		line = append(line[1:], line[0])
	}
	delete(m.entries, line[0])
	m.forgot++
	return true
}

func (m *model) floodTo(in int, dst uint64, vid uint16) Decision {
	d := flood(Multicast)
	if dst == 0xFFFFFFFFFFFF {
		d.Cause = Broadcast
	} else if dst>>40&1 == 0 {
		d.Cause = UnknownUnicast
	}
	candidates := 0
	for i, p := range m.ports {
		if i != in && p.member(vid) && p.flood && !p.shut {
			candidates++
			if p.up {
				d.Ports.Add(i)
			}
		}
	}
	switch {
	case candidates == 0:
		return drop(DropFiltered)
	case d.Ports.Empty():
		return drop(DropPortDown)
	}
	return d
}

var (
	anyPort    = rapid.IntRange(0, modelPorts-1)
	anyVLAN    = rapid.Uint16Range(1, modelVLANs+1)
	anyStation = rapid.Uint64Range(0x0200_0000_0001, 0x0200_0000_0008)
	anyAddress = rapid.OneOf(anyStation, anyStation, rapid.SampledFrom([]uint64{
		0, 0xFFFF_FFFF_FFFF, 0x0100_5E00_0001, 0x0180_C200_0001, 0x0180_C200_0010, 0x0180_C200_0011,
	}))
)

func (m *model) frame(t *rapid.T) {
	in, dst, src := anyPort.Draw(t, "in"), anyAddress.Draw(t, "dst"), anyAddress.Draw(t, "src")
	vid := anyVLAN.Draw(t, "vid")
	want := m.forward(in, dst, src, vid)
	assert.MustEqual(t, inFull(m.b.Forward(in, dst, src, vid, 60, m.now)), inFull(want), "at %d", m.now)
}

func (m *model) wait(t *rapid.T) {
	m.now += rapid.Int64Range(0, modelAgeing).Draw(t, "ns")
	m.expire()
}

func (m *model) setPort(t *rapid.T) {
	i := anyPort.Draw(t, "port")
	tagged := rapid.SliceOfNDistinct(rapid.Uint16Range(1, modelVLANs), 0, modelVLANs, rapid.ID).Draw(t, "tagged")
	set := assert.Got(VLANs(tagged...)).Must(t)
	c := PortConfig{
		PVID: rapid.Uint16Range(1, modelVLANs).Draw(t, "pvid"), Tagged: set,
		Learning: rapid.Bool().Draw(t, "learning"), Flood: rapid.Bool().Draw(t, "flood"),
		Loop: rapid.Bool().Draw(t, "loop"),
	}
	ev := assert.Got(m.b.SetPort(i, c)).Must(t)
	p := &modelPort{pvid: c.PVID, tagged: map[uint16]bool{}, learning: c.Learning, flood: c.Flood, loop: c.Loop}
	for _, vid := range tagged {
		p.tagged[vid] = true
	}
	was := m.ports[i]
	if was != nil {
		p.up, p.shut, p.returned = was.up, was.shut && c.Loop, was.returned
		for vid := uint16(1); vid <= modelVLANs; vid++ {
			if was.member(vid) && !p.member(vid) {
				m.flush(i, false)
			}
		}
	}
	m.ports[i] = p
	want := was != nil && was.shut && !c.Loop
	assert.MustBeTrue(t, ev.Happened() == want, "event %+v, want one: %v", ev, want)
}

func (m *model) setUp(t *rapid.T) {
	i, up := anyPort.Draw(t, "port"), rapid.Bool().Draw(t, "up")
	ev := m.b.SetUp(i, up)
	p := m.ports[i]
	if p == nil {
		return
	}
	want := p.shut && !up
	assert.MustBeTrue(t, ev.Happened() == want, "event %+v, want one: %v", ev, want)
	if p.up && !up {
		m.flush(i, false)
	}
	p.up, p.shut = up, p.shut && up
}

func (m *model) removePort(t *rapid.T) {
	i := anyPort.Draw(t, "port")
	m.b.RemovePort(i)
	m.flush(i, true)
	delete(m.ports, i)
}

func (m *model) addStatic(t *rapid.T) {
	i, mac, vid := anyPort.Draw(t, "port"), anyStation.Draw(t, "mac"), anyVLAN.Draw(t, "vid")
	k := modelKey{mac, vid}
	want := m.ports[i] != nil && (m.canLearn(k) || m.forgetForPort(i))
	err := m.b.AddStatic(mac, vid, i, m.now)
	assert.MustBeTrue(t, (err == nil) == want, "error %v, want success: %v", err, want)
	if want {
		m.entries[k] = modelEntry{port: i, static: true}
	}
}

func (m *model) removeStatic(t *rapid.T) {
	k := modelKey{anyStation.Draw(t, "mac"), anyVLAN.Draw(t, "vid")}
	want := m.entries[k].static
	assert.MustEqual(t, m.b.RemoveStatic(k.mac, k.vid), want, "got")
	if want {
		delete(m.entries, k)
	}
}

// probe returns an own probe to the port by which it left.
func (m *model) probe(t *rapid.T) {
	i := anyPort.Draw(t, "port")
	p := m.ports[i]
	guards := p != nil && p.up && p.loop
	ev := handle(m.b, i, i, m.now)
	if guards && m.now-p.returned >= modelHold { // handle makes the bridge send a probe, which ends a hold that is over
		p.shut = false
	}
	want := guards && !p.shut
	assert.MustBeTrue(t, ev.Happened() == want, "event %+v, want one: %v", ev, want)
	if guards {
		p.shut, p.returned = true, m.now
	}
}

func (m *model) tick(t *rapid.T) {
	i := anyPort.Draw(t, "port")
	_, _, ev := m.b.LoopTick(i, m.now)
	p := m.ports[i]
	want := p != nil && p.shut && m.now-p.returned >= modelHold
	assert.MustBeTrue(t, ev.Happened() == want, "event %+v, want one: %v", ev, want)
	if want {
		p.shut = false
	}
}

// check compares everything that can be read without a change.
func (m *model) check(t *rapid.T) {
	c := m.b.Counters()
	static := 0
	for _, e := range m.entries {
		if e.static {
			static++
		}
	}
	if c.Moves != m.moves || c.Full != m.full || c.Forgot != m.forgot || c.Static != static ||
		c.Entries < len(m.entries) || c.Entries > m.max {
		t.Fatalf("counters %+v; want %d moves, %d full, %d forgotten, %d static, %d to %d entries", c, m.moves, m.full,
			m.forgot, static, len(m.entries), m.max)
	}
	dump := dumpAll(m.b, 3, m.now)
	assert.MustEqual(t, len(dump), len(m.entries), "entries of a dump: %+v, %+v", dump, m.entries)
	for _, e := range dump {
		want, ok := m.entries[modelKey{e.MAC, e.VID}]
		age := time.Duration(m.now - want.seen)
		if want.static {
			age = 0
		}
		assert.MustBeTrue(t, ok && e.Port == want.port && e.Static == want.static && e.Age == age,
			"dump has %+v, want %+v (%v)", e, want, ok)
	}
}

func TestBridgeIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			max:     rapid.IntRange(1, 12).Draw(t, "max"), // at most 32 slots: the sweep of a full table sees them all
			entries: map[modelKey]modelEntry{},
			ports:   map[int]*modelPort{},
		}
		b := assert.Got(New(Config{MaxEntries: m.max, Ageing: modelAgeing, Identity: testIdentity})).Must(t)
		b.holdoff, b.fdb.moveLimit = modelHold, math.MaxUint8
		m.b = b
		for i := range modelPorts - 1 {
			m.ports[i] = &modelPort{pvid: 1, learning: true, flood: true, up: true}
			assert.Got(b.SetPort(i, plain())).Must(t)
			b.SetUp(i, true)
		}
		t.Repeat(map[string]func(*rapid.T){
			"frame": m.frame, "frame2": m.frame, "frame3": m.frame, "frame4": m.frame, "frame5": m.frame, // most of all
			"wait": m.wait, "setPort": m.setPort, "setUp": m.setUp, "setUp2": m.setUp, "removePort": m.removePort,
			"addStatic": m.addStatic, "removeStatic": m.removeStatic, "probe": m.probe, "tick": m.tick,
			"age": func(t *rapid.T) { b.Age(m.now, rapid.IntRange(0, 8).Draw(t, "budget")) },
			"ageAll": func(t *rapid.T) {
				b.Age(m.now, math.MaxInt)
				assert.MustEqual(t, b.Counters().Entries, len(m.entries), "entries after ageing")
			},
			"flush": func(t *rapid.T) {
				i := anyPort.Draw(t, "port")
				b.Flush(i)
				m.flush(i, false)
			},
			"": m.check,
		})
	})
}
