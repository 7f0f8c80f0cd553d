package demo

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// observed is what a phase of demo dcqcn saw: senders that were paused for a share of the load, marks and CNPs.
type observed struct {
	paused                    float64
	marked, arrived           uint64
	cnpsSent, cnpsReceived    uint64
	lost, dropped, duplicated uint64
}

// judge makes a phase with those observations, and judges it.
func (o observed) judge(r *Report, name string) {
	s := &switchNode{name: "s1", state: states{
		ports: &api.Ports{Header: api.Header{LosslessDropsSinceStart: o.dropped}}, buffer: &api.Buffer{},
		pfc: &api.PFC{Ports: []api.PFCPort{{Port: "p1", Priorities: make([]api.PFCPriority, 8)}}},
		queues: &api.Queues{Ports: []api.QueuesPort{{Port: bottleneck,
			Queues: []api.Queue{3: {EcnMarked: o.marked, MaxBytes: 60_000}}}}},
	}}
	for i := range 8 {
		s.state.pfc.Ports[0].Priorities[i].State = "running"
	}
	s.state.pfc.Ports[0].Priorities[3].SentXoff = 7
	p := &phase{name: name, report: r, speed: 100_000_000, switches: []*switchNode{s},
		flows: []flow{{Flow: Flow{Phase: name, Priority: 3, Sent: 1000, Received: 1000 - o.lost, Lost: o.lost,
			Duplicated: o.duplicated, Rate: 99_000_000}}}}
	sink := &endpoint{}
	sink.received.Flows = []traffic.ReceivedFlow{{Marked: o.arrived, CNPs: o.cnpsSent}}
	p.sinks = []*endpoint{sink}
	for range senders {
		e := &endpoint{}
		e.sent = traffic.SendReport{Elapsed: 1e9, Flows: []traffic.SentFlow{{CNPs: o.cnpsReceived / senders}}}
		e.sent.Paused[3], e.sent.PFCReceived[3] = int64(o.paused*1e9), 9
		p.senders = append(p.senders, e)
	}
	p.addResults()
	p.judgeCongestion(5000)
}

var (
	pfcAlone = observed{paused: 0.7}
	slowed   = observed{paused: 0.02, marked: 100, arrived: 100, cnpsSent: 12, cnpsReceived: 12}
)

// Marks, CNPs and shorter pauses have to be there with DCQCN, marks and CNPs only there, and nothing is lost.
func TestJudgeCongestion(t *testing.T) {
	with := func(o observed, change func(*observed)) observed {
		change(&o)
		return o
	}
	for _, tt := range []struct {
		alone, slowed observed
		want          string // the check that fails
	}{
		{pfcAlone, slowed, ""},
		{pfcAlone, with(slowed, func(o *observed) { o.cnpsReceived = 9 }), ""}, // a CNP is lossy
		{with(pfcAlone, func(o *observed) { o.marked, o.arrived = 1, 1 }), slowed, "frames marked without ECN"},
		{with(pfcAlone, func(o *observed) { o.cnpsSent = 1 }), slowed, "CNPs without DCQCN"},
		{with(pfcAlone, func(o *observed) { o.lost = 1 }), slowed, "lossless frames lost"},
		{with(pfcAlone, func(o *observed) { o.duplicated = 1 }), slowed, "frames duplicated"},
		{pfcAlone, observed{paused: 0.02}, "frames marked by the switch, CNPs received by senders"},
		{pfcAlone, with(slowed, func(o *observed) { o.arrived = 99 }), "frames that came marked"},
		{pfcAlone, with(slowed, func(o *observed) { o.cnpsReceived = 0 }), "CNPs received by senders"},
		{pfcAlone, with(slowed, func(o *observed) { o.cnpsReceived = 15 }), "CNPs received, sent, marked frames"},
		{pfcAlone, with(slowed, func(o *observed) { o.cnpsSent = 101 }), "CNPs received, sent, marked frames"},
		{pfcAlone, with(slowed, func(o *observed) { o.paused = 0.36 }), "senders paused"},
		{pfcAlone, with(slowed, func(o *observed) { o.dropped = 1 }), "s1: lossless_drops_total"},
	} {
		r := &Report{}
		tt.alone.judge(r, "a")
		tt.slowed.judge(r, "b")
		var failed []string
		for _, c := range r.Checks {
			if c.failed() {
				failed = append(failed, c.Name)
			}
		}
		assert.Equal(t, strings.Join(failed, ", "), tt.want, "%+v, %+v: failed", tt.alone, tt.slowed)
	}
}

// The last phase stands beside the first one.
func TestCongestionText(t *testing.T) {
	r := &Report{}
	pfcAlone.judge(r, "a")
	slowed.judge(r, "b")
	for _, tt := range []struct{ phase, want string }{
		{"a", "    HELD BY  PAUSED %  XOFF  MARKED  CNPS SENT  RECEIVED  MEAN BYTES  MAX BYTES  FILLED %\n" +
			"  PFC alone      70.0     7       0          0         0        5000      60000      99.0\n"},
		{"b", "        HELD BY  PAUSED %  XOFF  MARKED  CNPS SENT  RECEIVED  MEAN BYTES  MAX BYTES  FILLED %\n" +
			"      PFC alone      70.0     7       0          0         0        5000      60000      99.0\n" +
			"  ECN and DCQCN       2.0     7     100         12        12        5000      60000      99.0\n"},
		{"c", ""},
	} {
		var b strings.Builder
		assert.Must(t, r.congestionText(&b, tt.phase))
		got := b.String()
		assert.True(t, got == tt.want, "phase %s:\n%s\nwant\n%s", tt.phase, got, tt.want)
	}
}

// A switch that answers slowly is not asked after the load, but for a look that begins late.
func TestMeanQueue(t *testing.T) {
	answer := assert.Got(json.Marshal(&api.Queues{Header: api.Header{Schema: api.Schema},
		Ports: []api.QueuesPort{{Port: bottleneck, Queues: []api.Queue{3: {Bytes: 700}}}}})).Must(t)
	p := &phase{seconds: 200 * time.Millisecond}
	asked, late := 0, 0
	p.switches = []*switchNode{answeringSwitch(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; time.Since(p.start) >= p.seconds {
			late++
		}
		time.Sleep(3 * queueLook)
		_, _ = w.Write(answer) // a client that is gone needs none
	})}
	p.start = time.Now()
	if mean, err := p.meanQueue(t.Context()); mean != 700 || err != nil || asked == 0 || late > 1 {
		t.Errorf("%d bytes, %v, of %d looks, of which %d after the load", mean, err, asked, late)
	}
}

// At every speed the queue of one sender alone reaches the length from which on all is marked, and a phase has time for
// notifications, which a slow link has seldom.
func TestCongestionKeys(t *testing.T) {
	for _, speed := range append([]int64{1e6}, speeds...) {
		phases := congestionPhases(Options{Seconds: 1, Speed: speed})
		for _, p := range phases {
			assert.Equal(t, p.seconds, max(time.Second, 20*2*time.Second*1e6/time.Duration(speed)),
				"at %d bit/s phase %s takes", speed, p.name)
		}
		s := &switchNode{name: "s1", socket: "/s1.sock"}
		for _, port := range []string{"p1", "p2", "p3", bottleneck} {
			s.ports = append(s.ports, switchPort{name: port, speed: speed})
		}
		text := s.head() + markingKeys(speed) + s.portLines("pfc")
		c, _, err := config.Parse("s1.yaml", []byte(text))
		assert.Must(t, err)
		c = assert.Got(c.Resolve(nil)).Must(t)
		if e := c.ECN[3]; e.Kmin != speed/16000 || e.Kmax <= e.Kmin || 2*e.Kmax > c.Shared() {
			t.Errorf("at %d bit/s: marks from %d to %d, queues share %d", speed, e.Kmin, e.Kmax, c.Shared())
		}
	}
}
