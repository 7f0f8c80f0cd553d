package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
	"pfcswitch/macctl"
)

// How often the headroom that was found is looked at beside the moments in which it changes, and a change that did not
// fit is tried again.
const (
	headroomPeriod = time.Second
	headroomRetry  = 10 * time.Millisecond
)

// runHeadroom gives each port the headroom that was found for its link, until ctx ends.
func (d *Daemon) runHeadroom(ctx context.Context) {
	defer d.background.Done()
	wait := time.NewTimer(headroomPeriod)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.headroomKick:
		case <-wait.C:
		}
		wait.Reset(d.followHeadroom(ctx))
	}
}

// kickHeadroom makes runHeadroom look.
func (d *Daemon) kickHeadroom() {
	select {
	case d.headroomKick <- struct{}{}:
	default:
	}
}

// followHeadroom does what there is to do for every port, and returns when to look again.
func (d *Daemon) followHeadroom(ctx context.Context) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := headroomPeriod
	var tested []*portLink
	for _, p := range d.ports {
		if p.prober == nil {
			continue
		}
		d.applyAgreement(p)
		var notes []string
		var reason string
		var target, xon int64
		var swallowed, unknown bool
		d.runner.View(func(*dataplane.Switch) {
			k := p.prober.probe
			notes, target, reason, xon, swallowed = k.Notes(), k.Target(), k.Reason(), k.Xon(), k.ControlDiscarded()
			unknown = k.Measuring() && !swallowed && !k.ControlPasses()
		})
		if swallowed != p.swallows && !unknown {
			p.swallows, tested = swallowed, append(tested, p)
		}
		for _, text := range notes {
			d.log.Warn(text, "port", p.cfg.Name)
			d.addEvent(dataplane.EventHeadroom, p.cfg.Name, text)
		}
		if err := d.setHeadroom(p, d.cfg.Buffer.WholeCells(target), reason); errors.Is(err, buffer.ErrBusy) {
			wait = headroomRetry
		}
		d.setXon(p, xon)
	}
	if len(tested) > 0 && d.applySelfTests(ctx, tested) {
		wait = busyTimeout
	}
	return wait
}

// applySelfTests switches flow control on or off where the self-test says something else now. What does not come in force is tried
// again with the next look, soon where only the buffer is too full for it.
func (d *Daemon) applySelfTests(ctx context.Context, tested []*portLink) (busy bool) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	err := d.putInForce(ctx, d.cfg)
	for _, p := range tested {
		if err != nil {
			p.swallows = !p.swallows
			continue
		}
		d.reportSelfTest(p)
	}
	busy = errors.Is(err, buffer.ErrBusy)
	if err != nil && !busy {
		d.log.Error("flow control after the self-test", "error", err)
	}
	return busy
}

// reportSelfTest says what the self-test of a port has shown: many MACs keep MAC Control frames for themselves, and then no pause
// reaches the switch, or leaves it.
func (d *Daemon) reportSelfTest(p *portLink) {
	text := "MAC Control frames (0x8808) pass again, or the link is another now: flow control is on again"
	if p.swallows {
		text = "MAC Control frames (0x8808) do not pass in both directions, though other frames do: the port is lossy until they do " +
			"(a NIC that keeps them: switch its own flow control off, or take another)"
	}
	d.log.Warn(text, "port", p.cfg.Name)
	d.addEvent(dataplane.EventPort, p.cfg.Name, text)
}

// setHeadroom gives a port the headroom that was found, in octets, and says so once, with the reason. Where the pool is too small for it
// the old value stays.
func (d *Daemon) setHeadroom(p *portLink, octets int64, reason string) error {
	if octets == 0 || octets == p.headroom || p.swallows || autoHeadroomQueues(d.cfg, p.cfg) == 0 {
		return nil
	}
	err := d.trunkRoom(p, octets)
	if err == nil {
		err = d.runner.SetHeadroom(p.number, octets)
	}
	if errors.Is(err, buffer.ErrBusy) {
		return err
	}
	if err != nil {
		if p.refusedHeadroom != octets {
			p.refusedHeadroom = octets
			d.noteHeadroom(p, fmt.Sprintf("the link needs a headroom of %d B, and %d B stay in force: %v", octets, p.headroom, err))
		}
		return err
	}
	d.noteHeadroom(p, fmt.Sprintf("headroom %d B, was %d B: %s", octets, p.headroom, reason))
	p.measured = octets
	d.recordHeadroom(p, octets)
	return nil
}

// setXon gives a port the resume threshold that was found, in octets. It moves with every sample, so small changes are passed
// over.
func (d *Daemon) setXon(p *portLink, octets int64) {
	if octets == 0 || p.swallows || autoXonQueues(d.cfg, p.cfg) == 0 || 8*max(octets-p.xon, p.xon-octets) < p.xon {
		return
	}
	if err := d.runner.SetXon(p.number, octets); err != nil {
		d.warn(p.cfg.Name, "the resume threshold that was measured is not in force", err)
		return
	}
	p.xon = octets
}

// trunkRoom tells whether the watermarks of the trunks leave room for a headroom of a port, in octets, beside those that were found
// for others.
func (d *Daemon) trunkRoom(p *portLink, octets int64) error {
	found := map[string]int64{p.cfg.Name: octets}
	for name, other := range d.ports {
		if other != p && other.measured > 0 {
			found[name] = other.measured
		}
	}
	return d.cfg.TrunkRoom(found)
}

// recordHeadroom notes the headroom that a port has, in octets.
func (d *Daemon) recordHeadroom(p *portLink, octets int64) {
	p.headroom, p.refusedHeadroom = octets, 0
	d.runner.View(func(*dataplane.Switch) { p.prober.probe.SetInForce(octets) })
}

func (d *Daemon) noteHeadroom(p *portLink, text string) {
	d.log.Info(text, "port", p.cfg.Name)
	d.addEvent(dataplane.EventHeadroom, p.cfg.Name, text)
}

// agreement is what LLDP says of who can measure on a port's link. Where nobody speaks LLDP, nobody agrees.
func agreement(p *portLink) (a lldp.Agreement) {
	if p.speaker != nil {
		p.speaker.read(func(x *dcbx.Exchange, _ *dcbx.Config, _ int64) { a = x.Agreement(p.cfg.Name) })
	}
	return a
}

// applyAgreement makes a port's Probe know what LLDP says of its link.
func (d *Daemon) applyAgreement(p *portLink) {
	if d.cfg.Headroom.Agree != config.AgreeLLDP {
		return
	}
	a := d.agreement(p)
	var own, agreed bool
	var neighbour string
	d.runner.View(func(*dataplane.Switch) { own, agreed, neighbour = p.prober.probe.Agreed() })
	if a.Own == own && a.Agreed() == agreed && a.Neighbour == neighbour {
		return // or nobody has spoken yet
	}
	d.runner.Prod(p.number, func(now int64) { p.prober.probe.SetAgreed(a.Own, a.Peer, a.Neighbour, now) })
}

// attachProber gives a port of the data plane its Prober, and the headroom that was found for it and is in force where keep is set.
func (d *Daemon) attachProber(pc *dataplane.PortConfig, c *config.Config, p *config.Port, keep bool) {
	if p.FlowControl == config.FlowOff || p.Kind == config.KindTAP {
		return // nobody to hold, or a host, which is held without a link
	}
	known := d.probers[p.Name]
	if known == nil {
		known = d.newProber(c, p)
	}
	pc.Prober = known
	r := d.ports[p.Name]
	if d.changesInterface(p) {
		r = nil // what was found is of another link
	}
	if r != nil && r.swallows {
		pc.Mode, pc.Lossless = macctl.ModeOff, 0
		return
	}
	pc.Follow, pc.FollowXon = autoHeadroomQueues(c, p), autoXonQueues(c, p)
	if !keep || r == nil || r.measured == 0 {
		return
	}
	same := false
	d.runner.View(func(*dataplane.Switch) { same = known.probe.Inputs() == p.HeadroomInputs() })
	for q := range pc.Ingress {
		if pc.Follow&(1<<q) == 0 {
			continue
		}
		least := c.Headroom.Min
		if !same { // it was found for another link, and a new one will be
			least = max(least, pc.Ingress[q].Headroom)
		}
		pc.Ingress[q].Headroom = c.Buffer.WholeCells(max(r.measured, least))
	}
}

// newProber makes the Prober of a port. What its counters were goes on.
func (d *Daemon) newProber(c *config.Config, p *config.Port) *prober {
	n := &prober{probe: headroom.NewProbe(d.probeSettings(c, p)), targetChanged: d.kickHeadroom}
	n.probe.Continue(d.retiredCounters[p.Name])
	delete(d.retiredCounters, p.Name)
	d.probers[p.Name] = n
	return n
}

// maxRetiredProbers is of how many ports without a Prober the counters are kept: whoever applies ever new names must not fill the memory.
const maxRetiredProbers = 1024

// retireProber ends the Prober of a port, but for its counters.
func (d *Daemon) retireProber(name string) {
	if len(d.retiredCounters) == maxRetiredProbers {
		for other := range d.retiredCounters {
			delete(d.retiredCounters, other)
			break
		}
	}
	d.runner.View(func(*dataplane.Switch) {
		d.retiredCounters[name] = d.probers[name].probe.Report(dataplane.Now()).Counters
	})
	delete(d.probers, name)
}

// anyMeasured tells whether a headroom that was found is in force at any port.
func (d *Daemon) anyMeasured() bool {
	for _, p := range d.ports {
		if p.measured > 0 {
			return true
		}
	}
	return false
}

// updateProbers makes the Probes those of the configuration that came in force.
func (d *Daemon) updateProbers(ports map[int]dataplane.PortConfig) {
	for name, known := range d.probers {
		p := d.ports[name]
		if p == nil || p.cfg.FlowControl == config.FlowOff || p.cfg.Kind == config.KindTAP {
			d.retireProber(name)
			continue
		}
		p.prober = known
		settings, octets := d.probeSettings(d.cfg, p.cfg), headroomOf(ports[p.number])
		d.runner.Prod(p.number, func(now int64) {
			known.probe.Configure(settings, now)
			if d.cfg.Headroom.Agree == config.AgreeAlways {
				known.probe.SetAgreed(true, true, "", now)
			}
		})
		d.keepMeasured(p, octets)
		p.xon = 0 // it was that of the configuration: it is set again at once
		d.recordHeadroom(p, octets)
	}
	for name, p := range d.ports {
		p.prober = d.probers[name]
	}
	d.publish()
	d.kickHeadroom()
}

// keepMeasured notes what became of the headroom that was found for a port, when a configuration gave it this much, in octets.
func (d *Daemon) keepMeasured(p *portLink, octets int64) {
	switch {
	case p.measured == 0 || octets == p.measured || p.swallows:
	case octets > p.measured:
		p.measured = octets
	default:
		d.noteHeadroom(p, fmt.Sprintf("headroom %d B, was %d B: what was measured has no place in this configuration, or is not to be used", octets, p.measured))
		p.measured = 0
	}
}

// headroomOf is the headroom of the first ingress queue that follows what is found, or else of the first lossless one.
func headroomOf(pc dataplane.PortConfig) int64 {
	queues := pc.Follow
	if queues == 0 {
		queues = pc.Lossless
	}
	return pc.Ingress[bits.TrailingZeros8(queues)&7].Headroom
}
