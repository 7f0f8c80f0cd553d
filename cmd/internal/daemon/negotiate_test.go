package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/runner"
	"pfcswitch/lldp/dcbx"
)

// What a person is told of an outcome; nothing where all is as it was and should be.
func TestOutcomeSentence(t *testing.T) {
	alone := dcbx.Outcome{PFC: 0x08, Reason: dcbx.ReasonNoPeer}
	same := dcbx.Outcome{Peer: true, PFC: 0x08, Reason: dcbx.ReasonOwn}
	mismatch := dcbx.Outcome{Peer: true, PFC: 0x08, Reason: dcbx.ReasonMismatch, Mismatch: true}
	follows := dcbx.Outcome{Peer: true, PFC: 0x30, Reason: dcbx.ReasonPeer}
	several := dcbx.Outcome{PFC: 0x08, Reason: dcbx.ReasonSeveral}
	shares := same
	shares.ETSAdopted = true
	for _, tt := range []struct {
		name    string
		was, is dcbx.Outcome
		want    string
	}{
		{"the same at both ends", alone, same, ""},
		{"mismatch", alone, mismatch, "PFC does not agree with spine (mismatch): it has priorities [3 4], and only " +
			"[3] stay lossless here"},
		{"still", mismatch, mismatch, ""},
		{"mismatch is over", mismatch, same, "priorities [3] are lossless (own)"},
		{"follows", alone, follows, "the port follows spine: priorities [4 5] are lossless"},
		{"follows no more", follows, alone, "priorities [3] are lossless (no-peer)"},
		{"several", same, several, "several neighbours speak on one link, and none of them is known"},
		{"shares", same, shares, "the shares of the egress queues follow the neighbour"},
		{"own shares", shares, same, "the shares of the egress queues follow the configuration"},
	} {
		got, _ := outcomeSentence(&lldpUpdate{before: tt.was, outcome: &tt.is, neighbour: "spine", peerPFC: 0x18})
		assert.True(t, (tt.want != "" || got == "") && strings.Contains(got, tt.want),
			"%s: %q, want %q", tt.name, got, tt.want)
	}
}

func TestAgreementIsReported(t *testing.T) {
	d := &Daemon{headroomKick: make(chan struct{}, 1)}
	for _, agreed := range []bool{false, true} {
		if d.handleUpdate(lldpUpdate{port: "p1", agreed: agreed}); len(d.headroomKick) > 0 != agreed {
			t.Errorf("an update whose agreement has changed (%v) leads to a look at the headroom: %v", agreed, !agreed)
		}
	}
}

// RoCEv2 has the priority of its DSCP where that is lossless, else the lowest lossless one.
func TestRocePriority(t *testing.T) {
	var p config.Priorities
	_, ok := rocePriority(&p)
	assert.True(t, !ok, "nothing is lossless, and RoCEv2 has a priority")
	p.Lossless, p.DSCP[roceDSCP] = 0x30, 3
	prio, ok := rocePriority(&p)
	assert.True(t, ok && prio == 4, "got %d", prio)
	p.DSCP[roceDSCP] = 5
	prio, ok = rocePriority(&p)
	assert.True(t, ok && prio == 5, "got %d", prio)
}

// What the buffer is too full for is not what never fits: the port goes on wanting it, says so once, and has it when
// the buffer has drained.
func TestBusyBufferKeepsTheWish(t *testing.T) {
	const before, after = 0x08, 0x18
	d := unplugged(t, "priorities: {lossless: [3, 4]}\nbuffer: {lossless: {size: 120KiB, alpha: 8}, headroom: 20KiB}",
		"flow_control: pfc")
	less := config.Negotiated{Lossless: before, Queues: d.cfg.Queues}
	must(t, d.applyNegotiated(t.Context(), "p1", &less))
	crossThreshold(t, d)
	for i := range 3 {
		d.negotiate(t.Context())
		if got := losslessOf(d, "p1"); got != before || d.ports["p1"].unwilling || !d.renegotiate.Load() {
			t.Errorf("try %d: lossless are %#x, stubborn %v, to be tried again %v", i, got, d.ports["p1"].unwilling,
				d.renegotiate.Load())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() { defer close(ran); d.Run(ctx) }()
	eventually(t, "Run tries", func() bool { return !d.renegotiate.Load() })
	eventually(t, "it was in vain", d.renegotiate.Load)
	// what is queued there goes
	must(t, d.runner.Do(func(sw *dataplane.Switch) error { sw.SetUp(1, false, runner.Now()); return nil }))
	eventually(t, "Run has tried again", func() bool { return losslessOf(d, "p1") == after })
	cancel()
	<-ran
	assert.True(t, !d.ports["p1"].dcbxPending && !d.renegotiate.Load(), "there is still something to wait for")
	var texts []string
	for _, e := range d.Source().Events(0) {
		if strings.Contains(e.Text, "DCBX") {
			texts = append(texts, fmt.Sprintf("%s %d: %s", e.Port, e.Count, e.Text))
		}
	}
	assert.True(t, len(texts) == 1 && strings.HasPrefix(texts[0], "p1 1: what DCBX has changed is not in force yet"),
		"told %q, want once that it waits", texts)
}

func losslessOf(d *Daemon, name string) (mask uint8) {
	var s dataplane.Snapshot
	d.runner.Snapshot(&s)
	for _, p := range s.Ports {
		if p.Config.Name == name {
			mask = p.Config.Lossless
		}
	}
	return mask
}

// crossThreshold sends frames of priority 3 from port 0 to port 1 until the threshold is crossed. Port 1 sends none of
// them.
func crossThreshold(t *testing.T, d *Daemon) {
	t.Helper()
	var s dataplane.Snapshot
	d.runner.Snapshot(&s)
	c, now := s.Ports[0].Config, runner.Now()
	f := taggedFrame(3, 1, 1000)
	must(t, d.runner.Do(func(sw *dataplane.Switch) error {
		sw.Begin(0) // the worker that owns every port
		sw.SetUp(0, true, now)
		sw.SetUp(1, true, now)
		for stop := dataplane.Done; stop == dataplane.Done; {
			burst := []dataplane.Arrival{{Data: f, At: now}}
			burst[0].Prepare(&c.Classify, c.MaxFrame)
			_, stop = sw.Ingress(0, burst, 0, now, 0)
			sw.Store(sw.Settle(burst, nil))
		}
		return nil
	}))
}

// A change of the version, or of the reason alone, is said too, and a reason only once.
func TestDCBXStatusChanges(t *testing.T) {
	alone := dcbx.Outcome{Version: dcbx.VersionIEEE, PFC: 0x08, Reason: dcbx.ReasonNoPeer}
	with := func(v dcbx.Version, why dcbx.Reason) dcbx.Outcome {
		return dcbx.Outcome{Version: v, Peer: true, PFC: 0x08, Reason: why}
	}
	follows := with(dcbx.VersionCEE, dcbx.ReasonPeer)
	follows.PFC = 0x30
	adopted := with(dcbx.VersionIEEE, dcbx.ReasonOwn)
	adopted.ETSAdopted = true
	for _, tt := range []struct {
		name    string
		was, is dcbx.Outcome
		want    []string
	}{
		{"nothing", alone, alone, nil},
		{"CEE", alone, with(dcbx.VersionCEE, dcbx.ReasonWaiting),
			[]string{"the port speaks DCBX in version cee now, no longer in ieee; priorities [3] are lossless, now " +
				"because the neighbour has not acknowledged yet what it was told (waiting)"}},
		{"PFC is not told", alone, with(dcbx.VersionIEEE, dcbx.ReasonNoTLV),
			[]string{"priorities [3] are lossless, now because the neighbour tells nothing of PFC (no-tlv)"}},
		{"PFC is told twice", alone, with(dcbx.VersionIEEE, dcbx.ReasonDuplicate),
			[]string{"priorities [3] are lossless, now because the neighbour tells PFC twice, which is void " +
				"(duplicate-tlv)"}},
		{"another version and mask", alone, follows,
			[]string{"the port speaks DCBX in version cee now, no longer in ieee",
				"the port follows spine: priorities [4 5] are lossless"}},
		{"the queues' shares follow too", alone, adopted,
			[]string{"priorities [3] are lossless, now because the neighbour has the same, or follows (own)",
				"the shares of the egress queues follow the neighbour"}},
		{"another mask", with(dcbx.VersionCEE, dcbx.ReasonWaiting), follows,
			[]string{"the port follows spine: priorities [4 5] are lossless"}},
	} {
		s := speaker{outcome: tt.is, reported: dcbxStatusOf(&tt.was)}
		n := lldpUpdate{before: tt.was, outcome: &tt.is, neighbour: "spine"}
		s.addStatusChange(&n, 0)
		assert.Same(t, n.sentences(), tt.want, "%s", tt.name)
	}
	for why := range dcbx.ReasonPeerError + 1 {
		assert.True(t, reasonTexts[why] != "" && (why+1).String() == "?" == (why == dcbx.ReasonPeerError),
			"%v has no text", why)
	}
}

// What a sentence has told while remarks were kept back is not told again.
func TestDCBXStatusChangeAfterOutcome(t *testing.T) {
	was := dcbx.Outcome{Version: dcbx.VersionIEEE, PFC: 0x08, Reason: dcbx.ReasonNoPeer}
	is := dcbx.Outcome{Version: dcbx.VersionIEEE, Peer: true, PFC: 0x30, Reason: dcbx.ReasonPeer}
	s := speaker{outcome: is, reported: dcbxStatusOf(&was)}
	for s.reportAllowance.Allow(0) {
	}
	n := lldpUpdate{before: was, outcome: &is, neighbour: "spine"}
	s.addStatusChange(&n, 0)
	got, want := n.sentences(), []string{"the port follows spine: priorities [4 5] are lossless"}
	assert.True(t, slices.Equal(got, want), "got %q, want %q", got, want)
	r := s.nextStatusChange(3600e9)
	assert.True(t, r == nil, "an hour later it is said again: %+v", r)
}

// A peer that changes its mind every second is spoken of now and then, and last of all how it is in the end.
func TestDCBXStatusChangesAreFew(t *testing.T) {
	const seconds, second = 600, 1_000_000_000
	s := speaker{outcome: dcbx.Outcome{Version: dcbx.VersionIEEE, Reason: dcbx.ReasonOwn}}
	s.reported = dcbxStatusOf(&s.outcome)
	var said []*statusChange
	look := func(now int64) {
		if r := s.nextStatusChange(now); r != nil {
			said = append(said, r)
		}
	}
	for i := range int64(seconds) {
		s.outcome.Version = dcbx.VersionIEEE + dcbx.Version(i%3)
		look(i * second)
	}
	for i := range int64(30) {
		look((seconds + i) * second)
	}
	n := len(said)
	assert.True(t, n >= 60 && n <= 8+seconds/5+1, "%d remarks in %d s", n, seconds)
	for i, r := range said[1:] {
		assert.True(t, r.from == said[i].to, "%v was said, and then that it was %v", said[i].to, r.from)
	}
	last := said[len(said)-1].to
	assert.True(t, last == dcbxStatusOf(&s.outcome), "the last remark is of %v, and it is %v", last, s.outcome.Version)
}

// The speakers of all ports wake up together, up to a second late, but what is due soon is done in time.
func TestSpeakersWakeUpTogether(t *testing.T) {
	const second, now = int64(time.Second), int64(7_300_000_000)
	for _, tt := range []struct{ next, want int64 }{
		{now, now}, {now + 1, now + 1}, {now + int64(patience), now + int64(patience)},
		{now + int64(patience) + 1, 13 * second}, {37 * second, 37 * second}, {37*second + 1, 38 * second},
	} {
		assert.Equal(t, together(tt.next, now), tt.want, "due at %d: woken up at", tt.next)
	}
}
