package acceptance

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/lldp"
	"pfcswitch/macctl"
)

// Bystanders h1 and h3 send to h2 more than its link takes, while h4 and h5 do to the switch, at random, what hosts can
// do, and an operator changes and asks what operators do. No frame of the bystanders is lost, late or doubled, and
// memory and goroutines are as before. CHAOS=10m lasts longer than a minute; CHAOS_SEED=N makes the same choices.
func TestChaos(t *testing.T) {
	const seed, lasts = 1, time.Minute
	c := newChaos(t, chaosSetting("CHAOS_SEED", seed, func(s string) (uint64, error) {
		return strconv.ParseUint(s, 10, 64)
	}))
	until := time.Now().Add(chaosSetting("CHAOS", lasts, time.ParseDuration))
	h1, h2, h3 := c.rig.Station(1, macctl.ModePFC, 50e6), c.rig.Station(2, macctl.ModePFC, 50e6),
		c.rig.Station(3, macctl.ModePFC, 50e6)
	for _, h := range []*Station{h1, h2, h3} {
		h.Forget.Store(true)
	}
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3, Rate: 30e6}), h3.Send(Stream{To: 2, Prio: 3, Rate: 30e6})
	h2.GoesOn(1, 100)
	h2.GoesOn(3, 100)
	goroutines, memory := runtime.NumGoroutine(), heap()

	var all sync.WaitGroup
	for _, n := range []int{4, 5} {
		all.Go(func() { c.attack(n, until) })
	}
	all.Go(func() { c.operate(until) })
	all.Wait()

	eventually(t, "there are no more goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now, most := heap(), memory+32<<20; now > most {
		t.Errorf("memory grew from %d to %d KiB", memory>>10, now>>10)
	}
	h2.GoesOn(1, 100)
	h2.GoesOn(3, 100)
	stop1()
	stop3()
	h2.Whole(h1, 3)
	h2.Whole(h3, 3)
	c.rig.NoLosslessDrops(4, 5)
	t.Logf("done: %v", c.done)
}

// chaosSetting reads an environment variable.
func chaosSetting[T any](name string, otherwise T, parse func(string) (T, error)) T {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	v, err := parse(text)
	if err != nil {
		panic(fmt.Sprintf("%s=%s: %v", name, text, err))
	}
	return v
}

// heap is the memory in use, in octets.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// chaos is what the attackers and the operator share.
type chaos struct {
	t     *testing.T
	rig   *Rig
	setup Setup
	seed  uint64
	api   *api.Client

	mu   sync.Mutex
	done map[string]int // how often each was done
}

func newChaos(t *testing.T, seed uint64) *chaos {
	setup := Setup{Keys: SmallBuffers, Each: "speed: 50M, ring: {outage: 400ms}"}
	r := Start(t, 5, setup)
	return &chaos{t: t, rig: r, setup: setup, seed: seed, api: r.ServeControl(), done: map[string]int{}}
}

func (c *chaos) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what]++
}

// An attacker is host n.
type attacker struct {
	*rand.Rand
	c     *chaos
	n     int
	s     *porttest.Socket
	probe []byte // a recorded loop probe
}

// attack does one thing after the other until a moment.
func (c *chaos) attack(n int, until time.Time) {
	s, err := porttest.OpenSocket(c.rig.Host(n).Path(), "eth0")
	if err != nil {
		c.t.Error(err)
		return
	}
	defer func() { _ = s.Close() }()
	a := &attacker{Rand: rand.New(rand.NewPCG(c.seed, uint64(n))), c: c, n: n, s: s}
	for time.Now().Before(until) {
		do := attacks[a.IntN(len(attacks))]
		do.act(a)
		c.note(do.name)
		time.Sleep(time.Duration(a.IntN(100)) * time.Millisecond)
	}
}

// attacks are what one host can do.
var attacks = []struct {
	name string
	act  func(a *attacker)
}{
	{"control flood", func(a *attacker) { a.repeat(2000, a.pfc(uint8(a.Uint32()), 0)) }},
	{"XOFF for everything", func(a *attacker) { a.repeat(20, a.pfc(0xff, 0xffff)) }},
	{"XOFF held open", func(a *attacker) { a.repeat(10, a.pfc(1<<3, 0xffff)); a.toVictim(20, 3) }},
	{"PAUSE", func(a *attacker) { a.repeat(10, macctl.AppendPause(nil, a.mac(), 0xffff)) }},
	{"broadcasts", func(a *attacker) { a.repeat(500, a.broadcast(0x0806, 46+a.IntN(1400))) }},
	{"unknown addresses", func(a *attacker) { a.many(500, func(b []byte) { a.scramble(b[1:6]) }) }},
	{"sources", func(a *attacker) { a.many(2000, func(b []byte) { a.scramble(b[7:12]) }) }},
	{"the victim's address", func(a *attacker) {
		b := a.broadcast(NumberedType, 60)
		copy(b[6:], HostMAC(2))
		a.repeat(20, b)
	}},
	{"a port's address", func(a *attacker) {
		b := a.broadcast(NumberedType, 60)
		copy(b[6:], PortMAC(1+a.IntN(5)))
		a.repeat(20, b)
	}},
	{"no obedience", func(a *attacker) { a.toVictim(100, 3) }},
	{"lossy", func(a *attacker) { a.toVictim(500, 0) }},
	{"small frames", func(a *attacker) {
		a.repeat(200, Tagged(Ethernet(a.n, 2, 0x0800, make([]byte, 46)), 0x8100, 3<<13))
	}},
	{"two tags", func(a *attacker) {
		a.repeat(20, Tagged(Ethernet(a.n, 2, 0x0800, make([]byte, 46)), 0x8100, 1, 0x8100, 20))
	}},
	{"neighbours", func(a *attacker) { a.neighbours(20) }},
	{"loop probes", func(a *attacker) { a.replay() }},
	{"measurements", func(a *attacker) { a.measure(50) }},
	{"junk", func(a *attacker) { a.junk(200) }},
	{"offloads", func(a *attacker) { a.offloads(50) }},
	{"flap", func(a *attacker) {
		must(a.c.t, a.c.rig.Host(a.n).LinkDown("eth0"))
		must(a.c.t, a.c.rig.Host(a.n).LinkUp("eth0"))
	}},
}

func (a *attacker) mac() [6]byte { return [6]byte(HostMAC(a.n)) }

// send sends a frame, where the link is up and the kernel takes it.
func (a *attacker) send(v frame.VnetHeader, b []byte) { _ = a.s.Send(v, b) }

func (a *attacker) repeat(times int, b []byte) {
	for range times {
		a.send(frame.VnetHeader{}, b)
	}
}

// many sends frames to the victim, each changed.
func (a *attacker) many(times int, change func(b []byte)) {
	for range times {
		b := Ethernet(a.n, 2, 0x0800, make([]byte, 46))
		change(b)
		a.send(frame.VnetHeader{}, b)
	}
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

func (a *attacker) broadcast(etherType uint16, octets int) []byte {
	b := Ethernet(a.n, 2, etherType, make([]byte, octets))
	copy(b, net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	return b
}

// toVictim sends full frames of a priority as fast as it can, whoever pauses it.
func (a *attacker) toVictim(frames int, priority uint16) {
	a.repeat(frames, Tagged(Ethernet(a.n, 2, 0x0800, make([]byte, 1500)), 0x8100, priority<<13))
}

// neighbours announces made-up devices for as long as LLDP can.
func (a *attacker) neighbours(n int) {
	for range n {
		id := lldp.ID{Subtype: 7, Value: fmt.Sprint("made-up-", a.Uint64())}
		a.send(frame.VnetHeader{}, lldp.AppendFrame(nil, a.mac(), &lldp.PDU{Chassis: id, Port: id, TTL: 65535}))
	}
}

// replay sends a loop probe that it has recorded, and one with other octets.
func (a *attacker) replay() {
	for a.probe == nil {
		p, err := a.s.Receive(2 * time.Second)
		if err != nil {
			return // the link is down, or no probe came
		}
		if isProbe(p.Data) {
			a.probe = append([]byte(nil), p.Data...)
		}
	}
	a.send(frame.VnetHeader{}, a.probe)
	forged := append([]byte(nil), a.probe...)
	forged[14+a.IntN(len(forged)-14)] ^= byte(1 << a.IntN(8))
	a.send(frame.VnetHeader{}, forged)
}

// measure sends requests, answers and results of measurements that nobody has begun, some in the name of a switch.
func (a *attacker) measure(n int) {
	format := macctl.MeasurementFormat{Opcode: 0xfffe, Identifier: [3]byte{2, 0x50, 0x46}}
	for range n {
		m := macctl.Measurement{Operation: uint16(1 + a.IntN(6)), Session: uint16(a.Uint32()), Sequence: a.Uint32(),
			Area: [2]uint64{a.Uint64(), a.Uint64()}, Precision: a.Uint32(), Reaction: a.Uint32(), Burst: a.Uint32()}
		source := a.mac()
		if a.IntN(2) == 0 {
			source = [6]byte(PortMAC(a.n))
		}
		a.send(frame.VnetHeader{}, format.Append(nil, [6]byte(PortMAC(1+a.IntN(5))), source, a.IntN(2) == 0, m))
	}
}

// junk sends random octets behind the EtherTypes that the switch reads itself.
func (a *attacker) junk(n int) {
	for range n {
		b := Ethernet(a.n, 1+a.IntN(5), []uint16{0x8808, 0x88cc, 0x88b5, 0x8100, 0x0800, 0x86dd}[a.IntN(6)],
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
		b := IPv4UDP(a.n, 2, 26, a.IntN(20_000))
		if a.IntN(2) == 0 {
			binary.BigEndian.PutUint16(b[12:], uint16(a.Uint32()))
		}
		a.send(v, b)
	}
}

// operate changes the configuration, asks, clears and captures.
func (c *chaos) operate(until time.Time) {
	random := rand.New(rand.NewPCG(c.seed, 0))
	for time.Now().Before(until) {
		var what string
		var err error
		switch random.IntN(6) {
		case 0:
			what = "apply"
			s := c.setup
			s.Keys += fmt.Sprintf("ageing: %ds\n", 200+random.IntN(100))
			s.Ports = map[int]string{4 + random.IntN(2): fmt.Sprintf("storm: %dM", 1+random.IntN(50))}
			err = c.rig.Apply(s, 5)
		case 1:
			what = "apply, refused"
			s := c.setup
			s.Keys = Lossless3 + "buffer: {lossless: {size: 1KiB}}\n"
			if c.rig.Apply(s, 5) == nil {
				err = fmt.Errorf("a configuration with half a buffer was put in force")
			}
		case 2:
			what = "clear"
			err = c.api.Clear(c.t.Context(), []string{"counters", "watermarks"}[random.IntN(2)])
		case 3:
			what = "capture"
			c.rig.startCapture(c.api, api.CaptureRequest{Snap: 96}).end()
		case 4:
			what = "MTU" // of a port that is anybody's: another program lowers it
			mtu := fmt.Sprint(1300 + random.IntN(200))
			IP(c.t, c.rig.Node, "link", "set", "dev", PortName(1+random.IntN(5)), "mtu", mtu)
		default:
			what = "show"
			for _, noun := range []string{"ports", "pfc", "buffer", "headroom", "queues", "fdb", "lldp", "events"} {
				if _, showErr := c.api.Show(c.t.Context(), noun); showErr != nil {
					err = showErr
				}
			}
		}
		c.note(what)
		if err != nil {
			c.t.Errorf("%s: %v", what, err)
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	}
}
