package dataplane

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// A reporter is a test, a benchmark, or a property under test.
type reporter interface {
	assert.TB
	Cleanup(func())
	Logf(format string, args ...any)
}

// Sizes that tables count in. A frame of one cell takes small + 24 octets of a link.
const (
	cell     = 256
	small    = cell
	mtu      = 1514
	lossless = 3 // the one lossless priority, unless a test says otherwise
	gigabit  = 1_000_000_000
)

// sharedSegment is what testConfig and testPort leave to share: a lossless queue alone crosses its threshold with the
// 33rd small frame, and is resumed with the 24th (T - xon_offset).
const (
	sharedSegment = 64 * cell
	alone         = 32
	resumesAt     = 24
	headroomCells = 64
)

// testConfig is a switch for n ports of testPort.
func testConfig(n int) Config {
	return Config{
		Buffer: buffer.Config{
			Cell: cell, RingHold: true,
			Lossless: buffer.PoolConfig{Size: sharedSegment + int64(n)*headroomCells*cell, Alpha: 1},
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
func testPort(i int) PortConfig {
	c := PortConfig{
		Name: fmt.Sprintf("p%d", i), MAC: [6]byte{2, 0, 0, 0, 1, byte(i)},
		Speed: gigabit, Burst: 62_500, MaxFrame: mtu, Cut: true,
		Mode: macctl.ModePFC, Lossless: 1 << lossless, Quanta: math.MaxUint16,
		Classify: classify.Config{Trust: classify.TrustPCP, DSCP: classify.DefaultDSCP()},
		Bridge:   bridge.PortConfig{PVID: 1, Learning: true, Flood: true},
	}
	for q := range c.Egress {
		c.Egress[q] = sched.Queue{Weight: 1}
		c.Ingress[q] = buffer.QueueConfig{Headroom: headroomCells * cell, XonOffset: 16 * cell}
	}
	return c
}

// pausePort is testPort under 802.3x PAUSE.
func pausePort(i int) PortConfig {
	c := testPort(i)
	c.Mode, c.Lossless = macctl.ModePause, 0xff
	return c
}

// A rig is a switch under virtual time.
type rig struct {
	tb    reporter
	sw    *Switch
	now   int64
	batch *port.Batch
	burst []Arrival // the last one, until it is settled
	seen  Snapshot  // by look
	sent  []Origin  // of all frames that were sent
}

// newRig returns a switch whose ports are up and whose hosts are known.
func newRig(tb reporter, cfg Config, ports ...PortConfig) *rig {
	tb.Helper()
	sw := assert.Got(New(cfg, 1)).Must(tb)
	tb.Cleanup(func() { _ = sw.Close() })
	r := &rig{tb: tb, sw: sw, now: 1, batch: port.NewBatch()}
	r.reconfigure(cfg, ports...)
	for i, c := range ports {
		sw.SetUp(i, true, r.now)
		r.station(host(i), c.Bridge.PVID, i)
	}
	return r
}

// station makes an address known behind port i.
func (r *rig) station(mac uint64, vid uint16, i int) {
	r.tb.Helper()
	assert.MustNoError(r.tb, r.sw.bridge.AddStatic(mac, vid, i, r.now), "AddStatic")
}

// reconfigure puts a configuration of these ports in force.
func (r *rig) reconfigure(cfg Config, ports ...PortConfig) {
	r.tb.Helper()
	assert.MustNoError(r.tb, r.sw.Reconfigure(cfg, asMap(ports...), nil, r.now), "Reconfigure")
}

// asMap numbers ports.
func asMap(ports ...PortConfig) map[int]PortConfig { return maps.Collect(slices.All(ports)) }

func testPorts(n int) (ports []PortConfig) {
	for i := range n {
		ports = append(ports, testPort(i))
	}
	return ports
}

func pausePorts(n int) (ports []PortConfig) {
	for i := range n {
		ports = append(ports, pausePort(i))
	}
	return ports
}

func plainRig(tb reporter, n int) *rig {
	tb.Helper()
	return newRig(tb, testConfig(n), testPorts(n)...)
}

// events returns the events of a kind.
func (r *rig) events(kind EventKind) []Event {
	return slices.DeleteFunc(r.sw.Events(nil, 0), func(e Event) bool { return e.Kind != kind })
}

func (r *rig) lastEvent() Event {
	all := r.sw.Events(nil, 0)
	return all[len(all)-1]
}

// What frames are made of and read by.
const experimental = porttest.Experimental

var (
	host, ether, tci        = porttest.Host, porttest.Ether, porttest.TCI
	data, sequence, several = porttest.Data, porttest.Sequence, porttest.Several
)

// receive lays frames into a ring and prepares them as the receive task does.
func (r *rig) receive(in int, frames [][]byte) []Arrival {
	burst := make([]Arrival, len(frames))
	for i, b := range frames {
		burst[i].Data, burst[i].At = slices.Clone(b), r.now
		c := &r.sw.ports[in].cfg
		burst[i].Prepare(&c.Classify, c.MaxFrame)
	}
	return burst
}

// arrive offers frames without settling them, and returns how many were taken.
func (r *rig) arrive(in int, frames ...[]byte) (taken int, stop Stop) {
	return r.arriveAt(r.now, in, frames...)
}

// arriveAt is arrive for frames that came at time at.
func (r *rig) arriveAt(at int64, in int, frames ...[]byte) (taken int, stop Stop) {
	r.settle()
	r.burst = r.receive(in, frames)
	for i := range r.burst {
		r.burst[i].At = at
	}
	for stop = ThresholdCrossed; stop == ThresholdCrossed && taken < len(frames); {
		r.sw.Begin(0)
		taken, stop = r.sw.Ingress(in, r.burst, taken, r.now, 0)
		if r.sw.RoomWaits(in) {
			staged := r.sw.Staged(nil)
			r.sw.Store(staged)
			r.sw.Publish(staged, r.now)
		}
	}
	return taken, stop
}

// settle moves the last burst into the packet memory and destroys what lay in the ring.
func (r *rig) settle() {
	r.sw.Store(r.sw.Settle(r.burst, nil))
	for i := range r.burst {
		clear(r.burst[i].Data)
	}
	r.burst = nil
}

// offer offers frames and settles them. All of them must be taken.
func (r *rig) offer(in int, frames ...[]byte) {
	r.tb.Helper()
	taken, stop := r.arrive(in, frames...)
	assert.MustBeTrue(r.tb, taken == len(frames), "Ingress took %d of %d frames, stop %d", taken, len(frames), stop)
	r.settle()
}

// leaveRoom offers what waits at port in to the buffer again, and returns how many frames went on.
func (r *rig) leaveRoom(in int) int { return r.sw.LeaveRoom(in, math.MaxInt, r.now) }

// send makes one send call of port i, of which the kernel takes at most most frames, and returns what it took.
func (r *rig) send(i, most int) (frames [][]byte) {
	r.batch.Reset()
	if r.sw.Dequeue(i, r.now, nil) == 0 {
		return nil
	}
	r.sw.Fill(i, r.batch, r.burst)
	if a := r.sw.AsItCame(i, r.burst); a != nil {
		assert.Same(r.tb, a.Data, r.batch.Frame(0, nil), "the frame that AsItCame returns")
	}
	n := min(most, r.batch.Len())
	for k := range n {
		frames = append(frames, r.batch.Frame(k, nil))
		r.sent = append(r.sent, r.sw.Plan(i, k).Origin)
	}
	r.sw.Sent(i, n, r.now)
	return frames
}

// refuse drops the first frame of the plan of port i.
func (r *rig) refuse(i int, reason DropReason, now int64) {
	f := r.sw.Plan(i, 0)
	r.sw.Refuse(i, f, reason, now)
}

// roomy is a configuration in which n ports seldom fill the buffer.
func roomy(n int) Config {
	cfg := testConfig(n)
	cfg.Buffer.Lossless.Size += 1 << 20
	cfg.Buffer.Lossy.Size = 16 << 20
	return cfg
}

// drain lets port i send until time until.
func (r *rig) drain(i int, until int64) (frames [][]byte) {
	for {
		got := r.send(i, port.BatchFrames)
		frames = append(frames, got...)
		if got != nil {
			continue
		}
		at := r.sw.TxDeadline(i, r.now)
		if at <= r.now { // the peer waits to be told something, which is not this function's business
			at = r.now + resumePeriod
		}
		if at > until {
			r.now = until
			return frames
		}
		r.now = at
	}
}

// second is later than anything waits.
const second = 1_000_000_000

// tell returns the MAC Control frame that port i sends now, nil where it has none.
func (r *rig) tell(i int) []byte {
	b, ok := r.sw.ControlOut(i, nil, r.now)
	if !ok {
		return nil
	}
	r.sw.ControlSent(i, r.now)
	return b
}

// hear lets port i receive a PFC frame for priority prio.
func (r *rig) hear(i int, prio uint8, quanta uint16) {
	r.sw.Control(i, pfc(prio, quanta), r.now, r.now)
}

// pfc is a PFC frame for priority prio.
func pfc(prio uint8, quanta uint16) []byte {
	var times [NumPriorities]uint16
	times[prio] = quanta
	return macctl.AppendPFC(nil, [6]byte{2}, 1<<prio, times)
}

// pause lets port i receive a PAUSE.
func (r *rig) pause(i int, quanta uint16) {
	r.sw.Control(i, macctl.AppendPause(nil, [6]byte{2}, quanta), r.now, r.now)
}

// snapshot returns the state of the switch.
func (r *rig) snapshot() *Snapshot {
	var v Snapshot
	r.sw.Snapshot(&v, r.now)
	return &v
}

// look is snapshot for those who look often; what it returns holds until the next look.
func (r *rig) look() *Snapshot {
	r.sw.Snapshot(&r.seen, r.now)
	return &r.seen
}

func (r *rig) count(i int) *Counters { return &r.sw.ports[i].count }
