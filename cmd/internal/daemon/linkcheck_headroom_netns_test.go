package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

const allowing = "preset: roce\nheadroom: {interval: 100ms, send_request: on}\n" + atOnce

// free fails the test where an end still holds its peer or fills the link.
func (p *pair) free() {
	p.T.Helper()
	for i := range p.ends {
		eventually(p.T, "nobody is held", func() bool {
			return p.snapshot(i).XoffWanted == 0 && p.snapshot(i).Paused == 0
		})
	}
	eventually(p.T, "the peer was told that nobody wants the stream", func() (ended bool) {
		p.ends[1].runner.View(func(*dataplane.Switch) {
			_, until := p.ends[1].published.Load().probers["p1"].Stream()
			ended = until == 0
		})
		return ended
	})
}

// The headroom of a real link is proved: the peer fills the link, is stopped again and again, and what still comes
// fits; nothing is lost, and the watchdog of the peer sees no deadlock.
func TestHeadroomIsChecked(t *testing.T) {
	for _, tt := range []struct{ name, keys, port string }{
		{"pfc", allowing, "speed: 100M"},
		{"pause", strings.Replace(allowing, "preset: roce\n", "", 1), "speed: 100M, flow_control: pause"},
		{"a long link", allowing, "speed: 100M, delay: 1ms"},
		{"by DSCP", "headroom: {interval: 100ms, send_request: on}\nlldp: {change_hold: 0s}\npriorities: {lossless: " +
			"[3], trust: dscp, dscp: {26: 3}}\n", "speed: 100M"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, both(tt.keys), both(tt.port))
			p.agreed(0, 1)
			h := p.checked(0, 40)
			assert.True(t, h.Xoffs == 40 && len(h.Samples) == 40 && *h.Neighbor == "b", "%+v", h)
			if tt.name == "a long link" {
				holds(t, h, 25_000)
			}
			p.reacted(1, h)
			p.free()
			for i, want := range []string{"checked by 40 XOFFs",
				"neighbour a checks its headroom, and has this end fill the link"} {
				p.reports(i, dataplane.EventHeadroom, want)
			}
			for i := range p.ends {
				s := p.snapshot(i)
				assert.Equal(t, s.Counters.LosslessDrops, [len(s.Counters.LosslessDrops)]uint64{},
					"end %d: lossless drops", i)
				for _, e := range p.ends[i].Source().Events(0) {
					assert.True(t, !strings.HasPrefix(string(e.Kind), "deadlock"), "end %d: %s", i, e.Text)
				}
			}
			assert.True(t, p.snapshot(1).Counters.Streamed != 0 && p.snapshot(1).Counters.SentFrames == 0,
				"the peer streamed %d frames and sent %d", p.snapshot(1).Counters.Streamed,
				p.snapshot(1).Counters.SentFrames)
		})
	}
}

// holds fails the test where less came after the XOFFs of a check, on average, than half of what a link of so many
// octets holds that is as full as it was.
func holds(t *testing.T, h *api.HeadroomCheck, octets int64) {
	t.Helper()
	sum := int64(0)
	for _, after := range h.Samples {
		sum += after
	}
	mean, least := sum/int64(len(h.Samples)), octets/2*h.FilledRate / *h.Speed
	assert.True(t, mean >= least, "%d octets came after an XOFF on average, want %d at least", mean, least)
}

// checked has an end check its headroom: what comes has to fit what was measured and is in force. A machine that cannot
// fill the link makes the check inconclusive, and nothing else does.
func (p *pair) checked(i, xoffs int) *api.HeadroomCheck {
	p.T.Helper()
	h, err := p.ends[i].Source().CheckHeadroom(p.T.Context(), api.HeadroomCheckRequest{Port: "p1", Xoffs: xoffs})
	must(p.T, err)
	p.T.Logf("\n%s", h.Text())
	assert.MustBeTrue(p.T, h.Fits && h.MeasuredBytes != nil && slices.Max(h.Samples) <= *h.MeasuredBytes,
		"it does not fit: %+v", h)
	const full = 0.5 // of the port's speed
	if share := float64(h.FilledRate) / float64(*h.Speed); (h.Inconclusive != nil) != (share < full) {
		p.T.Errorf("a link that was filled to %.2f, and the check is inconclusive: %v", share, h.Inconclusive != nil)
	}
	return h
}

// reacted waits until what an end that was told to stop says of its reactions has reached its peer's headroom.
func (p *pair) reacted(i int, h *api.HeadroomCheck) {
	p.T.Helper()
	own := p.found(i).Reactions
	if own.Samples < h.Xoffs/2 || int64(own.Max) > h.ElapsedNs { // one is 0 where the last send call had ended before
		p.T.Errorf("after %d XOFFs while it sent: reactions %+v", h.Xoffs, own)
	}
	eventually(p.T, "the peer counts with them", func() bool {
		r := p.found(1 - i)
		return r.Measured != nil && r.Finding.Reaction >= own.P999 && r.Measured[1].Bits > 0
	})
}

// A headroom that is too small is found out: more comes than it holds.
func TestHeadroomTooSmallIsFoundOut(t *testing.T) {
	p := newPair(t, both(allowing), both("speed: 1G, delay: 200us, priorities: {3: {headroom: 12KiB}}"))
	p.agreed(0, 1)
	h, err := p.ends[0].Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: "p1", Xoffs: 40})
	must(t, err)
	if h.Fits || h.InForceBytes != 12<<10 ||
		!strings.Contains(h.Text(), "FAIL: more came than the headroom in force holds") {
		t.Errorf("with 12 KiB for a link that holds 50 kB:\n%s", h.Text())
	}
	p.free()
}

// What cannot be checked is refused with a sentence that says what to do, and leaves no trace.
func TestHeadroomCheckIsRefused(t *testing.T) {
	p := newPair(t, [2]string{allowing, strings.Replace(allowing, "send_request: on", "send_request: off", 1)},
		both("speed: 1G"))
	p.agreed(0, 1)
	five := 5
	for _, tt := range []struct {
		ask  api.HeadroomCheckRequest
		want string
	}{
		{api.HeadroomCheckRequest{Port: "p9", Xoffs: 1}, "no port"},
		{api.HeadroomCheckRequest{Port: "p1", Xoffs: 1, Priority: &five}, "priority 5 of port p1 is not lossless"},
		{api.HeadroomCheckRequest{Port: "p1", Xoffs: 1}, "send_request: on"},
	} {
		_, err := p.ends[0].Source().CheckHeadroom(t.Context(), tt.ask)
		assert.Fails(t, err, tt.want, "%+v", tt.ask)
	}
	n := p.snapshot(1).Counters.Streamed
	assert.True(t, n == 0, "the peer sent %d frames that it does not allow", n)
	p.free()
}

// A check that is broken off frees the peer, and only one runs at a time.
func TestHeadroomCheckIsBrokenOff(t *testing.T) {
	p := newPair(t, both(allowing), both("speed: 1G"))
	p.agreed(0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.ends[0].Source().CheckHeadroom(ctx, api.HeadroomCheckRequest{Port: "p1", Xoffs: 10_000})
		done <- err
	}()
	eventually(t, "the peer fills the link", func() bool { return p.snapshot(1).Counters.Streamed > 100 })
	_, err := p.ends[0].Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: "p1", Xoffs: 1})
	assert.Fails(t, err, "another check", "a second check")
	cancel()
	err = <-done
	assert.True(t, errors.Is(err, context.Canceled), "broken off: %v", err)
	p.free()
}
