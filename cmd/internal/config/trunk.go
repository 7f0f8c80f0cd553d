package config

import (
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
	v.read(t.fields()...)
}

func (t *Trunk) fields() []field {
	return []field{
		key("uplink", &t.Uplink, anyWord),
		entries("members", &t.Members, anyWord, ""),
		key("distribution", &t.Distribution, oneOf(LeastFilled, FlowHash)),
		key("flow_control", &t.FlowControl, oneOf(FlowPFC, FlowPause, FlowOff)),
		{"meters", t.readMeters, t.writeMeters()},
		{"red", t.readRED, t.writeRED()},
		inLine("watermarks", t.Watermarks.fields()),
		key("meter_octets", &t.MeterOctets, oneOf(WireOctets, IPOctets)),
		key("colour", &t.Colour, oneOf(ColourBlind, ColourAware)),
		key("red_queue", &t.REDQueue, oneOf(InstantaneousQueue, AveragedQueue)),
	}
}

func (c *Config) writeTrunks() writer {
	var all []field
	for i := range c.Trunks {
		all = append(all, field{Quote(c.Trunks[i].Name), nil, nested{lines("    "), c.Trunks[i].fields()}})
	}
	return nested{lines("  "), all}
}

// anyWord reads a name, which is looked up later.
var anyWord = simple(&Schema{Type: "string"}, "", Quote, func(text string) (string, bool) { return text, true })

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
	orTotal(v, func(priority int, v value) { v.read(t.Meters[priority].fields()...) }, func(v value) {
		fields := t.TotalMeter.fields()
		fields[0].read = func(v value) {
			v.fail("the committed rate of all priorities together is the uplink's speed: remove the key")
		}
		v.read(fields...)
	})
}

func (m *TrunkMeter) fields() []field {
	burst := size(1, trunk.MaxBurst)
	return []field{
		optional("cir", &m.CIR, rate(1000)),
		optional("pir", &m.PIR, rate(1000)),
		optional("cbs", &m.CBS, burst),
		optional("pbs", &m.PBS, burst),
	}
}

// writeMeters writes the keys of the file, and the values in force as comments.
func (t *Trunk) writeMeters() writer {
	var all []field
	write := func(name string, m *TrunkMeter, p *trunk.MeterConfig) {
		comment := "not metered: the members together are no faster than the uplink"
		if t.Metered {
			comment = fmt.Sprintf("cir %s, pir %s, cbs %s, pbs %s", formatRate(p.CIR), formatRate(p.PIR),
				formatSize(p.CBS), formatSize(p.PBS))
		}
		all = append(all, field{name, nil, remark{nested{flow, m.fields()}, comment}})
	}
	for p := range t.Meters {
		write(strconv.Itoa(p), &t.Meters[p], &t.Profiles[p])
	}
	write("total", &t.TotalMeter, &t.Total)
	return nested{lines("      "), all}
}

func (t *Trunk) readRED(v value) {
	orTotal(v, func(priority int, v value) { t.RED[priority] = readRED(v) }, func(v value) { t.TotalRED = readRED(v) })
}

func readRED(v value) *TrunkRED {
	var r TrunkRED
	before := len(v.doc.faults)
	v.needs("low", "high", "probability")
	v.read(r.fields()...)
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

func (r *TrunkRED) fields() []field {
	return []field{
		key("low", &r.Low, size(0, maxSize)),
		key("high", &r.High, size(1, maxSize)),
		key("probability", &r.Probability, share),
	}
}

func (t *Trunk) writeRED() writer {
	write := func(r **TrunkRED) writer {
		if *r == nil {
			return nil
		}
		return nested{flow, (*r).fields()}
	}
	return nested{flow, append(byPriority(&t.RED, write), field{"total", nil, write(&t.TotalRED)})}
}

func (w *Watermarks) fields() []field {
	one := func(name string, m **Mark) field {
		return field{name, func(v value) { *m = readMark(v) }, writeMark(m)}
	}
	each := func(name string, all *[8]*Mark) field {
		return field{name, func(v value) {
			v.indexed("priority", 7, func(i int, v value) { all[i] = readMark(v) })
		}, nested{flow, byPriority(all, writeMark)}}.when(*all != [8]*Mark{})
	}
	return []field{
		one("member", &w.Member),
		one("uplink", &w.Uplink),
		each("priority", &w.Priority),
		each("uplink_priority", &w.UplinkPriority),
	}
}

func (m *Mark) fields() []field {
	return []field{key("high", &m.High, size(1, maxSize)), key("low", &m.Low, size(1, maxSize))}
}

func writeMark(m **Mark) writer {
	if *m == nil {
		return nil
	}
	return nested{flow, (*m).fields()}
}

func readMark(v value) *Mark {
	var m Mark
	before := len(v.doc.faults)
	v.needs("high", "low")
	v.read(m.fields()...)
	switch {
	case len(v.doc.faults) > before, v.schema != nil:
	case m.High == 0 || m.Low == 0:
		v.fail("needs high and low: write such as {high: 256KiB, low: 128KiB}")
	case m.High <= m.Low:
		v.fail("high %s is not above low %s: the peer is held above high and freed below low, so swap or change them",
			formatSize(m.High), formatSize(m.Low))
	}
	return &m
}

// ports are the trunk's ports, the uplink first.
func (t *Trunk) ports() []string { return append([]string{t.Uplink}, t.Members...) }

// TrunkLossless are the lossless priorities of a trunk, bit n = priority n.
func (c *Config) TrunkLossless(t *Trunk) uint8 {
	return t.FlowControl.Mode().Lossless(c.Priorities.Lossless)
}
