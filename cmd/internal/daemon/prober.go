package daemon

import (
	"fmt"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A Prober is the headroom.Probe of one port for the data plane. The switch's lock guards it.
type Prober struct {
	*headroom.Probe
	session    uint16 // session and first sequence tell this Probe from others, and cannot be guessed
	sequence   uint32
	target     int64  // as last seen
	follow     func() // makes somebody look at what was found; must not block
	followedAt int64  // when follow was last called
}

var _ dataplane.HeadroomProber = (*Prober)(nil)

// NewProber returns a Prober whose link is down. follow is called where something may have been found; it must not
// block.
func NewProber(s headroom.Settings, follow func()) *Prober {
	return &Prober{Probe: headroom.NewProbe(s), session: s.Session, sequence: s.Sequence, follow: follow}
}

// Receive implements dataplane.HeadroomProber.
func (p *Prober) Receive(m *macctl.MeasurementFrame, stamp, now, realTimeOffset int64, busy bool) bool {
	in := *m
	in.Busy = busy
	urgent := p.Probe.Receive(in, stamp, headroom.Moment{Now: now, Clock: realTimeOffset})
	p.found(now)
	return urgent
}

// found calls follow where the target has changed, else where messages go on, once in headroomPeriod.
func (p *Prober) found(now int64) {
	if t := p.Target(); t != p.target || now-p.followedAt >= int64(headroomPeriod) {
		p.target, p.followedAt = t, now
		p.follow()
	}
}

// Out implements dataplane.HeadroomProber.
func (p *Prober) Out(now, realTimeOffset int64) (m macctl.Measurement, to [6]byte, fallback, ok bool) {
	out, ok := p.Probe.Out(headroom.Moment{Now: now, Clock: realTimeOffset})
	p.found(now)
	return out.Measurement, out.Peer, out.Fallback, ok
}

// Stamped implements dataplane.HeadroomProber. The send stamp of an answer would come too late and is ignored.
func (p *Prober) Stamped(m *macctl.Measurement, sent, now, realTimeOffset int64) {
	if m.Operation == macctl.MeasureRequest {
		p.Probe.Stamped(m.Session, m.Sequence, sent, headroom.Moment{Now: now, Clock: realTimeOffset})
	}
}

// Reacted implements dataplane.HeadroomProber.
func (p *Prober) Reacted(ns int64, busy bool) { p.Probe.Reacted(time.Duration(ns), busy) }

func (p *Prober) configure(s headroom.Settings, now int64) {
	s.Session, s.Sequence = p.session, p.sequence
	p.Configure(s, now)
}

func (d *Daemon) probeReport(p *Prober) (r headroom.Report) {
	d.runner.View(func(*dataplane.Switch) { r = p.Report(runner.Now()) })
	return r
}

// clockPrecision is the error bound of a time stamp of this machine: the smallest step of the clock plus the error
// between its two clocks.
func clockPrecision() time.Duration {
	return time.Duration(port.ClockStep(runner.Now) + port.ClockError(runner.ClockPair))
}

// autoXonQueues are the ingress queues of a port whose resume threshold follows the measurement: the file has none.
func autoXonQueues(c *config.Config, p *config.Port) (queues uint8) {
	for q := range p.Queues {
		if p.Queues[q].Lossless && p.Priorities[q].Xon == nil && c.Buffer.Xon == nil {
			queues |= 1 << q
		}
	}
	return queues
}

// ProbeSettings translates what the Probe of a port needs, but for its session. precision is that of the stamps of this
// machine.
func ProbeSettings(c *config.Config, p *config.Port, precision time.Duration) headroom.Settings {
	h, calculated := &c.Headroom, p.CalculatedHeadroom().Bits()
	packing := c.Packing(p)
	s := headroom.Settings{Inputs: p.HeadroomInputs(), Packing: packing, Calculated: calculated, Min: 8 * h.Min,
		Max: h.Max.Bits(calculated), Share: 8 * packing.Octets(c.MostHeadroom(p)), Auto: c.MeasuredQueues(p) != 0,
		Key:        headroomKey(p),
		Precision:  max(h.Precision, precision), // no stamp is finer than this machine's
		Percentile: h.Percentile / 100, Interval: h.Interval, Streams: h.SendRequest}
	_, s.Lossless = flowControl(c, p)
	if h.Max.Times == 0 { // a size was written: of all that is found
		s.Limit = s.Max
	}
	for flag, on := range map[uint8]bool{macctl.MeasureAtLink: h.Answer == config.AnswerLink,
		macctl.MeasureLoopback: h.Mode == config.ModeLoopback, macctl.MeasureTwoStamps: h.Stamps == config.TwoStamps,
		macctl.MeasureClient: h.Variant == config.VariantClient} {
		if on {
			s.Flags |= flag
		}
	}
	return s
}

// headroomKey is the key by which a person sets the headroom of a port.
func headroomKey(p *config.Port) string {
	key := "ports." + p.Name + ".priorities"
	if p.FlowControl == config.FlowPause {
		return key + ".all.headroom"
	}
	for q := range 8 {
		if p.Queues[q].Lossless {
			return fmt.Sprintf("%s.%d.headroom", key, q)
		}
	}
	return key
}
