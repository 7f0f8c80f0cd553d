package config

import (
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
)

// check finds faults across sections.
func (c *Config) check() []*Error {
	if n := len(c.Ports); n > dataplane.MaxPorts {
		return []*Error{c.Errorf("ports", "%d ports: a switch has at most %d, so remove some", n, dataplane.MaxPorts)}
	}
	faults := slices.Concat(c.checkPorts(), c.checkFDB(), c.checkWires(), c.checkTrunks())
	if h := c.Buffer.HeadroomPool; h.Size > 0 && h.Ratio != 1 {
		faults = append(faults, c.Errorf("buffer.headroom_pool",
			"ratio %v and size %s contradict each other: write one", h.Ratio, formatSize(h.Size)))
	}
	if h := c.Buffer.HeadroomPool; c.Buffer.Policy == PolicyDSH && (h.Size > 0 || h.Ratio != 1) {
		faults = append(faults, c.Errorf("buffer.headroom_pool",
			"policy dsh takes headroom from the shared segment, and has no pool: remove the key, or write policy: dt"))
	}
	if c.Buffer.Policy == PolicyStatic {
		faults = append(faults, c.checkStatic()...)
	}
	return faults
}

// checkPorts refuses two ports on one interface, each of which would receive every frame, and a PVID that is tagged.
func (c *Config) checkPorts() (faults []*Error) {
	type place struct{ netns, name string }
	taken := map[place]string{}
	for p := range c.ports() {
		at := place{p.Netns, p.Interface}
		if other, twice := taken[at]; twice {
			faults = append(faults, c.Errorf("ports."+p.Name+".interface",
				"%q is already port %s (line %d): give each port an interface of its own",
				p.Interface, other, c.source.line("ports."+other)))
		} else {
			taken[at] = p.Name
		}
		if slices.Contains(p.Tagged, p.PVID) {
			faults = append(faults, c.Errorf("ports."+p.Name+".tagged",
				"VLAN %d is the port's PVID and leaves untagged: remove it here, or set another pvid", p.PVID))
		}
	}
	return faults
}

func (c *Config) checkFDB() (faults []*Error) {
	names := c.portNames()
	type address struct {
		mac  [6]byte
		vlan uint16
	}
	first := map[address]int{}
	for i, entry := range c.FDB {
		key := fmt.Sprintf("fdb[%d]", i)
		if entry.MAC == [6]byte{} {
			faults = append(faults, c.Errorf(key, "has no mac: write the station's address"))
			continue
		}
		switch {
		case entry.Port == "" && len(entry.Ports) == 0:
			faults = append(faults, c.Errorf(key, "has no port: write the key of one under ports"))
		case entry.Port != "" && len(entry.Ports) > 0:
			faults = append(faults, c.Errorf(key+".ports", "port %s stands beside it: write all ports here, or one "+
				"there", entry.Port))
		}
		for at, name := range entry.behind(key) {
			if fault := c.checkPortName(at, name, names); fault != nil {
				faults = append(faults, fault)
			}
		}
		at := address{entry.MAC, entry.VLAN}
		if other, twice := first[at]; twice {
			faults = append(faults, c.Errorf(key, "repeats fdb[%d] (line %d), the same MAC and VLAN: keep one",
				other, c.source.line(fmt.Sprintf("fdb[%d]", other))))
			continue
		}
		first[at] = i
	}
	return faults
}

func (c *Config) checkPortName(key, name string, names []string) *Error {
	switch meant := nearest(name, names); {
	case slices.Contains(names, name):
		return nil
	case meant != "":
		return c.Errorf(key, "%q is no port: did you mean %s?", name, meant)
	default:
		return c.Errorf(key, "%q is no port: add it under ports, or write the key of another", name)
	}
}

func (c *Config) portNames() (names []string) {
	for _, p := range c.Ports {
		names = append(names, p.Name)
	}
	return names
}

// checkStatic requires a threshold for every lossless queue under the static policy.
func (c *Config) checkStatic() (faults []*Error) {
	for _, p := range c.Ports {
		for _, priority := range p.losslessPriorities(c) {
			own := p.Priorities[priority]
			xoff := pick(own.Xoff, pick(c.Buffer.Xoff, 0))
			xon := pick(own.Xon, pick(c.Buffer.Xon, 0))
			key := "ports." + p.Name + ".priorities." + p.priorityKey(priority)
			switch {
			case xoff == 0:
				return append(faults, c.Errorf("buffer.policy",
					"static needs a threshold, and priority %s of port %s has none: write buffer.xoff, or %s.xoff",
					p.priorityKey(priority), p.Name, key))
			case xon > xoff:
				faults = append(faults, c.Errorf(key+".xon",
					"%s is above xoff %s, where the queue stops its peer: lower xon, or raise xoff",
					formatSize(xon), formatSize(xoff)))
			}
		}
	}
	return faults
}

// StaticEntry is an FDB entry that does not age.
type StaticEntry struct {
	MAC   [6]byte // an individual address
	VLAN  uint16
	Port  string   // key of a port
	Ports []string // instead of Port: those of which a frame takes one by its flow
}

// behind are the ports behind which the station is, by the path of the key that names each. key is that of the entry.
func (e *StaticEntry) behind(key string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if e.Port != "" && !yield(key+".port", e.Port) {
			return
		}
		for i, name := range e.Ports {
			if !yield(fmt.Sprintf("%s.ports[%d]", key, i), name) {
				return
			}
		}
	}
}

var vlan = number[uint16]("VLAN", 1, 4094)

func (c *Config) readFDB(v value) {
	for _, item := range v.items() {
		entry := StaticEntry{VLAN: 1}
		item.needs("mac")
		item.needsOne("port", "ports")
		item.read(entry.fields()...)
		c.FDB = append(c.FDB, entry)
	}
}

func (e *StaticEntry) fields() []field {
	return []field{
		key("mac", &e.MAC, individualAddress), key("vlan", &e.VLAN, vlan),
		key("port", &e.Port, anyWord).when(len(e.Ports) == 0),
		entries("ports", &e.Ports, anyWord, "port %s").when(len(e.Ports) > 0),
	}
}

func (c *Config) writeFDB() (text string) {
	if len(c.FDB) == 0 {
		return "[]"
	}
	for i := range c.FDB {
		text += "\n  - " + flow(c.FDB[i].fields())
	}
	return text
}

var individualAddress = parser[[6]byte]{readIndividualAddress, func(mac [6]byte) string {
	return strconv.Quote(net.HardwareAddr(mac[:]).String())
}, func() []*Schema { return []*Schema{pattern(`^`+octetForm+`([:.-]?`+octetForm+`){5}$`, "")} }}

func readIndividualAddress(text string) (mac [6]byte, err error) {
	address, err := net.ParseMAC(text)
	if err != nil || len(address) != len(mac) {
		return mac, errors.New(`is not a MAC address: write six octets, such as "02:00:00:00:00:01"`)
	}
	if copy(mac[:], address); address[0]&1 == 1 || mac == [6]byte{} {
		return mac, errors.New("is a group or null address: write that of a station, with an even first octet")
	}
	return mac, nil
}

// What a switch may take of the machine. The accounts number cells by 32 bits and keep some 50 bytes for each, the
// rings and the delay lines are memory that is taken at once: beyond these limits the process would not refuse but die.
const (
	maxPoolBytes  int64 = 16 << 30 // bytes of both pools
	maxCells      int64 = 16 << 20
	maxDelayBytes int64 = 2 << 30 // bytes of all delay lines
	maxRingBytes  int64 = 1 << 30 // bytes of the other ring of a port, as Ring.Max of the lossless one
)

// checkLimits refuses a resolved configuration whose pools are too large for any machine.
func (c *Config) checkLimits() (faults []*Error) {
	b := &c.Buffer
	key, what := "buffer.lossless.size", formatSize(b.Lossless.Size)
	remedy := "lower it"
	switch {
	case b.Lossy.Size > b.Lossless.Size:
		key, what = "buffer.lossy.size", formatSize(b.Lossy.Size)
	case b.Lossless.Auto:
		what = "auto would be " + formatSize(b.Lossless.Size+c.HeadroomGrowth())
		remedy = "lower the headroom (it follows from speed, delay, cable, mtu and k) or private, or write a size"
	}
	switch total := b.Lossless.Size + c.HeadroomGrowth() + b.Lossy.Size; {
	case total > maxPoolBytes:
		faults = append(faults, c.Errorf(key, "%s: both pools together may have %s: %s", what, formatSize(maxPoolBytes),
			remedy))
	case total/b.Cell > maxCells:
		faults = append(faults, c.Errorf("buffer.cell",
			"%s: the pools would have %d cells, and %d are the most: write at least %s, or smaller pools",
			formatSize(b.Cell), total/b.Cell, maxCells, formatSize((total+maxCells-1)/maxCells)))
	}
	return faults
}

// checkPortLimits refuses rings and delay lines that are too large for any machine.
func (c *Config) checkPortLimits() (faults []*Error) {
	var delayed int64
	for p := range c.ports() {
		if ring := p.OtherSlots() * p.Ring.SlotBytes(); ring > maxRingBytes {
			faults = append(faults, c.Errorf("ports."+p.Name+".ring.other",
				"%d slots of %d bytes are %s, and %s are the most: lower it, or ring.frame",
				p.OtherSlots(), p.Ring.SlotBytes(), formatSize(ring), formatSize(maxRingBytes)))
		}
		before := delayed
		if delayed += p.delayBytes(); before <= maxDelayBytes && delayed > maxDelayBytes {
			faults = append(faults, c.Errorf("ports."+p.Name+".delay",
				"%s: the frames under way here would take %s, and those of all ports may take %s: lower delay, speed "+
					"or burst", formatTime(p.Delay), formatSize(p.delayBytes()), formatSize(maxDelayBytes)))
		}
	}
	return faults
}

// delayBytes is the memory of the delay line of a port: two bursts, and twice what the link holds, because small frames
// need more, and once more for MAC Control frames.
func (p *Port) delayBytes() int64 {
	if p.Delay == 0 {
		return 0
	}
	return 3*headroom.BitsIn(p.Speed, p.Delay)/8 + 4*p.Burst
}
