package runner

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

const (
	cell     = 256
	small    = cell
	mtu      = 1514
	lossless = 3 // the one lossless priority, unless a test says otherwise
	gigabit  = 1_000_000_000

	uplinkPort = 3 // of the trunk
)

// A reporter is a test, a benchmark, or a property under test.
type reporter interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// testConfig is a switch for n ports of testPort.
func testConfig(n int) dataplane.Config {
	return dataplane.Config{
		Buffer: buffer.Config{
			Cell: cell, RingHold: true,
			Lossless: buffer.PoolConfig{Size: 64*cell + int64(n)*64*cell, Alpha: 1},
			Lossy:    buffer.PoolConfig{Size: 1 << 20, Alpha: 1},
		},
		Lossless: 1 << lossless,
		Demote:   true,
		Ageing:   time.Minute,
		Stations: 1024, // a property makes hundreds of switches
		Identity: bridge.Identity{1, 2, 3},
	}
}

// testPort is port i: PFC on one priority, 1 Gbit/s, trusting the PCP, all frames of VLAN 1 untagged.
func testPort(i int) dataplane.PortConfig {
	c := dataplane.PortConfig{
		Name: fmt.Sprintf("p%d", i), MAC: [6]byte{2, 0, 0, 0, 1, byte(i)},
		Speed: gigabit, Burst: 62_500, MaxFrame: mtu, Cut: true,
		Mode: macctl.ModePFC, Lossless: 1 << lossless, Quanta: math.MaxUint16,
		Classify: classify.Config{Trust: classify.TrustPCP, DSCP: classify.DefaultDSCP()},
		Bridge:   bridge.PortConfig{PVID: 1, Learning: true, Flood: true},
	}
	for q := range c.Egress {
		c.Egress[q] = sched.Queue{Weight: 1}
		c.Ingress[q] = buffer.QueueConfig{Headroom: 64 * cell, XonOffset: 16 * cell}
	}
	return c
}

// ether returns a frame of n octets; tag nil is untagged. What follows the header depends on seq.
func ether(dst, src uint64, tag *frame.TCI, etherType uint16, seq, n int) []byte {
	b := make([]byte, 12, max(n, 22))
	frame.PutAddress(b, dst)
	frame.PutAddress(b[6:], src)
	if tag != nil {
		b = binary.BigEndian.AppendUint16(b, frame.TypeVLAN)
		b = binary.BigEndian.AppendUint16(b, uint16(*tag))
	}
	b = binary.BigEndian.AppendUint16(b, etherType)
	b = binary.BigEndian.AppendUint32(b, uint32(seq))
	for len(b) < n {
		b = append(b, byte(len(b)*7+seq))
	}
	return b[:n]
}

// experimental is a Local Experimental EtherType.
const experimental = 0x88B5

func tci(prio uint8, vid uint16) *frame.TCI {
	t := frame.MakeTCI(prio, false, vid)
	return &t
}

// data returns a priority-tagged frame of n octets between two hosts.
func data(from, to int, prio uint8, seq, n int) []byte {
	return ether(host(to), host(from), tci(prio, 0), experimental, seq, n)
}

// sequence reads the number that data gave a frame.
func sequence(b []byte) int { return int(binary.BigEndian.Uint32(b[18:])) }

// several returns n frames numbered from 0.
func several(from, to int, prio uint8, n, octets int) [][]byte {
	var all [][]byte
	for seq := range n {
		all = append(all, data(from, to, prio, seq, octets))
	}
	return all
}

// second is later than anything waits.
const second = 1_000_000_000

// asMap numbers ports.
func asMap(ports ...dataplane.PortConfig) map[int]dataplane.PortConfig {
	m := map[int]dataplane.PortConfig{}
	for i, c := range ports {
		m[i] = c
	}
	return m
}

// unshaped is a port without a speed: it may send whatever it has.
func unshaped(i int) dataplane.PortConfig {
	c := testPort(i)
	c.Speed, c.Burst = 0, 0
	return c
}

// A ledger adds up what a snapshot says of data frames.
type ledger struct {
	received, copies, sent, dropped, held uint64
}

// accounts returns the ledger of all ports. A frame that was lost in a ring was not received.
func accounts(v *dataplane.Snapshot) (l ledger) {
	for i := range v.Ports {
		p := &v.Ports[i]
		l.received += p.Counters.ReceivedFrames
		l.copies += p.Counters.Copies
		l.sent += p.Counters.SentFrames
		l.held += uint64(p.Delayed)
		for _, n := range p.Held {
			l.held += uint64(n)
		}
		for prio := range p.Counters.Drops {
			for reason, n := range p.Counters.Drops[prio] {
				if dataplane.DropReason(reason) != dataplane.DropRing {
					l.dropped += n
				}
			}
		}
	}
	return l
}

// faults returns what must never happen to a lossless frame, summed over all ports.
func faults(v *dataplane.Snapshot) (n uint64) {
	for i := range v.Ports {
		for _, drops := range v.Ports[i].Counters.LosslessDrops {
			n += drops
		}
	}
	return n
}

// seen is a captured frame.
type seen struct {
	port   int
	out    bool
	held   int64
	length int
	data   string
	note   string
}

// tapped attaches to a switch.
func tapped(tb testing.TB, sw *dataplane.Switch, snap int) *capture.Cursor {
	tb.Helper()
	c, err := sw.Tap().Attach(capture.Want{Ports: capture.AllPorts, Snap: snap})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

func read(c *capture.Cursor) (all []seen) {
	for c.Read(func(r *capture.Record) bool {
		all = append(all, seen{r.Port, r.Out, r.Held, r.Length, string(r.Data), string(r.Note)})
		return true
	}) {
	}
	return all
}

// discarding is a trunk whose RED lets frames of priority 1 pass while fewer than so many octets wait in their area.
func discarding(low int64) dataplane.TrunkConfig {
	c := threeToOne()
	c.Aggregate.Metered = true
	c.Aggregate.Total, c.Aggregate.Meters[1] = alwaysYellow, alwaysYellow
	c.Aggregate.RED[1] = trunk.REDConfig{Low: low, High: low, Probability: 1}
	return c
}

// marked sets the watermarks of the lossless priority, both ways.
func marked(c dataplane.TrunkConfig, high, low int64) dataplane.TrunkConfig {
	c.Flow.Priority[lossless] = trunk.Mark{High: high, Low: low}
	c.Flow.UplinkPriority[lossless] = trunk.Mark{High: high, Low: low}
	return c
}

// threeToOne is a trunk of the first ports, without meters and watermarks.
func threeToOne() dataplane.TrunkConfig {
	return dataplane.TrunkConfig{Name: "up", Uplink: uplinkPort, Members: []int{0, 1, 2},
		Aggregate: trunk.AggregatorConfig{Lossless: 1 << lossless},
		Flow:      trunk.FlowConfig{Mode: macctl.ModePFC, Lossless: 1 << lossless}}
}

// alwaysYellow makes every frame yellow, for its own meter and for the total's.
var alwaysYellow = trunk.MeterConfig{PIR: 800e9, PBS: trunk.MaxBurst}

// A prober notes what it is told, and has what it is given to send.
type prober struct {
	urgent   bool
	received []macctl.MeasurementFrame
	stamps   []int64
	send     []macctl.Measurement
	to       [6]byte
	fallback bool
	ups      []bool
	reacted  []int64
	loaded   []bool // likewise, whether the link was busy
	sent     []int64
	streamed uint8
	busy     []bool
	until    int64
	found    int64
}

func (p *prober) Receive(m *macctl.MeasurementFrame, stamp, _, _ int64, busy bool) bool {
	p.busy = append(p.busy, busy)
	p.received, p.stamps = append(p.received, *m), append(p.stamps, stamp)
	return p.urgent
}

func (p *prober) Next() int64 {
	if len(p.send) > 0 {
		return 0
	}
	return math.MaxInt64
}

func (p *prober) Out(int64, int64) (m macctl.Measurement, to [6]byte, fallback, ok bool) {
	if len(p.send) == 0 {
		return m, to, false, false
	}
	m, p.send = p.send[0], p.send[1:]
	return m, p.to, p.fallback, true
}

func (p *prober) Stamped(_ *macctl.Measurement, sent, _, _ int64) { p.sent = append(p.sent, sent) }
func (p *prober) Reacted(ns int64, busy bool) {
	p.reacted, p.loaded = append(p.reacted, ns), append(p.loaded, busy)
}

func (p *prober) SetUp(up bool, _ int64) { p.ups = append(p.ups, up) }
func (p *prober) Stream() (uint8, int64) { return p.streamed, p.until }
func (p *prober) Found() int64           { return p.found }

var peerMAC = [6]byte{2, 0, 0, 0, 9, 9}

func request(to [6]byte, fallback bool) []byte {
	return macctl.DefaultMeasurementFormat.Append(nil, to, peerMAC, fallback,
		macctl.Measurement{Operation: macctl.MeasureRequest, Sequence: 7})
}

// unfinished is the header of a frame whose TCP checksum its sender left to the network card.
func unfinished(headers int) frame.VnetHeader {
	return frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOTCPv4, HdrLen: uint16(headers + 40),
		GSOSize: 1448, CsumStart: uint16(headers + 20), CsumOffset: 16}
}

// host is the address of the station behind port i.
func host(i int) uint64 { return 0x02_00_00_00_00_10 + uint64(i) }

// A rig is a switch of two ports under virtual time, of which port 0 measures.
type rig struct {
	tb    reporter
	sw    *dataplane.Switch
	now   int64
	batch *port.Batch
}

func measuringRig(tb reporter) (*rig, *prober) {
	cfg, c, p := testConfig(2), testPort(0), &prober{}
	cfg.Measurement, c.Prober = macctl.DefaultMeasurementFormat, p
	sw, err := dataplane.New(cfg, 1)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	tb.Cleanup(func() { _ = sw.Close() })
	start(tb, sw, cfg, 1, c, testPort(1))
	return &rig{tb: tb, sw: sw, now: 1, batch: port.NewBatch()}, p
}

// start configures a switch, brings its ports up and makes their hosts known.
func start(tb reporter, sw *dataplane.Switch, cfg dataplane.Config, now int64, ports ...dataplane.PortConfig) {
	var statics []dataplane.Static
	for i, c := range ports {
		statics = append(statics, dataplane.Static{MAC: host(i), VID: c.Bridge.PVID, Port: i})
	}
	if err := sw.Reconfigure(cfg, asMap(ports...), statics, now); err != nil {
		tb.Fatalf("Reconfigure: %v", err)
	}
	for i := range ports {
		sw.SetUp(i, true, now)
	}
}

// offer offers frames and settles them. All of them must be taken.
func (r *rig) offer(in int, frames ...[]byte) {
	r.tb.Helper()
	c, _ := r.sw.PortConfig(in)
	burst := make([]dataplane.Arrival, len(frames))
	for i, b := range frames {
		burst[i].Data, burst[i].At = slices.Clone(b), r.now
		burst[i].Prepare(&c.Classify, c.MaxFrame)
	}
	for taken := 0; taken < len(burst); {
		n, stop := r.sw.Ingress(in, burst, taken, r.now, 0)
		if taken = n; stop == dataplane.Hold {
			r.tb.Fatalf("Ingress took %d of %d frames", taken, len(frames))
		}
	}
	r.sw.Store(r.sw.Settle(burst, nil))
}

// send lets port i send what it may now, and returns how many frames that are.
func (r *rig) send(i int) (frames int) {
	for n := r.sw.Dequeue(i, r.now, nil); n > 0; n = r.sw.Dequeue(i, r.now, nil) {
		r.batch.Reset()
		r.sw.Fill(i, r.batch, nil)
		r.sw.Sent(i, n, r.now)
		frames += n
	}
	return frames
}

// drain lets port i send until a time.
func (r *rig) drain(i int, until int64) {
	for ; r.now < until; r.now = min(until, max(r.now+1, r.sw.TxDeadline(i, r.now))) {
		r.send(i)
	}
}

// inRing tells whether a frame waits in a ring of port i for buffer.
func inRing(sw *dataplane.Switch, i int) bool {
	f, _ := sw.Trace(i, data(0, 1, lossless, 0, small), frame.VnetHeader{}, Now())
	return f.InRing
}

// free lets port i hear that it may send priority lossless again.
func free(sw *dataplane.Switch, i int) {
	sw.Control(i, macctl.AppendPFC(nil, [6]byte{2}, 1<<lossless, [dataplane.NumPriorities]uint16{}), Now(), Now())
}

// hear lets port i receive a PFC frame for priority prio.
func (r *rig) hear(i int, prio uint8, quanta uint16) {
	var times [dataplane.NumPriorities]uint16
	times[prio] = quanta
	r.sw.Control(i, macctl.AppendPFC(nil, [6]byte{2}, 1<<prio, times), r.now, r.now)
}

// streams gives port 0 a stream of the peer's.
func (r *rig) streams(p *prober, prio uint8, until int64) {
	p.streamed, p.until = prio, until
	r.sw.Measurement(0, request([6]byte{}, false), r.now, r.now, 0)
}

func snapshot(sw *dataplane.Switch) *dataplane.Snapshot {
	v := new(dataplane.Snapshot)
	sw.Snapshot(v, Now())
	return v
}
