package metrics

import (
	"strings"
	"time"

	"pfcswitch/headroom"
)

// collectMeasured exports the report of a port that measures its link.
func collectMeasured(o *output, p *Port) {
	r := p.Headroom
	collectLink(o, p.Name, r)
	collectFormulas(o, p)
	if r.PeerFound > 0 {
		o.bits(r.PeerFound, p.Name, "peer")
		o.bits(r.Received, p.Name, "received")
	}
	if r.ResultBits > 0 {
		o.bits(r.ResultBits, p.Name, "told")
	}
	if r.ResultAcked {
		o.bits(r.PeerInForce, p.Name, "peer_has")
	}
	o.value(headroomValue, float64(r.Holds), p.Name, "holds")
	if r.Target > 0 {
		o.bits(r.Target, p.Name, "target")
	}
	if r.Bound != "" {
		o.bits(r.Needs, p.Name, "needs")
	}
	if r.Measured != nil {
		collectFinding(o, p.Name, r)
	}
	collectPercentiles(o, headroomTrip, &r.RoundTrips, p.Name)
	collectPercentiles(o, headroomTurn, &r.Idle, p.Name, "idle")
	collectPercentiles(o, headroomTurn, &r.Busy, p.Name, "busy")
	collectPercentiles(o, headroomReaction, &r.ReactionsIdle, p.Name, "idle")
	collectPercentiles(o, headroomReaction, &r.ReactionsBusy, p.Name, "busy")
	collectPercentiles(o, headroomReaction, &r.Reactions, p.Name, "any")
	for _, samples := range []struct {
		of string
		d  *headroom.Distribution
	}{{"trip", &r.RoundTrips}, {"idle", &r.Idle}, {"busy", &r.Busy}, {"reaction", &r.Reactions},
		{"reaction-idle", &r.ReactionsIdle}, {"reaction-busy", &r.ReactionsBusy}} {
		o.value(headroomSamples, float64(samples.d.Samples), p.Name, samples.of)
	}
}

// bits exports a headroom that is known in bits.
func (o *output) bits(n int64, port, value string) {
	o.value(headroomValue, float64(headroom.Octets(n)), port, value)
}

// collectLink exports the state between the two ends.
func collectLink(o *output, port string, r *headroom.Report) {
	o.value(headroomAgreed, boolValue(r.Agreed), port)
	o.value(headroomSilent, boolValue(r.PeerSilent), port)
	o.value(headroomAuto, boolValue(r.Settings.Auto), port)
	o.value(headroomTold, boolValue(r.ResultAcked), port)
	if r.ControlPasses || r.ControlDiscarded {
		o.value(headroomPasses, boolValue(r.ControlPasses), port)
	}
}

// collectFormulas exports the calculated headroom of the port, with its parts.
func collectFormulas(o *output, p *Port) {
	o.bits(p.Calculated.Eta.Bits(), p.Name, "eta")
	o.bits(p.Calculated.Delay.Bits(), p.Name, "delay")
	for _, f := range []struct {
		name  string
		terms headroom.Terms
	}{{"eta", p.Calculated.Eta}, {"delay", p.Calculated.Delay}, {"calculated", p.Calculated.Terms()}} {
		for _, t := range f.terms {
			o.value(headroomFormulaPart, float64(headroom.Octets(t.Bits)), p.Name, f.name, partName(t.Name))
		}
	}
}

// collectFinding exports what this end has measured.
func collectFinding(o *output, port string, r *headroom.Report) {
	o.bits(r.Plain, port, "plain")
	o.bits(r.Measured.Bits(), port, "measured")
	for _, t := range r.Measured {
		o.value(headroomPart, float64(headroom.Octets(t.Bits)), port, partName(t.Name))
	}
	f := &r.Finding
	o.value(headroomFound, f.RoundTrip.Seconds(), port, "trip")
	o.value(headroomFound, f.Precision.Seconds(), port, "precision")
	o.value(headroomFound, f.Reaction.Seconds(), port, "reaction")
	if f.SendLimit > 0 {
		o.value(headroomSendLimit, float64(headroom.Octets(f.SendLimit)), port)
	}
	o.value(headroomXonMeasured, float64(r.Xon), port)
}

// partName returns a term as it stands in a label.
func partName(term string) string { return hyphens.Replace(strings.ToLower(term)) }

var hyphens = strings.NewReplacer(" ", "-", ",", "")

// collectPercentiles exports the percentiles of samples, where there are some. The percentile is the last label.
func collectPercentiles(o *output, f *family, d *headroom.Distribution, labels ...string) {
	if d.Samples == 0 {
		return
	}
	for _, value := range []struct {
		percentile string
		t          time.Duration
	}{{"0", d.Min}, {"50", d.Median}, {"99", d.P99}, {"99.9", d.P999}, {"100", d.Max}} {
		o.value(f, value.t.Seconds(), append(labels[:len(labels):len(labels)], value.percentile)...)
	}
}
