package runner

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

const (
	cell     = 256
	small    = cell
	mtu      = 1514
	lossless = 3 // the one lossless priority, unless a test says otherwise
	gigabit  = 1_000_000_000
)

// A reporter is a test, a benchmark, or a property under test.
type reporter interface {
	assert.TB
	Cleanup(func())
	Logf(format string, args ...any)
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
		Identity: bridge.Identity{Public: [8]byte{1, 2, 3}},
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

// What frames are made of and read by.
var (
	host, ether             = porttest.Host, porttest.Ether
	data, sequence, several = porttest.Data, porttest.Sequence, porttest.Several
)

// second is later than anything waits.
const second = 1_000_000_000

// asMap numbers ports.
func asMap(ports ...dataplane.PortConfig) map[int]dataplane.PortConfig {
	return maps.Collect(slices.All(ports))
}

// unshaped is a port without a speed: it may send whatever it has.
func unshaped(i int) dataplane.PortConfig {
	c := testPort(i)
	c.Speed, c.Burst = 0, 0
	return c
}

// faults returns what must never happen to a lossless frame, summed over all ports.
func faults(v *dataplane.Snapshot) uint64 {
	lost, _ := v.Losses()
	return lost
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
	c := assert.Got(sw.Tap().Attach(capture.Want{Ports: capture.AllPorts, Snap: snap})).Must(tb)
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

// A prober notes when frames came and how its port reacted. It has nothing to send.
type prober struct {
	stamps   []int64
	reacted  []int64
	loaded   []bool // likewise, whether the link was busy
	streamed uint8
	until    int64
}

func (p *prober) Receive(_ *macctl.MeasurementFrame, stamp, _, _ int64, _ bool) bool {
	p.stamps = append(p.stamps, stamp)
	return false
}

func (p *prober) Reacted(ns int64, busy bool) {
	p.reacted, p.loaded = append(p.reacted, ns), append(p.loaded, busy)
}

func (p *prober) Out(int64, int64) (m macctl.Measurement, to [6]byte, fallback, ok bool) {
	return m, to, false, false
}

func (p *prober) Next() int64                                      { return math.MaxInt64 }
func (p *prober) Stamped(*macctl.Measurement, int64, int64, int64) {}
func (p *prober) SetUp(bool, int64)                                {}
func (p *prober) SetIdle(bool, int64)                              {}
func (p *prober) Stream() (uint8, int64)                           { return p.streamed, p.until }
func (p *prober) Found() int64                                     { return 0 }

var peerMAC = [6]byte{2, 0, 0, 0, 9, 9}

// request is a request for a measurement.
func request() []byte {
	return macctl.DefaultMeasurementFormat.Append(nil, [6]byte{}, peerMAC, false,
		macctl.Measurement{Operation: macctl.MeasureRequest, Sequence: 7})
}

// pfc is a PFC frame for priority prio.
func pfc(prio uint8, quanta uint16) []byte {
	var times [dataplane.NumPriorities]uint16
	times[prio] = quanta
	return macctl.AppendPFC(nil, peerMAC, 1<<prio, times)
}

// unfinished is the header of a frame whose TCP checksum its sender left to the network card.
func unfinished(headers int) frame.VnetHeader {
	return frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOTCPv4, HdrLen: uint16(headers + 40),
		GSOSize: 1448, CsumStart: uint16(headers + 20), CsumOffset: 16}
}

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
	sw := assert.Got(dataplane.New(cfg, 1)).Must(tb)
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
	assert.MustNoError(tb, sw.Reconfigure(cfg, asMap(ports...), statics, now), "Reconfigure")
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
		taken = n
		assert.MustBeTrue(r.tb, stop != dataplane.FrameWaits, "Ingress took %d of %d frames", taken, len(frames))
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
func free(sw *dataplane.Switch, i int) { sw.Control(i, pfc(lossless, 0), Now(), Now()) }

// hear lets port i receive a PFC frame for priority prio, and returns the priorities that it paused anew.
func (r *rig) hear(i int, prio uint8, quanta uint16) uint8 {
	return r.sw.Control(i, pfc(prio, quanta), r.now, r.now)
}

// streams gives port 0 a stream of the peer's.
func (r *rig) streams(p *prober, prio uint8, until int64) {
	p.streamed, p.until = prio, until
	r.sw.Measurement(0, request(), false, r.now, r.now, 0)
}

func snapshot(sw *dataplane.Switch) *dataplane.Snapshot {
	v := new(dataplane.Snapshot)
	sw.Snapshot(v, Now())
	return v
}
