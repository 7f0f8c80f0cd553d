package metrics

import (
	"strings"
	"time"

	"pfcswitch/headroom"
)

// collectMeasured exports what measuring a port's link has shown.
func collectMeasured(o *output, p *Port) {
	r := p.Headroom
	o.value(headroomAgreed, number(r.Agreed), p.Name)
	o.value(headroomValue, float64(p.Eta), p.Name, "eta")
	o.value(headroomValue, float64(p.Delay), p.Name, "delay")
	if r.PeerFound > 0 {
		o.value(headroomValue, float64(headroom.Octets(r.PeerFound)), p.Name, "peer")
		o.value(headroomValue, float64(headroom.Octets(r.Received)), p.Name, "received")
	}
	if r.Measured != nil {
		o.value(headroomValue, float64(headroom.Octets(r.Plain)), p.Name, "plain")
		o.value(headroomValue, float64(headroom.Octets(r.Measured.Bits())), p.Name, "measured")
	}
	for _, t := range r.Measured {
		o.value(headroomPart, float64(headroom.Octets(t.Bits)), p.Name, strings.ReplaceAll(t.Name, " ", "-"))
	}
	collectSpread(o, headroomTrip, &r.Trips, p.Name)
	collectSpread(o, headroomTurn, &r.Idle, p.Name, "idle")
	collectSpread(o, headroomTurn, &r.Busy, p.Name, "busy")
}

// collectSpread exports the percentiles of samples, where there are some. The percentile is the last label.
func collectSpread(o *output, id familyID, d *headroom.Distribution, labels ...string) {
	if d.Samples == 0 {
		return
	}
	for _, told := range []struct {
		percentile string
		t          time.Duration
	}{{"0", d.Min}, {"50", d.Median}, {"99", d.P99}, {"99.9", d.P999}, {"100", d.Max}} {
		o.value(id, told.t.Seconds(), append(labels[:len(labels):len(labels)], told.percentile)...)
	}
}
