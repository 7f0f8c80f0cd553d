package config

import (
	"errors"
	"fmt"
	"strconv"

	"pfcswitch/dataplane/trunk"
)

// Trunk joins member ports to one uplink. The ports of a trunk are not part of the bridge.
type Trunk struct {
	Name         string // the key; the trunk label of metrics
	Uplink       string // a port
	Members      []string
	Distribution Distribution
	FlowControl  FlowControl // that of all its ports
	Meters       [8]TrunkMeter
	TotalMeter   TrunkMeter // its CIR is the uplink's speed
	RED          [8]*TrunkRED
	TotalRED     *TrunkRED
	Watermarks   Watermarks
	MeterOctets  MeterOctets
	Colour       MeterColour
	REDQueue     REDQueue

	// What follows from the ports' speeds: see Resolve.
	Metered  bool // the members together are faster than the uplink
	Profiles [8]trunk.MeterConfig
	Total    trunk.MeterConfig
}

// Distribution is how a frame from the uplink finds its member.
type Distribution string

// The values of distribution.
const (
	LeastFilled Distribution = "least-filled"
	FlowHash    Distribution = "flow-hash" // order within a flow is kept
)

// MeterOctets is what meters count.
type MeterOctets string

// The values of meter_octets.
const (
	WireOctets MeterOctets = "wire" // frame, FCS, preamble and gap
	IPOctets   MeterOctets = "ip"   // the packet with its header, without padding, as RFC 2698 counts
)

// MeterColour tells whether a meter looks at the colour of an arriving frame.
type MeterColour string

// The values of colour.
const (
	ColourBlind MeterColour = "blind"
	ColourAware MeterColour = "aware" // a tag with the drop eligible indicator is yellow
)

// REDQueue is the queue length that random early discard uses.
type REDQueue string

// The values of red_queue.
const (
	InstantaneousQueue REDQueue = "instantaneous"
	AveragedQueue      REDQueue = "averaged" // RFC 2309
)

// TrunkMeter is a two-rate meter in the file, nil for missing keys. Rates are in bit/s, bursts in bytes.
type TrunkMeter struct{ CIR, PIR, CBS, PBS *int64 }

// TrunkRED is random early discard from Low to High, in bytes.
type TrunkRED struct {
	Low, High   int64
	Probability float64 // above 0, up to 1
}

// Mark is a pair of watermarks in bytes: hold above High, release below Low.
type Mark struct{ High, Low int64 }

// Watermarks of a trunk; nil: none.
type Watermarks struct {
	Member, Uplink           *Mark // with PAUSE
	Priority, UplinkPriority [8]*Mark
}

// Bursts of a meter that the file does not give.
const (
	defaultCBS int64 = 64 << 10
	defaultPBS int64 = 128 << 10
)

func (c *Config) readTrunks(v value) {
	v.each(nameForm, "up", func(name string, v value) {
		if !identifier(name, 32) {
			v.fail("%q cannot name a trunk: "+nameRule, name)
			return
		}
		t := Trunk{Name: name, Distribution: LeastFilled, FlowControl: FlowPFC, MeterOctets: WireOctets,
			Colour: ColourBlind, REDQueue: InstantaneousQueue}
		t.read(v)
		c.Trunks = append(c.Trunks, t)
	})
}

func (t *Trunk) read(v value) {
	v.needs("uplink", "members")
	v.read(
		field{"uplink", set(&t.Uplink, anyWord)},
		field{"members", t.readMembers},
		field{"distribution", set(&t.Distribution, oneOf(LeastFilled, FlowHash))},
		field{"flow_control", set(&t.FlowControl, oneOf(FlowPFC, FlowPause, FlowOff))},
		field{"meters", t.readMeters},
		field{"red", t.readRED},
		field{"watermarks", t.Watermarks.read},
		field{"meter_octets", set(&t.MeterOctets, oneOf(WireOctets, IPOctets))},
		field{"colour", set(&t.Colour, oneOf(ColourBlind, ColourAware))},
		field{"red_queue", set(&t.REDQueue, oneOf(InstantaneousQueue, AveragedQueue))},
	)
}

// anyWord reads a name, which is looked up later.
func anyWord(text string) (string, error) { return text, nil }

func (t *Trunk) readMembers(v value) {
	for _, item := range v.items() {
		var name string
		if set(&name, anyWord)(item); name != "" {
			t.Members = append(t.Members, name)
		}
	}
}

// orTotal reads a mapping whose keys are priorities, or total.
func orTotal(v value, read func(priority int, v value), total func(v value)) {
	if v.schema != nil {
		total(value{doc: v.doc, key: join(v.key, "total"), schema: v.schema.property("total")})
	}
	v.each(priorities8, "0", func(name string, v value) {
		priority, err := strconv.ParseUint(name, 10, 3)
		switch {
		case name == "total":
			total(v)
		case err != nil || len(name) != 1:
			v.fail("%q is no priority: write 0 to 7, or total", name)
		default:
			read(int(priority), v)
		}
	})
}

func (t *Trunk) readMeters(v value) {
	orTotal(v, func(priority int, v value) {
		t.Meters[priority].read(v, setOptional(&t.Meters[priority].CIR, rate(1000)))
	}, func(v value) {
		t.TotalMeter.read(v, func(v value) {
			v.fail("the committed rate of all priorities together is the uplink's speed: remove the key")
		})
	})
}

func (m *TrunkMeter) read(v value, cir func(value)) {
	burst := size(1, trunk.MaxBurst)
	v.read(
		field{"cir", cir},
		field{"pir", setOptional(&m.PIR, rate(1000))},
		field{"cbs", setOptional(&m.CBS, burst)},
		field{"pbs", setOptional(&m.PBS, burst)},
	)
}

func (t *Trunk) readRED(v value) {
	orTotal(v, func(priority int, v value) { t.RED[priority] = readRED(v) }, func(v value) { t.TotalRED = readRED(v) })
}

func readRED(v value) *TrunkRED {
	var r TrunkRED
	before := len(v.doc.faults)
	v.needs("low", "high", "probability")
	v.read(
		field{"low", set(&r.Low, size(0, maxSize))},
		field{"high", set(&r.High, size(1, maxSize))},
		field{"probability", set(&r.Probability, share)},
	)
	switch {
	case len(v.doc.faults) > before, v.schema != nil:
	case r.High == 0 || r.Probability == 0:
		v.fail("needs low, high and probability: write such as {low: 64KiB, high: 256KiB, probability: 10%%}")
	case r.Low > r.High:
		v.fail("low %s is above high %s: frames are dropped at random from low to high, and all of them above, so "+
			"swap or change them", formatSize(r.Low), formatSize(r.High))
	}
	return &r
}

func (w *Watermarks) read(v value) {
	v.read(
		field{"member", func(v value) { w.Member = readMark(v) }},
		field{"uplink", func(v value) { w.Uplink = readMark(v) }},
		field{"priority", func(v value) {
			v.indexed("priority", 7, func(i int, v value) { w.Priority[i] = readMark(v) })
		}},
		field{"uplink_priority", func(v value) {
			v.indexed("priority", 7, func(i int, v value) { w.UplinkPriority[i] = readMark(v) })
		}},
	)
}

func readMark(v value) *Mark {
	var m Mark
	before := len(v.doc.faults)
	v.needs("high", "low")
	v.read(
		field{"high", set(&m.High, size(1, maxSize))},
		field{"low", set(&m.Low, size(1, maxSize))},
	)
	if err := m.check(); err != nil && len(v.doc.faults) == before && v.schema == nil {
		v.fail("%v", err)
	}
	return &m
}

func (m Mark) check() error {
	switch {
	case m.High == 0 || m.Low == 0:
		return errors.New("needs high and low: write such as {high: 256KiB, low: 128KiB}")
	case m.High <= m.Low:
		return fmt.Errorf("high %s is not above low %s: the peer is held above high and freed below low, so swap or "+
			"change them", formatSize(m.High), formatSize(m.Low))
	}
	return nil
}

// ports are the trunk's ports, the uplink first.
func (t *Trunk) ports() []string { return append([]string{t.Uplink}, t.Members...) }

// TrunkLossless are the lossless priorities of a trunk, bit n = priority n.
func (c *Config) TrunkLossless(t *Trunk) uint8 {
	return t.FlowControl.Mode().Lossless(c.Priorities.Lossless)
}

func (w *writer) trunks(c *Config) {
	if len(c.Trunks) == 0 {
		return
	}
	w.line("trunks:")
	for i := range c.Trunks {
		w.trunk(&c.Trunks[i])
	}
}

func (w *writer) trunk(t *Trunk) {
	var members []string
	for _, name := range t.Members {
		members = append(members, quote(name))
	}
	w.line("  %s:", quote(t.Name))
	w.line("    uplink: %s", quote(t.Uplink))
	w.line("    members: [%s]", list(members))
	w.line("    distribution: %s", t.Distribution)
	w.line("    flow_control: %s", t.FlowControl)
	w.meters(t)
	w.red(t)
	w.watermarks(&t.Watermarks)
	w.line("    meter_octets: %s", t.MeterOctets)
	w.line("    colour: %s", t.Colour)
	w.line("    red_queue: %s", t.REDQueue)
}

func (w *writer) meters(t *Trunk) {
	w.line("    meters:")
	for p := range t.Meters {
		w.meter(t, fmt.Sprint(p), &t.Meters[p], &t.Profiles[p])
	}
	w.meter(t, "total", &t.TotalMeter, &t.Total)
}

// meter writes the keys of the file, and the values in force as a comment.
func (w *writer) meter(t *Trunk, name string, m *TrunkMeter, p *trunk.MeterConfig) {
	var entries []string
	for _, e := range []struct {
		name   string
		given  *int64
		format func(int64) string
	}{{"cir", m.CIR, formatRate}, {"pir", m.PIR, formatRate}, {"cbs", m.CBS, formatSize}, {"pbs", m.PBS, formatSize}} {
		if e.given != nil {
			entries = append(entries, e.name+": "+e.format(*e.given))
		}
	}
	comment := "not metered: the members together are no faster than the uplink"
	if t.Metered {
		comment = fmt.Sprintf("cir %s, pir %s, cbs %s, pbs %s", formatRate(p.CIR), formatRate(p.PIR), formatSize(p.CBS),
			formatSize(p.PBS))
	}
	w.line("      %s: {%s} # %s", name, list(entries), comment)
}

func (w *writer) red(t *Trunk) {
	var entries []string
	for p, r := range t.RED {
		if r != nil {
			entries = append(entries, fmt.Sprintf("%d: %s", p, r))
		}
	}
	if t.TotalRED != nil {
		entries = append(entries, fmt.Sprintf("total: %s", t.TotalRED))
	}
	w.line("    red: {%s}", list(entries))
}

// String writes the setting as the configuration does.
func (r *TrunkRED) String() string {
	return fmt.Sprintf("{low: %s, high: %s, probability: %s}", formatSize(r.Low), formatSize(r.High),
		formatShare(r.Probability))
}

func (w *writer) watermarks(m *Watermarks) {
	var entries []string
	add := func(name string, mark *Mark) {
		if mark != nil {
			entries = append(entries, fmt.Sprintf("%s: {high: %s, low: %s}", name, formatSize(mark.High),
				formatSize(mark.Low)))
		}
	}
	add("member", m.Member)
	add("uplink", m.Uplink)
	all := entries
	for i, marks := range []*[8]*Mark{&m.Priority, &m.UplinkPriority} {
		entries = nil
		for p := range marks {
			add(fmt.Sprint(p), marks[p])
		}
		if entries != nil {
			all = append(all, fmt.Sprintf("%s: {%s}", []string{"priority", "uplink_priority"}[i], list(entries)))
		}
	}
	w.line("    watermarks: {%s}", list(all))
}
