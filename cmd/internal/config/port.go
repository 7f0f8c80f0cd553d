package config

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/dataplane/bridge"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// Port is one port with everything that it inherits filled in.
type Port struct {
	Name      string // the key; the port label of metrics
	Interface string // the Linux interface
	Force     bool   // take an interface that has a master or an address of its own
	Netns     string // a named network namespace, an absolute path or "pid:N"; empty: that of the daemon
	Kind      Kind
	Wire      string         // KindTAP: the port that it exchanges all frames with; empty: it is a port of the bridge
	Addresses []netip.Prefix // KindTAP: of the host's interface

	Speed     int64         // bit/s; 0: none. With SpeedAuto: 1G until Resolve knows the link
	SpeedAuto bool          // 1G on veth and TAP, the link's speed on a NIC
	Burst     int64         // shaper's depth in wire octets; without a speed there is no shaper
	BurstAuto bool          // Burst follows from the speed
	Delay     time.Duration // applied on transmit, one way
	K         int64         // bits added to the headroom
	MTU       int           // octets of payload

	Trust           Trust
	DefaultPriority uint8
	PriorityTags    PriorityTags

	FlowControl FlowControl
	Asymmetric  bool             // PFC is obeyed for all priorities, and sent for the lossless ones
	Priorities  [8]Override      // by priority; [0] is key "all" of a port with FlowPause
	Queues      [8]ResolvedQueue // ingress queues by priority; [0] is the only one of a port with FlowPause
	Ring        Ring
	Send        Send
	Negotiated  *Negotiated // by DCBX, in the place of what is configured; nil: nothing
	Watchdog    Watchdog

	PVID      uint16
	Tagged    []uint16
	Admit     Admit
	Learning  bool
	Secure    Secure
	Stations  int // most that are learned
	Flood     bool
	Storm     int64 // bit/s of flooded traffic; 0: no limit
	StormAuto bool  // Storm follows from the speed
	Loop      bool  // detect loops by a probe frame
}

// Kind is the kind of interface behind a port.
type Kind string

// The values of kind.
const (
	KindEthernet Kind = "ethernet" // an interface that exists: veth, NIC, TAP
	KindTAP      Kind = "tap"      // a TAP that the daemon makes, towards the stack of the host
)

// PriorityTags is the treatment of priority-tagged frames at an untagged egress.
type PriorityTags string

// The values of priority_tags.
const (
	KeepPriorityTags  PriorityTags = "keep" // it leaves so, and keeps its priority
	StripPriorityTags PriorityTags = "strip"
)

// Admit is the acceptable frame types of a port (802.1Q 6.9).
type Admit string

// The values of admit.
const (
	AdmitAuto     Admit = "auto" // untagged on a port that carries no VLAN tagged, beside ports that do; else all
	AdmitAll      Admit = "all"
	AdmitTagged   Admit = "tagged"
	AdmitUntagged Admit = "untagged" // and priority-tagged
)

// AdmitOf returns which frames a port accepts. With admit: auto a tag is refused on a port without tagged VLANs, unless
// no port of the switch has any. The tag would have to be that of the PVID, and would be removed on the way to a port
// with tagged VLANs, where what stands behind it may be the tag of another VLAN.
func (c *Config) AdmitOf(p *Port) Admit {
	switch {
	case p.Admit != AdmitAuto:
		return p.Admit
	case len(p.Tagged) == 0 && slices.ContainsFunc(c.Ports, func(p Port) bool { return len(p.Tagged) > 0 }):
		return AdmitUntagged
	}
	return AdmitAll
}

// Secure is which stations may send by a port (source guard).
type Secure string

// The values of secure.
const (
	SecureOff    Secure = "off"
	SecureSticky Secure = "sticky" // those that came first, up to stations, as long as the link is up
	SecureStatic Secure = "static" // those of fdb
)

// Send is how frames leave through an interface.
type Send string

// The values of send.
const (
	SendAuto   Send = "auto"   // veth: an AF_XDP socket unless something captures; else a packet socket
	SendPacket Send = "packet" // by a packet socket, which every hook of the kernel sees
)

// FlowControl is the flow control of a port.
type FlowControl string

// The values of flow_control.
const (
	FlowPFC   FlowControl = "pfc"   // by priority, IEEE 802.1Q clause 36
	FlowPause FlowControl = "pause" // the whole link, IEEE 802.3 annex 31B: all priorities are one lossless queue
	FlowOff   FlowControl = "off"
)

// Mode returns f as MAC Control knows it.
func (f FlowControl) Mode() macctl.Mode {
	switch f {
	case FlowPFC:
		return macctl.ModePFC
	case FlowPause:
		return macctl.ModePause
	}
	return macctl.ModeOff
}

// exclusive says why a port has only one kind of flow control.
const exclusive = "PFC and PAUSE exclude each other on a port: where PFC is enabled, a PAUSE is neither sent nor " +
	"obeyed (IEEE 802.1Q clause 36)"

const (
	// defaultSpeed is that of a link without one of its own, in bit/s.
	defaultSpeed int64         = 1_000_000_000
	maxDelay     time.Duration = time.Second
	// defaultStations is what one port may learn: a thirty-second part of the filtering database.
	defaultStations = bridge.DefaultMaxEntries / 32
)

// MaxFrame is the largest frame in octets without FCS, with one VLAN tag.
func (p *Port) MaxFrame() int64 {
	if p.Speed == 0 {
		return headroom.GSOFrame
	}
	return int64(p.MTU) + 14 + 4
}

// ports yields every port, to be read or changed.
func (c *Config) ports() iter.Seq[*Port] {
	return func(yield func(*Port) bool) {
		for i := range c.Ports {
			if !yield(&c.Ports[i]) {
				return
			}
		}
	}
}

func (c *Config) readPorts(v value) {
	v.each(nameForm, "p1", func(name string, v value) {
		if _, err := portName.read(name); err != nil {
			v.fail("%q %v", name, err)
			return
		}
		p := c.defaultPort(name)
		p.read(v)
		c.Ports = append(c.Ports, p)
	})
}

func (c *Config) writePorts() writer {
	if len(c.Ports) == 0 {
		return literal("{}")
	}
	var all []field
	for p := range c.ports() {
		all = append(all, field{Quote(p.Name), nil, nested{lines("    "), p.fields()}})
	}
	return nested{lines("  "), all}
}

var portName = textual(nameForm, "cannot name a port: "+nameRule,
	func(text string) bool { return identifier(text, 32) })

// maxMTU is the largest that Linux gives an interface.
const maxMTU = 65535

// ReadNetns reads a network namespace of the command line, as the key netns of a port has it.
func ReadNetns(text string) (string, error) { return namespace.read(text) }

// In returns the configuration with every port that names no network namespace in this one.
func (c *Config) In(netns string) *Config {
	in := *c
	in.Ports = slices.Clone(c.Ports)
	for p := range in.ports() {
		p.Netns = cmp.Or(p.Netns, netns)
	}
	return &in
}

func (c *Config) defaultPort(name string) Port {
	return Port{
		Name: name, Interface: name, Kind: KindEthernet,
		Speed: defaultSpeed, SpeedAuto: true, BurstAuto: true, StormAuto: true, K: c.Headroom.K, MTU: 1500,
		Trust: c.Priorities.Trust, DefaultPriority: c.Priorities.Default, PriorityTags: KeepPriorityTags,
		FlowControl: FlowPFC, Ring: defaultRing(), Send: SendAuto, Watchdog: c.Watchdog,
		PVID: 1, Admit: AdmitAuto, Learning: true, Secure: SecureOff, Stations: defaultStations, Flood: true,
		Loop: true,
	}
}

func (p *Port) fields() []field {
	tap := p.isTAP()
	return []field{
		key("interface", &p.Interface, interfaceName),
		key("force", &p.Force, truth).when(!tap),
		key("netns", &p.Netns, namespace).when(p.Netns != ""),
		{"kind", p.readKind, single(func() string { return string(p.Kind) })},
		key("wire", &p.Wire, portName).when(p.Wire != ""),
		entries("addresses", &p.Addresses, hostAddress, "%v").when(tap),
		field{"speed", p.readSpeed, single(p.writeSpeed)}.noted(p.SpeedAuto, formatRate(p.Speed)),
		flagged("burst", "auto", &p.BurstAuto, &p.Burst, or(size(1, 1<<30), "auto")).
			noted(p.BurstAuto, fmt.Sprintf("%dB", p.Burst)),
		key("delay", &p.Delay, duration(0, maxDelay)).when(!tap),
		{"cable", set(&p.Delay, cable), nil},
		key("k", &p.K, bitsOfK),
		key("mtu", &p.MTU, number[int]("MTU", 68, maxMTU)),
		key("trust", &p.Trust, trust),
		key("default_priority", &p.DefaultPriority, priorityNumber),
		key("priority_tags", &p.PriorityTags, oneOf(KeepPriorityTags, StripPriorityTags)),
		{"flow_control", p.readFlowControl, single(func() string { return string(p.FlowControl) })},
		key("asymmetric", &p.Asymmetric, toggle),
		{"priorities", p.readOverrides, p.writeOverrides()},
		field{"watchdog", p.Watchdog.read, p.Watchdog.write()}.
			noted(p.Watchdog.CountAuto, fmt.Sprintf("count: %d", p.Watchdog.Count)),
		inLine("ring", p.Ring.fields()).when(!tap),
		key("send", &p.Send, oneOf(SendAuto, SendPacket)).when(!tap),
		key("pvid", &p.PVID, vlan),
		entries("tagged", &p.Tagged, vlan, "VLAN %d"),
		key("admit", &p.Admit, oneOf(AdmitAuto, AdmitAll, AdmitTagged, AdmitUntagged)),
		key("learning", &p.Learning, truth),
		key("secure", &p.Secure, oneOf(SecureOff, SecureSticky, SecureStatic)),
		key("stations", &p.Stations, number[int]("stations", 1, bridge.DefaultMaxEntries)),
		key("flood", &p.Flood, toggle),
		flagged("storm", "auto", &p.StormAuto, &p.Storm, or(orWord(rate(1000), "off", 0), "auto")).
			noted(p.StormAuto, formatRate(p.Storm)),
		key("loop", &p.Loop, toggle),
	}
}

func (p *Port) read(v value) {
	before := len(v.doc.faults)
	v.read(p.fields()...)
	p.Ring.Frame = cmp.Or(p.Ring.Frame, int64(p.MTU)+14)
	if p.Ring.OutageAuto {
		p.Ring.Outage = p.defaultOutage()
	}
	if len(v.doc.faults) == before && v.schema == nil {
		p.check(v)
	}
}

// check finds contradicting keys of a port.
func (p *Port) check(v value) {
	p.checkTAP(v)
	if _, err := interfaceName.read(p.Interface); err != nil {
		v.at("interface").fail("is needed: without it the port's name counts, and that %v", err)
	}
	_, delay := find(v.pairs(), "delay")
	length, both := find(v.pairs(), "cable")
	if delay && both {
		length.value.fail("delay is given too: a cable is a delay of 5 ns/m, so remove one of the two")
	}
	if p.Asymmetric && p.FlowControl != FlowPFC {
		v.at("asymmetric").fail("on obeys PFC of all priorities, and this port has flow_control: %s: remove "+
			"one of the two", p.FlowControl)
	}
	if p.Secure == SecureSticky && !p.Learning {
		v.at("secure").fail("sticky keeps the stations that the port learns, and learning is off: switch it on, or " +
			"write static")
	}
	least := p.MaxFrame() + headroom.WireOverhead
	if p.Speed > 0 && !p.BurstAuto && p.Burst < least {
		v.at("burst").fail("%s is below one frame: at MTU %d write at least %dB, the frame with tag, FCS, preamble "+
			"and gap, or auto", formatSize(p.Burst), p.MTU, least)
	}
}

func (p *Port) readSpeed(v value) {
	switch p.SpeedAuto = v.is("auto"); {
	case p.SpeedAuto:
		p.Speed = defaultSpeed
	case v.is("none"):
		p.Speed = 0
	default:
		set(&p.Speed, or(rate(minRate), "auto", "none"))(v)
	}
}

func (p *Port) writeSpeed() string {
	switch {
	case p.SpeedAuto:
		return "auto"
	case p.Speed == 0:
		return "none"
	}
	return formatRate(p.Speed)
}

func (p *Port) readFlowControl(v value) {
	text, _ := scalar(v.node)
	both := strings.Contains(text, "pfc") && strings.Contains(text, "pause") || text == "both"
	if v.node != nil && kindOf(v.node) == "a list" || both {
		v.fail("%s: write one of pfc, pause and off", exclusive)
		return
	}
	set(&p.FlowControl, oneOf(FlowPFC, FlowPause, FlowOff))(v)
}

// interfaceName reads names as the kernel does: IFNAMSIZ holds 15 bytes.
var interfaceName = textual(`^[^/: \t]{1,15}$`,
	"is not an interface name: write 1 to 15 bytes without space, slash and colon, as `ip link` shows it",
	func(text string) bool {
		return text != "" && len(text) <= 15 && text != "." && text != ".." && !strings.ContainsAny(text, "/: \t") &&
			printable(text)
	})

var namespace = textual(`^([^/]+|/.*)$`,
	"is not a network namespace: write a name as `ip netns` lists it, an absolute path, or pid:N",
	func(text string) bool {
		if pid, ok := strings.CutPrefix(text, "pid:"); ok {
			return digits(pid) && strings.Trim(pid, "0") != ""
		}
		named := text != "" && text != "." && text != ".." && !strings.Contains(text, "/")
		return (named || strings.HasPrefix(text, "/")) && printable(text)
	})

// Override holds the settings of one priority of a port; nil means the setting of buffer. Sizes are in bytes.
type Override struct {
	Alpha     *float64
	Headroom  *Headroom
	Private   *int64
	Xon       *int64
	XonOffset *int64
	Xoff      *int64
}

// readOverrides reads the port's own priorities. A port with PAUSE has one lossless queue, so its only key is all.
func (p *Port) readOverrides(v value) {
	v.each(`^([0-7]|all)$`, "0", func(name string, v value) {
		priority, err := strconv.ParseUint(name, 10, 3)
		switch {
		case name == "all" && p.FlowControl == FlowPause:
			v.read(p.Priorities[0].fields()...)
		case name == "all":
			v.fail("all is the one queue of a port with flow_control: pause, and this port has %s: "+
				"name the priority, or change flow_control. %s", p.FlowControl, exclusive)
		case err != nil || len(name) != 1:
			v.fail("%q is no priority: write 0 to 7", name)
		case p.FlowControl == FlowPause:
			v.fail("with flow_control: pause all eight priorities are one queue: write all, or flow_control: pfc. %s",
				exclusive)
		default:
			v.read(p.Priorities[priority].fields()...)
		}
	})
}

func (p *Port) writeOverrides() writer {
	var all []field
	for priority := range p.Priorities {
		if own := &p.Priorities[priority]; !own.empty() {
			all = append(all, field{p.priorityKey(priority), nil, nested{flow, own.fields()}})
		}
	}
	return nested{lines("      "), all}
}

func (o *Override) fields() []field {
	return []field{
		optional("alpha", &o.Alpha, alpha),
		optional("headroom", &o.Headroom, headroomSource),
		optional("private", &o.Private, size(0, maxSize)),
		optional("xon", &o.Xon, size(0, maxSize)),
		optional("xon_offset", &o.XonOffset, size(0, maxSize)),
		optional("xoff", &o.Xoff, size(1, maxSize)),
	}
}

// xonOffset returns the xon_offset in force; nil: xon alone counts. An xon of the priority's own stands before both
// keys of buffer.
func (o *Override) xonOffset(b *Buffer) *int64 {
	if o.Xon != nil || o.XonOffset != nil {
		return o.XonOffset
	}
	return b.XonOffset
}

func (o Override) empty() bool { return o == Override{} }

// pick returns *own if set, else otherwise.
func pick[T any](own *T, otherwise T) T {
	if own != nil {
		return *own
	}
	return otherwise
}
