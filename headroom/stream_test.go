package headroom

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// allowing returns settings of an end that fills the link for its peer, with priority 3.
func allowing() Settings {
	s := settings(8)
	s.Streams, s.Lossless = true, 1<<3
	return s
}

func streamRequest(sequence uint32, ns uint64) macctl.MeasurementFrame {
	return group(stranger, macctl.Measurement{Operation: macctl.MeasureStream, Session: 1, Sequence: sequence,
		Area: [2]uint64{3, ns}})
}

func TestStreamIsAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name     string
		peer     Settings
		priority uint8
		want     time.Duration // asked for
		granted  time.Duration
	}{
		{"granted", allowing(), 3, 300 * time.Millisecond, 300 * time.Millisecond},
		{"more than there is", allowing(), 3, time.Hour, MaxStream},
		{"not allowed", settings(8), 3, MaxStream, 0},
		{"of a lossy priority", allowing(), 4, MaxStream, 0},
		{"of no priority", allowing(), 200, MaxStream, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(settings(7), tt.peer)
			w.agree()
			w.run(time.Second)
			w.ends[0].AskStream(tt.priority, tt.want)
			if _, answered := w.ends[0].Granted(); answered {
				t.Error("answered before it was asked")
			}
			asked := w.now
			w.run(10 * time.Millisecond)
			d, answered := w.ends[0].Granted()
			assert.True(t, answered && d == tt.granted, "Granted\n got %v, %v\nwant %v", d, answered, tt.granted)
			priority, until := w.ends[1].Stream()
			end := asked + w.delay[0] + w.turn + int64(tt.granted)
			assert.True(t, (until != 0) == (tt.granted > 0) && (until == 0 || (until == end &&
				priority == tt.priority)), "Stream\n got priority %d until %d\nwant %d", priority, until, end)
			w.ends[0].AskStream(tt.priority, 0)
			w.run(10 * time.Millisecond)
			_, until = w.ends[1].Stream()
			assert.True(t, until == 0, "it goes on when nobody wants it any more")
		})
	}
}

// A stream ends with the agreement, with the link, and with its permission.
func TestStreamEnds(t *testing.T) {
	for name, end := range map[string]func(p *Probe, now int64){
		"no agreement": func(p *Probe, now int64) { p.SetAgreed(true, false, "", now) },
		"link down":    func(p *Probe, now int64) { p.SetUp(false, now) },
		"not allowed":  func(p *Probe, now int64) { p.Configure(settings(8), now) },
	} {
		w := newWire(settings(7), allowing())
		w.agree()
		w.ends[0].AskStream(3, MaxStream)
		w.run(10 * time.Millisecond)
		_, until := w.ends[1].Stream()
		assert.MustBeTrue(t, until != 0, "there is no stream")
		end(w.ends[1], w.now)
		_, until = w.ends[1].Stream()
		assert.True(t, until == 0, "%s: the stream goes on", name)
	}
}

// Without agreement there is no stream, nor for replayed or repeated requests.
func TestStreamRequestsAreBounded(t *testing.T) {
	p := NewProbe(allowing())
	p.SetUp(true, 1)
	now := int64(1e9)
	receive := func(in macctl.MeasurementFrame) time.Duration {
		p.Receive(in, now, Moment{Now: now})
		drain(p, Moment{Now: now}, ignore)
		_, until := p.Stream()
		return time.Duration(max(until-now, 0))
	}
	if d := receive(streamRequest(1, 1e9)); d != 0 || p.count.Ignored[IgnoredNotAgreed] != 1 {
		t.Errorf("without an agreement: %v, ignored %v", d, p.count.Ignored)
	}
	p.SetAgreed(true, true, "b", now)
	assert.Equal(t, receive(streamRequest(5, 1e8)), 100*time.Millisecond, "granted")
	now += 60_000_000
	if d := receive(streamRequest(5, 1e9)); d != 40*time.Millisecond || p.count.Ignored[IgnoredOld] != 1 {
		t.Errorf("replayed: %v left, ignored %v", d, p.count.Ignored)
	}
	assert.Equal(t, receive(streamRequest(6, 1e8)), 100*time.Millisecond, "renewed: left")
	now += 10_000_000
	if d := receive(streamRequest(7, 1e9)); d != 90*time.Millisecond || p.count.Ignored[IgnoredBusy] != 1 {
		t.Errorf("too soon: %v left, ignored %v", d, p.count.Ignored)
	}
	assert.Equal(t, receive(streamRequest(8, 0)), 0, "ended at once: left")
	assert.Equal(t, p.count.Streams, 2, "streams")
	notes := strings.Join(p.Notes(), "\n")
	assert.Equal(t, strings.Count(notes, "neighbour b checks its headroom"), 1, "told that the link fills:\n%s", notes)
}

// Forged answers change nothing.
func TestForgedGrantsAreIgnored(t *testing.T) {
	for _, tt := range []struct {
		name  string
		forge func(in *macctl.MeasurementFrame)
		want  Ignored
	}{
		{"another session", func(in *macctl.MeasurementFrame) { in.Session++ }, IgnoredUnasked},
		{"another sequence", func(in *macctl.MeasurementFrame) { in.Sequence++ }, IgnoredUnasked},
		{"another priority", func(in *macctl.MeasurementFrame) { in.Area[0]++ }, IgnoredAltered},
		{"more than was wanted", func(in *macctl.MeasurementFrame) { in.Area[1]++ }, IgnoredProportion},
	} {
		p := agreed(settings(7))
		p.AskStream(3, MaxStream)
		out, ok := p.Out(Moment{Now: 2})
		assert.MustBeTrue(t, ok && out.Operation == macctl.MeasureStream,
			"Out\n got %+v, %v\nwant the request", out, ok)
		in := out
		in.Peer = stranger
		tt.forge(&in)
		p.Receive(in, 3, Moment{Now: 3})
		if _, answered := p.Granted(); answered || p.count.Ignored[tt.want] != 1 {
			t.Errorf("%s: answered %v, ignored %v", tt.name, answered, p.count.Ignored)
		}
		in = out
		in.Peer = stranger
		p.Receive(in, 3, Moment{Now: 3})
		d, answered := p.Granted()
		assert.True(t, answered && d == MaxStream, "%s: the real answer counts no more: %v, %v", tt.name, d, answered)
		p.Receive(in, 4, Moment{Now: 4})
		assert.True(t, p.count.Ignored[IgnoredUnasked] != 0, "%s: the answer counts twice", tt.name)
	}
}

// However a peer asks, its streams are bounded by the budget and a fifth of all time.
func TestStreamBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := agreed(allowing())
		now, begun := int64(1e9), int64(1e9)
		var streamed, until int64
		for sequence := range uint32(rapid.IntRange(1, 400).Draw(t, "requests")) {
			next := now + rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "after")
			streamed += max(0, min(until, next)-now)
			now = next
			p.Receive(streamRequest(sequence+1, rapid.Uint64Range(0, 3e9).Draw(t, "ns")), now, Moment{Now: now})
			drain(p, Moment{Now: now}, ignore)
			_, until = p.Stream()
			assert.MustBeTrue(t, until <= now+int64(MaxStream), "a stream of %v", time.Duration(until-now))
			assert.MustBeTrue(t, streamed <= (int64(streamBudget)+(now-begun)/(streamRefill+1)+int64(MaxStream)),
				"streams of %v in %v", time.Duration(streamed), time.Duration(now-begun))
		}
	})
}
