package traffic

import "pfcswitch/dataplane/dcqcn"

// A control is what the sender of a flow knows of DCQCN.
type control struct {
	point dcqcn.ReactionPoint
	rate  int64   // bit/s that the meter has,
	since int64   // ns, from when on
	bits  float64 // on the wire, that the rates allowed until then
	cnps  uint64
}

// startControl begins a flow with DCQCN at the speed of the port, or at its rate.
func (f *flowState) startControl(speed int64) {
	rate := speed
	if f.Rate > 0 {
		rate = min(rate, f.Rate)
	}
	f.control = &control{rate: rate, since: f.from}
	f.control.point.Start(dcqcn.For(speed), rate, f.from)
}

// advance has a flow with DCQCN send at the rate of now.
func (f *flowState) advance(now int64) {
	c := f.control
	if f.until != 0 {
		now = min(now, f.until)
	}
	if c == nil || now <= c.since {
		return
	}
	c.point.Advance(now)
	c.bits += float64(c.rate) * float64(f.on(now-f.from)-f.on(c.since-f.from)) / 1e9
	c.since = now
	if rate := c.point.Rate(); rate != c.rate {
		c.rate = rate
		f.meter.Configure(rate, f.depth(rate), now)
	}
}

// notified says that a CNP came.
func (f *flowState) notified(now int64) {
	if c := f.control; c != nil && now >= f.from && (f.until == 0 || now < f.until) {
		c.cnps++
		c.point.Notified(now)
		f.advance(now)
	}
}

// end ends the load of a flow. CNPs that come later do not count.
func (f *flowState) end(now int64) {
	f.advance(now)
	if f.until == 0 || f.until > now {
		f.until = now
	}
}
