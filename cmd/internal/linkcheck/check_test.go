package linkcheck

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A fakeWire is a link under virtual time whose other end is an EchoResponder. out and back may change or drop a frame.
type fakeWire struct {
	now       int64
	octets    int
	format    macctl.MeasurementFormat
	peer      bool
	out, back func(b []byte) []byte
	noise     [][]byte
	inbox     []Received
	echoer    macctl.EchoResponder
	refuse    error
}

const (
	trip = 20_000 // ns of a frame on the fake link, each way
	turn = 5_000  // ns at its far end
)

var (
	ownMAC  = [6]byte{2, 0, 0, 0, 0, 1}
	peerMAC = [6]byte{2, 0, 0, 0, 0, 2}
)

func (w *fakeWire) Now() int64       { w.now++; return w.now }
func (w *fakeWire) Address() [6]byte { return ownMAC }
func (w *fakeWire) MaxFrame() int    { return w.octets }

func (w *fakeWire) Send(b []byte, v frame.VnetHeader) (int64, bool, error) {
	if w.refuse != nil {
		return 0, false, w.refuse
	}
	sent := w.now
	if b = slices.Clone(b); w.out != nil {
		b = w.out(b)
	}
	if b == nil || !w.peer || !w.format.RecognizesEcho(b) {
		return sent, true, nil
	}
	f, reason := w.format.ParseEcho(b, peerMAC)
	if reason != macctl.ReasonNone {
		return sent, true, nil
	}
	w.echoer.HandleRequest(&f, v.NeedsCsum() && w.octets != 2000, sent+trip, sent+trip)
	if a, ok := w.echoer.Append(nil, &w.format, peerMAC, sent+trip+turn); ok {
		if w.back != nil {
			a = w.back(a)
		}
		if a != nil {
			w.inbox = append(w.inbox, Received{Data: a, Stamp: sent + 2*trip + turn})
		}
	}
	return sent, true, nil
}

func (w *fakeWire) Receive(until int64) (Received, bool) {
	if len(w.noise) > 0 {
		h := Received{Data: w.noise[0], Stamp: w.now}
		w.noise = w.noise[1:]
		return h, true
	}
	if len(w.inbox) == 0 {
		w.now = max(w.now, until)
		return Received{}, false
	}
	h := w.inbox[0]
	w.inbox = w.inbox[1:]
	w.now = max(w.now, h.Stamp)
	return h, true
}

// Filters of a link.
var (
	eatControl  = dropIf(func(b []byte) bool { return binary.BigEndian.Uint16(b[12:]) == macctl.EtherType })
	onlyControl = dropIf(func(b []byte) bool { return binary.BigEndian.Uint16(b[12:]) != macctl.EtherType })
	eatReserved = dropIf(func(b []byte) bool { return [5]byte(b) == [5]byte{0x01, 0x80, 0xC2, 0, 0} })
	dropTagged  = dropIf(func(b []byte) bool { return binary.BigEndian.Uint16(b[12:]) == frame.TypeVLAN })
)

func dropIf(matches func([]byte) bool) func([]byte) []byte {
	return func(b []byte) []byte {
		if matches(b) {
			return nil
		}
		return b
	}
}

func longest(n int) func([]byte) []byte { return dropIf(func(b []byte) bool { return len(b) > n }) }

func stripTag(b []byte) []byte {
	if binary.BigEndian.Uint16(b[12:]) == frame.TypeVLAN {
		return append(b[:12:12], b[16:]...)
	}
	return b
}

func rewriteTag(b []byte) []byte {
	if binary.BigEndian.Uint16(b[12:]) == frame.TypeVLAN {
		binary.BigEndian.PutUint16(b[14:], 0x000a)
	}
	return b
}

// newWire returns a link that carries everything.
func newWire() *fakeWire {
	return &fakeWire{now: 1e9, octets: 1514, format: macctl.DefaultMeasurementFormat, peer: true}
}

func check(w *fakeWire) *api.LinkCheck {
	o := DefaultOptions()
	o.Interface, o.Count = "eth1", 50
	r, err := Run(context.Background(), &o, w, 77)
	if err != nil {
		panic(err) // nobody interrupts it
	}
	return r
}

// An interruptedWire ends the check when it has carried so many questions.
type interruptedWire struct {
	*fakeWire
	left, later int
	at          int64 // when it was interrupted
	end         func()
}

func (w *interruptedWire) Send(b []byte, v frame.VnetHeader) (int64, bool, error) {
	w.left--
	switch {
	case w.left == 0:
		w.at = w.now
		w.end()
	case w.left < 0:
		w.later++
	}
	return w.fakeWire.Send(b, v)
}

// An interrupted check sends no more requests, ends at once, and has no report.
func TestInterrupted(t *testing.T) {
	for n := 1; n <= 50; n++ {
		for _, answered := range []bool{true, false} {
			ctx, end := context.WithCancel(t.Context())
			w := &interruptedWire{fakeWire: newWire(), left: n, end: end}
			w.peer = answered
			o := DefaultOptions()
			o.Count, o.Patience = 50, 10*time.Second
			r, err := Run(ctx, &o, w, 77)
			end()
			if answered || n <= 9 { // questions that nobody answers are three of each way
				assert.MustBeTrue(t, r == nil && err != nil && w.later == 0 && w.now-w.at <= 2*int64(pollInterval),
					"after %d questions, answered %v: %+v, %v, %d more questions, %d ns", n, answered, r, err, w.later,
					w.now-w.at)
			}
		}
	}
}

// Every trap of a link is named for what it is, and a link without one passes.
func TestTraps(t *testing.T) {
	passing := map[string]string{"pfc": "pass/pass/pass", "tag": "pass/kept/kept", "mtu": "pass/1500/1500",
		"checksum": "pass/marked/not tried", "round-trip": "pass/-/-"}
	const unknown = "unknown/unknown/unknown"
	silent := map[string]string{"pfc": unknown, "tag": unknown, "mtu": unknown, "checksum": unknown,
		"round-trip": unknown}
	for _, test := range []struct {
		name   string
		change func(*fakeWire)
		usual  map[string]string // verdict/out/back by test
		other  string            // what differs from it: tests with their verdicts, by ";"
	}{
		{"nothing wrong", func(*fakeWire) {}, passing, ""},
		{"PFC eaten both ways", func(w *fakeWire) { w.out, w.back = eatControl, eatControl }, passing,
			"pfc=fail/eaten/eaten"},
		{"PFC eaten on the way out", func(w *fakeWire) { w.out = eatControl }, passing, "pfc=fail/eaten/pass"},
		{"PFC eaten on the way back", func(w *fakeWire) { w.back = eatControl }, passing, "pfc=fail/pass/eaten"},
		{"a bridge between", func(w *fakeWire) { w.out, w.back = eatReserved, eatReserved }, passing,
			"pfc=fail/eaten/eaten"},
		{"MAC Control only", func(w *fakeWire) { w.out = onlyControl }, passing,
			"tag=" + unknown + ";checksum=" + unknown},
		{"tags dropped", func(w *fakeWire) { w.out = dropTagged }, passing, "tag=fail/lost/unknown"},
		{"tags stripped", func(w *fakeWire) { w.out = stripTag }, passing, "tag=fail/stripped/kept"},
		{"tags stripped on the way back", func(w *fakeWire) { w.back = stripTag }, passing, "tag=fail/kept/stripped"},
		{"tags rewritten", func(w *fakeWire) { w.out = rewriteTag }, passing,
			"tag=fail/changed to VLAN 10, PCP 0/kept"},
		{"a shorter MTU", func(w *fakeWire) { w.out = longest(1407 + 14) }, passing, "mtu=fail/1407/1407"},
		{"a shorter MTU on the way back", func(w *fakeWire) { w.back = longest(1000) }, passing, "mtu=fail/1500/986"},
		{"jumbo against 1500", func(w *fakeWire) { w.octets, w.out = 9014, longest(1514) }, passing,
			"mtu=fail/1500/1500"},
		{"checksums unfinished and not marked", func(w *fakeWire) { w.octets = 2000 }, passing,
			"mtu=pass/1986/1986;checksum=fail/wrong/not tried"},
		{"nobody there", func(w *fakeWire) { w.peer = false }, silent, ""},
		{"somebody who pauses and does not answer", func(w *fakeWire) {
			w.peer = false
			w.noise = [][]byte{macctl.AppendPFC(nil, peerMAC, 8, [8]uint16{3: 9}), make([]byte, 60)}
		}, silent, "pfc=unknown/unknown/pass"},
		{"the kernel takes nothing", func(w *fakeWire) { w.refuse = errors.New("down") }, silent, ""},
	} {
		w := newWire()
		test.change(w)
		r := check(w)
		want := maps.Clone(test.usual)
		for _, text := range strings.Split(test.other, ";") {
			if name, verdict, ok := strings.Cut(text, "="); ok {
				want[name] = verdict
			}
		}
		got := map[string]string{}
		for _, c := range r.Checks {
			got[c.Check] = c.Verdict + "/" + c.Out + "/" + c.Back
			assert.True(t, ((c.Verdict == api.LinkFail) == (c.Remedy != nil) || r.Peer == nil) && c.Text != "",
				"%s: %s: verdict %s, remedy %v, text %q", test.name, c.Check, c.Verdict, c.Remedy, c.Text)
		}
		assert.True(t, maps.Equal(got, want), "%s:\n got %v\nwant %v", test.name, got, want)
		assert.Equal(t, r.Peer != nil, test.usual["mtu"] != unknown, "%s: peer %v", test.name, r.Peer)
	}
}

// The parts of the round trip are those of the link.
func TestRoundTrip(t *testing.T) {
	r := check(newWire()).RoundTrip
	assert.True(t, r.Asked == 50 && r.Lost == 0 && r.Way == "control" && r.KernelStamped == 50 && r.PrecisionNs == 1 &&
		r.Total.MinNs == 2*trip+turn && r.Link.P50Ns == 2*trip && r.Peer.MaxNs == turn, "%+v", r)
	w := newWire()
	lose := 0
	w.back = func(b []byte) []byte {
		if lose++; lose > 20 && lose%10 == 0 {
			return nil
		}
		return b
	}
	if r := check(w); r.Pass || r.RoundTrip.Lost == 0 || r.RoundTrip.Lost+
		r.RoundTrip.Total.Samples != r.RoundTrip.Asked {
		t.Errorf("frames are lost, but: pass %v, %+v", r.Pass, r.RoundTrip)
	}
	w = newWire()
	answers, kept := 0, []byte(nil)
	w.back = func(b []byte) []byte {
		switch answers++; answers {
		case 25:
			kept = b
			return nil
		case 27:
			w.inbox = append(w.inbox, Received{Data: kept, Stamp: w.now})
		}
		return b
	}
	if r := check(w); !r.Pass || r.RoundTrip.Lost != 0 || r.RoundTrip.Total.Samples != 50 ||
		r.RoundTrip.Total.MaxNs < int64(DefaultOptions().Patience) {
		t.Errorf("an answer is late, but: pass %v, %+v", r.Pass, r.RoundTrip)
	}
	got := spreadOf([]int64{5, 1, 4, 2, 3})
	assert.Equal(t, got, api.Spread{Samples: 5, MinNs: 1, P50Ns: 3, P99Ns: 5, P999Ns: 5, MaxNs: 5}, "spread")
}

// The most round trips that can be asked for come no faster than the other end answers.
func TestManyRoundTrips(t *testing.T) {
	o := DefaultOptions()
	o.Count = maxTrips
	r, err := Run(t.Context(), &o, newWire(), 77)
	assert.True(t, err == nil && r.Pass && r.RoundTrip.Asked == maxTrips && r.RoundTrip.Lost == 0,
		"a perfect link: error %v, %+v", err, r.RoundTrip)
}

// Answers of another check, late ones, and those that nobody asked for do not count.
func TestForeignAnswers(t *testing.T) {
	w := newWire()
	w.peer = false
	for _, e := range []macctl.Echo{{Answer: true, Session: 78, Sequence: 1, Path: macctl.PathFallback},
		{Answer: true, Session: 77, Sequence: 0}, {Session: 77, Sequence: 1}} {
		w.noise = append(w.noise, w.format.AppendEcho(nil, ownMAC, peerMAC, macctl.PathFallback, 60, false, 0, e))
	}
	r := check(w)
	assert.True(t, r.Peer == nil, "%v has answered", r.Peer)
}

func TestGolden(t *testing.T) {
	w := newWire()
	w.octets, w.out, w.back = 9014, func(b []byte) []byte { return longest(1514)(b) }, eatControl
	r := check(w)
	silent := newWire()
	silent.peer = false
	b := assert.Got(json.MarshalIndent(r, "", "  ")).Must(t)
	for name, got := range map[string]string{"linkcheck.json": string(b) + "\n", "linkcheck.txt": r.Text(),
		"silent.txt": check(silent).Text()} {
		golden.Check(t, name, got)
	}
}

func TestOptionsRefuse(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Count = 0 },
		func(o *Options) { o.Count = maxTrips + 1 },
		func(o *Options) { o.Patience = 0 },
		func(o *Options) { o.Patience = time.Minute },
		func(o *Options) { o.VLAN = 4095 },
	} {
		o := DefaultOptions()
		change(&o)
		assert.True(t, o.Check() != nil, "%+v is taken", o)
	}
}
