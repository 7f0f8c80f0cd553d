package runner

import (
	"math"
	"slices"
	"testing"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// A loopPort is a port that receives the same frames again and again, and sends into nothing.
type loopPort struct {
	port.Port
	class       port.Class
	frames      []port.Frame
	control     [][]byte // come one a round, in turn
	turn        int
	waits       bool // a control frame waits
	sent        int
	controlSent int
}

func (p *loopPort) Receive(c port.Class, dst []port.Frame, maxBytes int) int {
	if c != p.class {
		return 0
	}
	now, n := wallClock(), 0
	for n < min(len(dst), len(p.frames)) && maxBytes > 0 {
		dst[n] = p.frames[n]
		dst[n].Stamp = now // meters are given time
		maxBytes -= len(dst[n].Data)
		n++
	}
	return n
}

func (p *loopPort) Control() ([]byte, int64) {
	if !p.waits {
		return nil, 0
	}
	return p.control[p.turn%len(p.control)], wallClock()
}

func (p *loopPort) QueueBudget() int                             { return math.MaxInt }
func (p *loopPort) ControlDone()                                 { p.waits, p.turn = false, p.turn+1 }
func (p *loopPort) Release(port.Class, int)                      {}
func (p *loopPort) Rewind(port.Class)                            {}
func (p *loopPort) BacklogExceeds(port.Class, int) bool          { return false }
func (p *loopPort) Backlog(port.Class) port.Backlog              { return port.Backlog{Frames: 100} }
func (p *loopPort) Slots(port.Class) port.Slots                  { return port.Slots{Full: 8192} }
func (p *loopPort) Octets(port.Class) int                        { return 8192 * 2048 }
func (p *loopPort) Descriptors(fds []int32, _ port.Work) []int32 { return fds }
func (p *loopPort) SendControl([]byte) error                     { p.controlSent++; return nil }
func (p *loopPort) Steer([]bpf.RawInstruction) error             { return nil }
func (p *loopPort) Close() error                                 { return nil }

func (p *loopPort) Send(b *port.Batch) (int, error) {
	p.sent += b.Len()
	return b.Len(), nil
}

// A workerRig is a worker without a goroutine, between two loop ports: rounds are the test's to make.
type workerRig struct {
	w     *worker
	cfg   dataplane.Config
	ports []dataplane.PortConfig
	in    *loopPort
	out   *loopPort
}

func newWorkerRig(tb testing.TB, c port.Class, frames []port.Frame, change func(cfg *dataplane.Config,
	ports []dataplane.PortConfig)) *workerRig {
	tb.Helper()
	cfg, ports := roomy(2), unshapedPorts(2)
	if change != nil {
		change(&cfg, ports)
	}
	sw := assert.Got(dataplane.New(cfg, Now())).Must(tb)
	tb.Cleanup(func() { _ = sw.Close() })
	r := &Runner{sw: sw, refresher: newRefresher(dataplane.MaxPorts)}
	w := assert.Got(newWorker(r, 0)).Must(tb)
	opened := w.cpuContention // tests give it another
	tb.Cleanup(func() { w.cpuContention = opened; _ = w.close() })
	r.workers = []*worker{w}
	start(tb, sw, cfg, Now(), ports...)
	m := &workerRig{w: w, cfg: cfg, ports: ports, in: &loopPort{class: c, frames: frames}, out: &loopPort{}}
	for i, p := range []*loopPort{m.in, m.out} {
		t := &portTask{index: i, port: p}
		t.configure(ports[i])
		r.tasks[i] = t
	}
	r.assign(sw)
	return m
}

// reconfigure puts the configuration of the rig in force.
func (m *workerRig) reconfigure(tb testing.TB) {
	statics := []dataplane.Static{{MAC: host(0), VID: 1, Port: 0}, {MAC: host(1), VID: 1, Port: 1}}
	assert.Must(tb, m.w.r.sw.Reconfigure(m.cfg, asMap(m.ports...), statics, Now()))
}

// fill puts lossless frames of the first port into the buffer, where they stay: the second port's host stops them.
func (m *workerRig) fill(tb testing.TB, frames int) {
	r := &rig{tb: tb, sw: m.w.r.sw, now: Now()}
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, frames, mtu)...)
}

// round makes a round, before which a control frame of each port that has some arrives.
func (m *workerRig) round() {
	m.in.waits, m.out.waits = m.in.control != nil, m.out.control != nil
	m.w.round(Now())
}

// repeated is a burst of a frame.
func repeated(b []byte, n int) (all []port.Frame) {
	for range n {
		all = append(all, port.Frame{Data: slices.Clone(b), Stamp: wallClock()})
	}
	return all
}

// loads are the ways of a frame through a worker.
func loads(tb testing.TB) map[string]*workerRig {
	burst := repeated(data(0, 1, lossless, 0, 60), burstFrames)
	lossy := repeated(data(0, 1, 0, 0, 60), burstFrames)
	both := append(repeated(data(0, 1, 0, 0, 60), burstFrames/2), repeated(data(0, 1, 1, 0, 60), burstFrames/2)...)
	all := map[string]*workerRig{
		"lossless": newWorkerRig(tb, port.Lossless, burst, nil),
		"lossy":    newWorkerRig(tb, port.Other, lossy, nil),
		"shaped": newWorkerRig(tb, port.Lossless, burst, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
			ports[1] = testPort(1)
		}),
		"delayed": newWorkerRig(tb, port.Lossless, burst, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
			ports[1].Delay = 10_000
		}),
		"unknown": newWorkerRig(tb, port.Other, repeated(data(0, 77, 0, 0, 60), burstFrames), nil),
		"paused": newWorkerRig(tb, port.Lossless, burst, func(cfg *dataplane.Config, _ []dataplane.PortConfig) {
			*cfg = testConfig(2)
		}),
		"trunk":             inTrunk(tb, newWorkerRig(tb, port.Lossless, burst, nil), trunk.AggregatorConfig{}),
		"trunk with meters": inTrunk(tb, newWorkerRig(tb, port.Other, lossy, nil), metered()),
		"trunk that drops":  inTrunk(tb, newWorkerRig(tb, port.Other, both, nil), dropping()),
		"cut":               newWorkerRig(tb, port.Other, []port.Frame{gsoFrame(8)}, nil),
	}
	// The second port's host stops and frees it in turn, so that frames wait, thresholds are crossed and XOFF is sent.
	all["paused"].out.control = [][]byte{pfc(lossless, 0xffff), pfc(lossless, 0xffff), pfc(lossless, 0)}
	return all
}

// inTrunk makes the rig's first port the one member of a trunk and its second the uplink.
func inTrunk(tb testing.TB, m *workerRig, c trunk.AggregatorConfig) *workerRig {
	m.cfg.Trunks = []dataplane.TrunkConfig{{Name: "up", Uplink: 1, Members: []int{0}, Aggregate: c,
		Flow: trunk.FlowConfig{Mode: macctl.ModePFC, Lossless: 1 << lossless}}}
	m.reconfigure(tb)
	return m
}

// metered asks both meters and both RED of every frame, and lets it pass.
func metered() trunk.AggregatorConfig {
	c := trunk.AggregatorConfig{Metered: true, Total: trunk.MeterConfig{PIR: 800e9, CBS: 100, PBS: 1 << 28},
		TotalRED: trunk.REDConfig{High: 1 << 30, Probability: 1e-12}}
	for p := range c.Meters {
		c.Meters[p], c.RED[p] = c.Total, c.TotalRED
	}
	return c
}

// dropping drops frames for either reason: half of those of priority 0 at random, those of priority 1 for being red.
func dropping() trunk.AggregatorConfig {
	c := metered()
	c.RED[0].Probability = 0.5
	c.Meters[1] = trunk.MeterConfig{PBS: 1}
	return c
}

// gsoFrame is a GSO frame of so many TCP segments over IPv4 for host 1.
func gsoFrame(segments int) port.Frame {
	n := segments * 1400
	b := ether(host(1), host(0), nil, frame.TypeIPv4, 0, 54+n)
	ip := b[14:]
	copy(ip, []byte{0x45, 0, byte((40 + n) >> 8), byte(40 + n), 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	copy(ip[20:], make([]byte, 20))
	ip[20+12] = 5 << 4
	return port.Frame{Data: b, Vnet: frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOTCPv4, HdrLen: 54,
		GSOSize: 1400, CsumStart: 34, CsumOffset: 16}}
}

// A frame on its way allocates nothing, whichever way it takes.
func TestRoundsAllocateNothing(t *testing.T) {
	for name, m := range loads(t) {
		for range 100 { // lists reach their length
			m.round()
		}
		sent := m.out.sent
		assert.Equal(t, testing.AllocsPerRun(200, m.round), 0, "%s: allocations a round", name)
		assert.True(t, m.out.sent != sent, "%s: nothing was forwarded", name)
		assert.True(t, name != "paused" || m.in.controlSent != 0, "%s: nobody was told to stop", name)
	}
}

// What a worker adds to the kernel's work, a burst of 64 frames (a GSO frame of 8 segments) a time.
func BenchmarkRound(b *testing.B) {
	for name, m := range loads(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := m.out.sent
			for b.Loop() {
				m.round()
			}
			if frames := m.out.sent - before; frames > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
			}
			n := testing.AllocsPerRun(100, m.round)
			assert.MustBeTrue(b, n == 0, "%v allocations a round", n)
		})
	}
}
