package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/port"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fake is a switch with a port of each kind.
type fake struct {
	empty     bool
	applied   string
	asked     HeadroomCheckRequest
	cleared   int
	restarted atomic.Int32
	more      uint64 // frames beyond the sample
	later     int64  // ns of the switch's clock after it
	gone      bool   // p1 was removed
	tap       capture.Tap
	moved     atomic.Bool       // p2 has another number
	keeps     bool              // capture.ring is on
	questions chan TraceRequest // where it is set: what explain asked
}

func (f *fake) Name() string { return "s1" }

func (f *fake) Ports() []PortInfo {
	if f.empty {
		return nil
	}
	return []PortInfo{{Name: "p1", Interface: "eth1", Kind: "ethernet"}, {Name: "p2", Interface: "eth2", Netns: "sw",
		Kind: "ethernet", Mismatch: true, NoAssist: "no CAP_BPF: give it"},
		{Name: "p3", Interface: "eth3", Kind: "ethernet", State: "interface does not exist: eth3: waiting for it"}}
}

func (f *fake) Snapshot(v *dataplane.Snapshot) {
	*v = dataplane.Snapshot{Time: 20e9 + f.later}
	if f.empty {
		return
	}
	v.Xoff.Record(1300)
	v.XoffAge.Record(21_000)
	v.Bridge = bridge.Counters{Entries: 2}
	p1 := dataplane.PortSnapshot{Index: 0, Up: true, RingSlots: port.Slots{Full: 4876, Small: 16384}, Paused: 1 << 3}
	p1.Config = dataplane.PortConfig{Name: "p1", Speed: 1e9, Mode: macctl.ModePFC, Lossless: 1 << 3}
	p1.Config.Classify.MTU = 1500
	p1.Counters.QueueSent[3], p1.Counters.QueueDiscarded[3] = 890, 6
	p1.Assist = dataplane.Assist{Hold: true, Why: "has a speed"}
	p1.Counters.ReceivedFrames, p1.Counters.ReceivedBytes, p1.Counters.SentFrames = 1000+f.more, 1514000, 900
	p1.Counters.Drops[0][dataplane.DropLossyThreshold] = 17
	p1.HeadroomUse[3] = dataplane.HeadroomUse{Xoffs: 2000, Peak: 7000, LateXoffs: 3, LateNs: 240_000, Ring: 30_000,
		RingTotal: 41_000, Waited: 1, WaitedBehindEarlier: 2, WaitedEarly: 5, WaitedForPool: 4, Exceeded: 1,
		LeastLeft: dataplane.XoffUse{Used: 6000, Room: 5500}}
	p1.Config.Ingress[3].Headroom, p1.Config.Ingress[3].Xon = 75_008, 10_250
	p1.Counters.Drops[dataplane.Unknown][dataplane.DropRing] = 2
	p1.Counters.LosslessDrops[dataplane.Unknown] = 2
	p1.Counters.Drops[3][dataplane.DropWatchdog], p1.Counters.Drops[3][dataplane.DropFiltered] = 62_725+f.more, 4
	p1.Counters.LosslessDiscarded[3] = p1.Counters.Drops[3]
	p1.Received.PFCFrames[3], p1.PausedNs[3] = 12, 1_204_000
	p1.ControlSent.PFCFrames[3], p1.ControlSent.XoffSent[3], p1.HeldNs[3] = 4021, 2000, 812_000_000
	p1.Received.Ignored[macctl.ReasonOpcode] = 5
	p2 := dataplane.PortSnapshot{Index: 1, Up: true, XoffWanted: 0xff}
	p2.Config = dataplane.PortConfig{Name: "p2", Mode: macctl.ModePause, Lossless: 0xff}
	p2.Counters.Drops[3][dataplane.DropFiltered], p2.Counters.Drops[5][dataplane.DropFiltered] = 1, 2
	p2.Counters.LosslessDiscarded[5][dataplane.DropFiltered] = 2
	p3 := dataplane.PortSnapshot{Index: 2}
	p3.Config = dataplane.PortConfig{Name: "p3"}
	v.Ports = []dataplane.PortSnapshot{p1, p2, p3}
	v.Trunks = sampleTrunks(f.more)
	if f.gone {
		v.Ports, v.LosslessDropsRemoved, v.LosslessDiscardedRemoved = v.Ports[1:], 2, 62_729
	}
	q := buffer.QueueSnapshot{Lossless: true, Threshold: 4 << 20, Config: buffer.QueueConfig{Private: 4096,
		Headroom: 72192}}
	q.Used.Shared = buffer.Level{Now: 1024, Persistent: 4096, User: 2048, Window: 3072}
	b1 := buffer.PortSnapshot{Port: 0, Name: "p1", Mode: macctl.ModePFC}
	b1.Ingress[3] = q
	b1.Insurance.Size, b1.Insurance.Used = 65536, buffer.Level{Now: 512, Persistent: 4096, User: 2048, Window: 1024}
	b2 := buffer.PortSnapshot{Port: 1, Name: "p2", Mode: macctl.ModePause}
	b2.Ingress[0] = q
	v.Buffer = buffer.Snapshot{Ports: []buffer.PortSnapshot{b1, b2, {Port: 2, Name: "p3"}}}
	v.Buffer.Lossless = buffer.PoolSnapshot{Size: 8 << 20, PrivateSize: 8192, SharedSize: 8 << 19, HeadroomSize: 144384}
	v.Buffer.Lossy = buffer.PoolSnapshot{Size: 4 << 20, SharedSize: 4 << 20}
}

func (f *fake) KernelBacklogDrops() uint64 { return 11 + f.more }

func (f *fake) RemovedCounters() *dataplane.Snapshot {
	v := new(dataplane.Snapshot)
	if f.gone {
		(&fake{}).Snapshot(v)
		v.Ports, v.Buffer.Ports, v.Trunks = v.Ports[:1], v.Buffer.Ports[:1], nil
	}
	return v
}

func (f *fake) RetiredProbes() map[string]headroom.Counters {
	return map[string]headroom.Counters{"gone": {Asked: 5}, "p1": {Asked: 1}}
}

func times(samples int, least, median, most time.Duration) headroom.Distribution {
	return headroom.Distribution{Samples: samples, Min: least, Median: median, P99: most, P999: most, Max: most}
}

func (f *fake) Headroom() []HeadroomInfo {
	if f.empty {
		return nil
	}
	in := headroom.Inputs{Speed: 1e9, MaxFrame: 1518, Delay: 5000, Burst: 62_500}
	finding := headroom.Finding{RoundTrip: 22_000, Precision: 30, Reaction: 100_000, SendLimit: 50_000, Burst: 500_000}
	calculated, packing := headroom.Calculate(in, macctl.ModePFC), in.Packing(256, 1)
	p1 := headroom.Report{Agreed: true, Known: true, Neighbour: "s2", ControlPasses: true,
		Settings: headroom.Settings{Auto: true}, Measured: headroom.Measure(in, finding), Plain: in.PlainBits(finding),
		Received: 600_000, PeerFound: 590_000, ResultBits: 597_404, ResultAcked: true, PeerInForce: 8 * 75_008,
		PeerApplied: true, Target: 600_000, Needs: 900_000, Bound: "headroom.share allows no more",
		Finding: finding, InForce: packing.Bytes(75_008), Holds: 75_012, Xon: 10_250,
		Idle: times(6, 3000, 4000, 9000), Busy: times(3, 30_000, 40_000, 82_000),
		RoundTrips: times(9, 22_000, 23_000, 30_000), Reactions: times(2, 40_000, 40_000, 90_000),
		ReactionsIdle: times(1, 40_000, 40_000, 40_000), ReactionsBusy: times(1, 90_000, 90_000, 90_000),
		Counters: headroom.Counters{Asked: 10, Answered: 9, Lost: 1, Replies: 8, Results: 1, Streams: 2}}
	p1.Counters.Ignored[headroom.IgnoredUnasked], p1.Counters.Ignored[headroom.IgnoredStranger] = 3, 4
	p2 := headroom.Report{Known: true, Neighbour: "old", ManualRequired: true,
		ManualBytes: packing.Bytes(calculated.Bytes()), InForce: packing.Bytes(72_192), Holds: 72_240,
		Settings: headroom.Settings{Auto: true, Key: "ports.p2.priorities.all.headroom"}}
	return []HeadroomInfo{{Port: "p1", Calculated: calculated, Report: p1, Packing: packing},
		{Port: "p2", Calculated: calculated, Report: p2, Packing: packing}}
}

func (f *fake) FDB() []bridge.Entry {
	if f.empty {
		return nil
	}
	var group bridge.PortSet
	group.Add(0)
	group.Add(1)
	return []bridge.Entry{{MAC: 0x020000000002, VID: 10, Port: 1, Static: true}, {MAC: 0x020000000001, VID: 1, Port: 0,
		Age: 12 * time.Second}, {MAC: 0x020000000003, VID: 10, Port: -1, Group: group, Static: true}}
}

func (f *fake) LLDP() []LLDPPort {
	if f.empty {
		return nil
	}
	p1 := LLDPPort{Port: "p1", ChassisID: "02:00:00:00:01:01", PortID: "p1", Statistics: LLDPStatistics{SentFrames: 12,
		ReceivedFrames: 7, DiscardedFrames: 1},
		DCBX: DCBX{Version: "ieee", Peer: true, LosslessPriorities: []Priority{3}, Reason: "mismatch", Mismatch: true,
			MeasuresHere: true, MeasuresPeer: true, MeasurementAgreed: true},
		Neighbors: []LLDPNeighbor{{ChassisID: "02:00:00:00:00:0a", PortID: "swp1", MAC: "02:00:00:00:00:0a",
			SystemName: nonZero("spine1"), SystemDescription: nonZero("a switch"),
			Capabilities: []string{"bridge", "router"}, EnabledCapabilities: []string{"bridge"},
			ManagementAddresses: []string{"192.0.2.1"}, TTLSeconds: 121, AgeNs: 3_200_000_000,
			ExpiresNs: 117_800_000_000, Frames: 6, Followed: true, DCBXVersions: []string{"ieee"},
			PFC:          &NeighborPFC{Priorities: []Priority{3, 4}, Measures: true},
			Applications: []DCBXApp{{3, 3, 4791}}}},
		Transitions: []LLDPTransition{{Machine: "receive", From: "wait-for-frame", To: "frame", Cause: "frame received",
			AgeNs: 3_200_000_000}}}
	p2 := LLDPPort{Port: "p2", ChassisID: "02:00:00:00:01:01", PortID: "p2",
		DCBX: DCBX{Version: "off", LosslessPriorities: []Priority{}, Reason: "off"}, Neighbors: []LLDPNeighbor{},
		Transitions: []LLDPTransition{}}
	return []LLDPPort{p1, p2}
}

func (f *fake) Trace(q TraceRequest) (dataplane.TraceResult, bool) {
	if f.questions != nil {
		f.questions <- q
	}
	v, ok := sampleTraces()[q.Port]
	return v, ok
}

func (f *fake) Watchdog() []deadlock.Status {
	if f.empty || f.gone {
		return nil
	}
	c := deadlock.Config{Fast: true, Period: 100 * time.Millisecond, Count: 2, Recovery: 200 * time.Millisecond,
		Action: deadlock.Drop}
	return []deadlock.Status{
		{Name: "p1", Queue: 3, Config: c, State: deadlock.Stormed, Since: 19e9, Detected: 2, Recovered: 1, Sent: 3,
			Dropped: 1200, LastDropped: 700},
		{Name: "p2", Queue: deadlock.All, Config: deadlock.Config{}, State: deadlock.Operational},
	}
}

func (f *fake) Threads() []Thread {
	if f.empty {
		return nil
	}
	return []Thread{{Thread: 4711, State: ThreadLooks, Receives: []string{"p1"}, Sends: []string{"p1"},
		BehindNs: 12_000, LongestGapNs: 3_400_000},
		{Thread: 4712, State: ThreadStopped, Receives: []string{"p2"}, Sends: []string{}, BehindNs: 12_345_678_901,
			LongestGapNs: 12_345_678_901}}
}

func (f *fake) RetiredStorms() []deadlock.Status {
	if f.gone {
		return (&fake{}).Watchdog()
	}
	return nil
}

func (f *fake) Events(since uint64) []dataplane.Event {
	all := []dataplane.Event{{Seq: 0, Time: 1e9, Kind: dataplane.EventPortUp, Port: "p1", Priority: -1, Count: 1},
		{Seq: 1, Time: 2e9, Kind: dataplane.EventLosslessDrop, Port: "p1", Priority: 3, Peer: 0x02_00_00_00_00_0a,
			Text: "ring", Count: 7}}
	if f.empty || since > 1 {
		return nil
	}
	return all[since:]
}

func (f *fake) NextEvent() uint64 {
	if f.empty {
		return 0
	}
	return 2
}

func (f *fake) WallOf(ns int64) time.Time { return start.Add(time.Duration(ns)) }
func (f *fake) ConfigYAML() []byte        { return []byte("name: s1\n") }
func (f *fake) ClearWatermarks()          { f.cleared++ }

func (f *fake) Restart() (begin func(), err error) {
	if f.empty {
		return nil, errors.New("s1.yaml:1: bad: is no key")
	}
	return func() { f.restarted.Add(1) }, nil
}

func (f *fake) CheckHeadroom(_ context.Context, ask HeadroomCheckRequest) (*HeadroomCheck, error) {
	f.asked = ask
	if ask.Port != "p1" {
		return nil, errors.New("there is no port " + ask.Port)
	}
	return sampleCheck(), nil
}

func (f *fake) Apply(_ context.Context, name string, yaml []byte, dry bool) (*Applied, error) {
	if bytes.Contains(yaml, []byte("bad")) {
		return nil, errors.New(name + ":1: bad: is no key")
	}
	if !dry {
		f.applied = name
		f.more += 3 // frames that the watchdog discards
	}
	return &Applied{Warnings: []string{"mind the gap"}, PortsReset: []string{"p1"}, Changes: []Change{
		{"ports.p1.speed", nonZero("1G"), nonZero("2G")},
		{"ports.p4", nil, nonZero("{" + strings.Repeat("mtu: 1500, ", 9))}, {"ports.p5", nonZero("{}"), nil}}}, nil
}

// answer returns the sample switch's answer to a noun at a fixed time.
func answer(f *fake, noun string) Reply {
	if noun == "state" {
		return momentOf(f).state()
	}
	return nouns[noun].answer(momentOf(f))
}

func momentOf(f *fake) *moment {
	m := &moment{source: f, base: &baseline{}, version: Version{Schema: Schema, Version: "(devel)", Go: "go1.26",
		Platform: "linux/amd64", Kernel: "6.18"}}
	f.Snapshot(&m.snapshot)
	old := before(&m.snapshot)
	m.recent, m.history = newInterval(sampleOf(&m.snapshot), old), &history{}
	now := sampleOf(&m.snapshot)
	m.history.remember(&now, &old)
	m.Header = Header{Schema: Schema, Switch: "s1", Time: start.Add(20 * time.Second), SwitchNs: m.snapshot.Time,
		Started: start, ElapsedNs: 20e9}
	m.LosslessDrops, m.LosslessDiscarded = m.snapshot.Losses()
	m.LosslessDropsSinceStart, m.LosslessDiscardedSinceStart = m.snapshot.Losses()
	return m
}

// before is the sample of the same switch eight seconds earlier: frames and pauses were half, and p3 did not exist.
func before(v *dataplane.Snapshot) sample {
	s := sampleOf(v)
	s.at -= 8e9
	s.ports = slices.DeleteFunc(s.ports, func(a accounts) bool { return a.name == "p3" })
	for i := range s.ports {
		c := &s.ports[i]
		c.receivedFrames, c.receivedBytes, c.sentFrames = c.receivedFrames/2, c.receivedBytes/2, c.sentFrames/2
		for prio, p := range c.pauses {
			c.pauses[prio] = pauses{p.received / 2, p.sent / 2}
		}
	}
	return s
}

// The JSON and the tables are fixed: scripts and people rely on them.
func TestGolden(t *testing.T) {
	for _, noun := range Nouns() {
		r := answer(&fake{}, noun)
		b := jsonOf(t, r)
		golden.Check(t, noun+".json", b)
		golden.Check(t, noun+".txt", r.Text())
		again := assert.Got(Parse(noun, []byte(b))).Must(t)
		assert.True(t, again.Text() == r.Text(), "%s: the table made from the JSON differs:\n%s\nwant\n%s", noun,
			again.Text(), r.Text())
	}
}

// jsonOf is the answer as the socket carries it.
func jsonOf(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	assert.Must(t, WriteJSON(&b, v))
	return b.String()
}

// Arrays are arrays, never null, on an empty switch too.
func TestArraysAreNeverNull(t *testing.T) {
	for _, noun := range Nouns() {
		var full, empty any
		assert.Must(t, errors.Join(json.Unmarshal([]byte(jsonOf(t, answer(&fake{}, noun))), &full),
			json.Unmarshal([]byte(jsonOf(t, answer(&fake{empty: true}, noun))), &empty)))
		compareArrays(t, noun, full, empty)
	}
}

func compareArrays(t *testing.T, path string, full, empty any) {
	t.Helper()
	switch full := full.(type) {
	case []any:
		_, ok := empty.([]any)
		assert.True(t, ok, "%s is %v on an empty switch, want an array", path, empty)
	case map[string]any:
		other, ok := empty.(map[string]any)
		if !ok {
			return
		}
		for k, v := range full {
			compareArrays(t, path+"."+k, v, other[k])
		}
	}
}

// serve runs a server on a socket of its own and returns a client for it, and the socket.
func serve(t *testing.T, source Source) (*Client, string) {
	t.Helper()
	return serveServer(t, NewServer(source, start, 0))
}

func serveServer(t *testing.T, server *Server) (*Client, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s1.sock")
	l := assert.Got(Listen(path, false)).Must(t)
	s := &http.Server{Handler: server}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		serving.Wait()
	})
	return NewClient(path), path
}

func TestClientAndServer(t *testing.T) {
	f := &fake{}
	c, _ := serve(t, f)
	ctx := context.Background()
	for _, noun := range Nouns() {
		_, err := c.Show(ctx, noun)
		assert.NoError(t, err, "show %s", noun)
	}
	_, err := c.Show(ctx, "nonsense")
	assert.Fails(t, err, "ports", "show nonsense")
	const changes = "ports.p1.speed: 1G → 2G\n" +
		"ports.p4: not there → {mtu: 1500, mtu: 1500, mtu: 1500, mtu: 1500, mtu: 1500, mtu…\nports.p5: {} → gone\n"
	a, err := c.Apply(ctx, "a b.yaml", []byte("name: s1"), true)
	assert.True(t, err == nil && f.applied == "" && a.DryRun && a.LosslessDrops == nil && a.LosslessDiscarded == nil &&
		a.TookNs == nil && a.Text() == changes+"nothing is changed (--dry-run); ports that would be reset: p1\n",
		"apply --dry-run: %+v, %v, name %q", a, err, f.applied)
	a, err = c.Apply(ctx, "a b.yaml", []byte("name: s1"), false)
	assert.True(t, err == nil && len(a.Warnings) == 1 && f.applied == "a b.yaml" && *a.TookNs > 0 &&
		*a.LosslessDiscarded == 3, "apply: %+v, %v, name %q", a, err, f.applied)
	a.TookNs = new(int64(12_340_000))
	want := changes + "in force after 12.34ms; ports reset: p1; lossless frames lost: 0, discarded on purpose: 3\n"
	assert.True(t, a.Text() == want, "got\n%swant\n%s", a.Text(), want)
	got := (&Applied{TookNs: new(int64)}).Text()
	assert.True(t, strings.HasPrefix(got, "no key differs\nin force after 0; ports reset: none;"), "no change: %s", got)
	_, err = c.Apply(ctx, "x.yaml", []byte("bad: 1"), false)
	assert.True(t, err != nil && err.Error() == "x.yaml:1: bad: is no key", "apply of a bad file: %v", err)
	err = c.Clear(ctx, "watermarks")
	assert.True(t, err == nil && f.cleared == 1, "clear watermarks: %v, %d times", err, f.cleared)
	if got, err := post[map[string]any](ctx, c, "/v1/clear/watermarks", nil); err != nil || len(*got) != 2 {
		t.Errorf("clear answers with %v, %v, want schema and warnings alone", got, err)
	}
	assert.True(t, c.Clear(ctx, "everything") != nil, "clear everything: no error")
	if err := c.Restart(ctx); err != nil || f.restarted.Load() > 1 {
		t.Errorf("restart: %v, %d times", err, f.restarted.Load())
	}
	for deadline := time.Now().Add(time.Minute); f.restarted.Load() == 0; time.Sleep(time.Millisecond) {
		assert.MustBeTrue(t, !time.Now().After(deadline), "the switch does not start again after the answer")
	}
	f.empty = true
	if err := c.Restart(ctx); err == nil || err.Error() != "s1.yaml:1: bad: is no key" {
		t.Errorf("restart with a bad file: %v", err)
	}
	f.empty = false
	b, err := c.Raw(ctx, "events", 1)
	assert.True(t, err == nil && !strings.Contains(string(b), "port-up") &&
		strings.Contains(string(b), "lossless-drop"), "events since 1: %s, %v", b, err)
}

// A switch that hangs up is there: it ends, or gets no CPU.
func TestSwitchHangsUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	assert.Must(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
	}()
	_, err = NewClient(path).Show(t.Context(), "ports")
	assert.Fails(t, err, "hung up before it answered", "show")
	assert.True(t, !errors.Is(err, ErrNoSwitch), "%v: there is a switch", err)
}

// Who interrupts a question does not hear that there is no switch.
func TestInterruptedQuestion(t *testing.T) {
	c, _ := serve(t, &fake{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Show(ctx, "ports")
	assert.True(t, errors.Is(err, context.Canceled) && !errors.Is(err, ErrNoSwitch), "%v", err)
}

// A clear starts the user's counters again, not the switch's.
func TestClearCounters(t *testing.T) {
	f := &fake{}
	c, _ := serve(t, f)
	ctx := context.Background()
	assert.Must(t, c.Clear(ctx, "counters"))
	f.more = 5
	r := assert.Got(c.Show(ctx, "ports")).Must(t)
	storms := assert.Got(c.Show(ctx, "watchdog")).Must(t)
	q := storms.(*Watchdog).Queues[0]
	assert.True(t, q.Detected == 0 && q.Dropped == 0 && q.LastDropped == 0 && q.State == deadlock.Stormed,
		"after the clear: %+v", q)
	p := r.(*Ports)
	assert.Equal(t, p.Ports[0].ReceiveFrames, 5, "frames since the clear")
	assert.True(t, p.LosslessDrops == 0 && p.LosslessDropsSinceStart == 2 && p.Cleared != nil,
		"lossless drops %d since the clear and %d since the start, want 0 and 2; cleared %v", p.LosslessDrops,
		p.LosslessDropsSinceStart, p.Cleared)
	if p.LosslessDiscarded != 5 || p.LosslessDiscardedSinceStart != 62_736 || p.Ports[0].LosslessDiscarded != 5 {
		t.Errorf("%d discarded since the clear, at p1 %d, and %d since the start, want 5, 5 and 62736",
			p.LosslessDiscarded, p.Ports[0].LosslessDiscarded, p.LosslessDiscardedSinceStart)
	}
}
