package acceptance

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/lldp"
	"pfcswitch/macctl"
)

// An attacker is host n, or the virtual machine in its place.
type attacker struct {
	*rand.Rand
	c     *chaos
	n     int
	put   func(v frame.VnetHeader, b []byte) error
	s     *porttest.Socket // of a host
	can   []attack
	probe []byte // a recorded loop probe
}

type attack struct {
	name string
	act  func(a *attacker)
}

// attackers are three hosts, one of them a member of the trunk, and a virtual machine.
func (c *chaos) attackers() (all []*attacker) {
	for _, n := range []int{4, 5, machineHost, 8} {
		a := &attacker{Rand: rand.New(rand.NewPCG(c.seed, uint64(n))), c: c, n: n}
		if n == machineHost {
			a.put, a.can = c.rig.machineOf(n), append(slices.Clone(attacks), attacksOfMachines...)
		} else {
			a.s, a.can = c.rig.Socket(n), append(slices.Clone(attacks), attacksOfHosts...)
			a.put = a.s.Send
			must(c.t, c.rig.Host(n).LinkGSOMax("eth0", 200_000))
			must(c.t, c.rig.Node.LinkGSOMax(PortName(n), 200_000))
		}
		all = append(all, a)
	}
	return all
}

// attack does one thing after the other until a moment.
func (a *attacker) attack(until time.Time) {
	for time.Now().Before(until) {
		do := a.can[a.IntN(len(a.can))]
		do.act(a)
		a.c.note(do.name)
		time.Sleep(time.Duration(a.IntN(100)) * time.Millisecond)
	}
}

// attacks are what every attacker can do.
var attacks = []attack{
	{"control flood", func(a *attacker) { a.repeat(2000, a.pfc(uint8(a.Uint32()), 0)) }},
	{"XOFF for everything", func(a *attacker) { a.repeat(20, a.pfc(0xff, 0xffff)) }},
	{"XOFF held open", func(a *attacker) { a.repeat(10, a.pfc(1<<3, 0xffff)); a.toVictim(20, 3) }},
	{"PAUSE", func(a *attacker) { a.repeat(10, macctl.AppendPause(nil, a.mac(), 0xffff)) }},
	{"broadcasts", func(a *attacker) { a.repeat(500, a.broadcast(0x0806, 46+a.IntN(1400))) }},
	{"unknown addresses", func(a *attacker) { a.many(500, func(b []byte) { a.scramble(b[1:6]) }) }},
	{"sources", func(a *attacker) { a.many(2000, func(b []byte) { a.scramble(b[7:12]) }) }},
	{"a bystander's address", func(a *attacker) { a.as(HostMAC([]int{1, 2, 3, behind}[a.IntN(4)])) }},
	{"another attacker's address", func(a *attacker) { a.as(HostMAC([]int{4, 5, machineHost, 8}[a.IntN(4)])) }},
	{"a switch's address", func(a *attacker) { a.as(a.switchMAC()) }},
	{"no obedience", func(a *attacker) { a.toVictim(100, 3+uint16(a.IntN(2))) }},
	{"lossy", func(a *attacker) { a.toVictim(500, 0) }},
	{"small frames", func(a *attacker) { a.repeat(200, Tagged(a.frame(46), 0x8100, 3<<13)) }},
	{"two tags", func(a *attacker) { a.repeat(20, Tagged(a.frame(46), 0x8100, 1, 0x8100, 20)) }},
	{"neighbours", func(a *attacker) { a.neighbours(20) }},
	{"measurements", func(a *attacker) { a.measure(50) }},
	{"junk", func(a *attacker) { a.junk(200) }},
	{"offloads", func(a *attacker) { a.offloads(50) }},
}

var attacksOfHosts = []attack{
	{"loop probes", func(a *attacker) { a.replay() }},
	{"late answers", func(a *attacker) { a.answerLate(200 * time.Millisecond) }},
	{"BIG TCP", func(a *attacker) {
		f := newGSOFrame("", append([]byte(nil), gsoFrames()[0].Data...), frame.GSOTCPv4)
		a.send(f.Vnet, append(f.Data, make([]byte, 20_000+a.IntN(80_000))...))
		a.toVictim(20, 3)
	}},
	{"flap", func(a *attacker) {
		must(a.c.t, a.c.rig.Host(a.n).LinkDown("eth0"))
		must(a.c.t, a.c.rig.Host(a.n).LinkUp("eth0"))
	}},
}

var attacksOfMachines = []attack{
	{"a datagram that is left to fragment", func(a *attacker) { a.unfragmented(4000, 1480); a.toVictim(20, 3) }},
	{"a ring that stops", func(a *attacker) { a.unfragmented(400, 200); a.toVictim(20, 3) }},
}

func (a *attacker) mac() [6]byte { return [6]byte(HostMAC(a.n)) }

// victim is a bystander to which the switch forwards.
func (a *attacker) victim() int { return []int{2, behind}[a.IntN(2)] }

// switchMAC is an address of one of the switches.
func (a *attacker) switchMAC() []byte {
	if a.IntN(3) == 0 {
		return HostMAC(10)
	}
	return PortMAC(1 + a.IntN(behind))
}

// send sends a frame, where the link is up and the kernel takes it.
func (a *attacker) send(v frame.VnetHeader, b []byte) { _ = a.put(v, b) }

func (a *attacker) repeat(times int, b []byte) {
	for range times {
		a.send(frame.VnetHeader{}, b)
	}
}

// frame is one to a victim.
func (a *attacker) frame(payload int) []byte {
	return Ethernet(a.n, a.victim(), 0x0800, make([]byte, payload))
}

// many sends frames to a victim, each changed.
func (a *attacker) many(times int, change func(b []byte)) {
	for range times {
		b := a.frame(46)
		change(b)
		a.send(frame.VnetHeader{}, b)
	}
}

// as sends with a source address that is not its own.
func (a *attacker) as(source []byte) {
	b := a.broadcast(NumberedType, 60)
	copy(b[6:], source)
	a.repeat(20, b)
}

func (a *attacker) scramble(b []byte) {
	for i := range b {
		b[i] = byte(a.Uint32())
	}
}

func (a *attacker) pfc(vector uint8, quanta uint16) []byte {
	var times [8]uint16
	for i := range times {
		times[i] = quanta
	}
	return macctl.AppendPFC(nil, a.mac(), vector, times)
}

var broadcastMAC = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func (a *attacker) broadcast(etherType uint16, octets int) []byte {
	b := Ethernet(a.n, a.n, etherType, make([]byte, octets))
	copy(b, broadcastMAC)
	return b
}

// toVictim sends full frames of a priority as fast as it can, whoever pauses it.
func (a *attacker) toVictim(frames int, priority uint16) {
	a.repeat(frames, Tagged(a.frame(1500), 0x8100, priority<<13))
}

// neighbours announces made-up devices for as long as LLDP can.
func (a *attacker) neighbours(n int) {
	for range n {
		a.announce(fmt.Sprint("made-up-", a.Uint64()), 65535)
	}
}

// announce sends an LLDP frame of a device that has PFC and measures headroom.
func (a *attacker) announce(name string, ttl uint16) {
	id := lldp.ID{Subtype: 7, Value: name}
	pfc := lldp.Organization{OUI: [3]byte{0x00, 0x80, 0xc2}, Subtype: 0x0b, Info: "\x28\x18"}
	a.send(frame.VnetHeader{}, lldp.AppendFrame(nil, a.mac(), &lldp.PDU{Chassis: id, Port: id, TTL: ttl,
		Organization: []lldp.Organization{pfc}}))
}

// next returns the first frame that wanted accepts, of those that come in the time.
func (a *attacker) next(within time.Duration, wanted func(b []byte) bool) []byte {
	for until := time.Now().Add(within); time.Now().Before(until); {
		if p, err := a.s.Receive(10 * time.Millisecond); err == nil && wanted(p.Data) {
			return p.Data
		}
	}
	return nil
}

// replay sends a loop probe that it has recorded, of either switch, and one with other octets.
func (a *attacker) replay() {
	if a.probe == nil || a.IntN(3) == 0 {
		if a.probe = a.next(2*time.Second, isProbe); a.probe == nil {
			return // the link is down
		}
	}
	a.send(frame.VnetHeader{}, a.probe)
	forged := append([]byte(nil), a.probe...)
	forged[14+a.IntN(len(forged)-14)] ^= byte(1 << a.IntN(8))
	a.send(frame.VnetHeader{}, forged)
}

// answerLate is a peer that agrees to measure headroom, answers late, and claims a headroom of its own.
func (a *attacker) answerLate(lasts time.Duration) {
	format := macctl.DefaultMeasurementFormat
	a.announce("late", 120)
	for until := time.Now().Add(lasts); time.Now().Before(until); {
		b := a.next(lasts, format.Recognizes)
		if b == nil {
			return
		}
		m, _ := format.Parse(b, a.mac())
		if m.Operation != macctl.MeasureRequest {
			continue
		}
		time.Sleep(time.Duration(a.IntN(9000)) * time.Microsecond)
		answer := m.Measurement
		answer.Operation, answer.Reaction = macctl.MeasureAnswer, uint32(a.IntN(10_000_000))
		a.send(frame.VnetHeader{}, format.Append(nil, m.Peer, a.mac(), m.Fallback, answer))
		answer.Operation, answer.Area = macctl.MeasureResult, [2]uint64{a.Uint64N(1 << 32), a.Uint64N(1 << 32)}
		a.send(frame.VnetHeader{}, format.Append(nil, m.Peer, a.mac(), m.Fallback, answer))
	}
}

// measure sends requests, answers and results of measurements that nobody has begun, some in the name of a switch.
func (a *attacker) measure(n int) {
	format := macctl.DefaultMeasurementFormat
	for range n {
		m := macctl.Measurement{Operation: uint16(1 + a.IntN(6)), Session: uint16(a.Uint32()), Sequence: a.Uint32(),
			Area: [2]uint64{a.Uint64(), a.Uint64()}, Precision: a.Uint32(), Reaction: a.Uint32(), Burst: a.Uint32()}
		source := a.mac()
		if a.IntN(2) == 0 {
			source = [6]byte(a.switchMAC())
		}
		a.send(frame.VnetHeader{}, format.Append(nil, [6]byte(a.switchMAC()), source, a.IntN(2) == 0, m))
	}
}

// junk sends random octets behind the EtherTypes that the switch reads itself.
func (a *attacker) junk(n int) {
	for range n {
		b := Ethernet(a.n, 1+a.IntN(behind), []uint16{0x8808, 0x88cc, 0x88b5, 0x8100, 0x0800, 0x86dd}[a.IntN(6)],
			make([]byte, a.IntN(1500)))
		a.scramble(b[14:])
		if a.IntN(2) == 0 {
			copy(b, []byte{1, 0x80, 0xc2, 0, 0, byte(a.IntN(16))})
		}
		a.send(frame.VnetHeader{}, b)
	}
}

// offloads sends frames whose rest of the work cannot be true; the kernel refuses most.
func (a *attacker) offloads(n int) {
	for range n {
		v := frame.VnetHeader{Flags: byte(a.IntN(4)), GSOType: byte(a.IntN(8)), HdrLen: uint16(a.IntN(200)),
			GSOSize: uint16(a.IntN(3000)), CsumStart: uint16(a.IntN(100)), CsumOffset: uint16(a.IntN(20))}
		b := IPv4UDP(a.n, a.victim(), 26, a.IntN(20_000))
		if a.IntN(2) == 0 {
			binary.BigEndian.PutUint16(b[12:], uint16(a.Uint32()))
		}
		a.send(v, b)
	}
}

// unfragmented sends a datagram that virtio calls UDP GSO (type 3), which the kernel hands to no packet socket.
func (a *attacker) unfragmented(octets, part int) {
	a.send(frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOUDP, HdrLen: 42, GSOSize: uint16(part),
		CsumStart: 34, CsumOffset: 6}, IPv4UDP(a.n, a.victim(), 0, octets))
}
