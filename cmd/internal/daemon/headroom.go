package daemon

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/runner"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
	"pfcswitch/macctl"
)

// How often the headroom that was found is looked at beside the moments in which it changes: while measurement frames
// come and go, and in any case; and how soon a change that did not fit is tried again.
const (
	headroomPeriod = time.Second
	headroomIdle   = 10 * time.Second
	headroomRetry  = 10 * time.Millisecond
)

// runHeadroom keeps the headroom of each port at the measured value, until ctx ends.
func (d *Daemon) runHeadroom(ctx context.Context) {
	defer d.background.Done()
	d.headroomAlarm.Set(runner.Now() + int64(headroomPeriod))
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.headroomKick:
		}
		now := runner.Now()
		wait := int64(d.followHeadroom(ctx, now))
		d.headroomAlarm.Set(max(now+wait, runner.Now()+int64(headroomRetry))) // others want the lock too
	}
}

// kickHeadroom makes runHeadroom look at once.
func (d *Daemon) kickHeadroom() { wake(d.headroomKick) }

// untilHeadroomLook returns how long after time now to look in any case: at a whole multiple, when others wake up as
// well.
func untilHeadroomLook(now int64) time.Duration {
	return headroomIdle - time.Duration(now)%headroomIdle
}

// followHeadroom updates every port, and returns how long after time now to look again.
func (d *Daemon) followHeadroom(ctx context.Context, now int64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := untilHeadroomLook(now)
	var tested []*portLink
	xons := map[*portLink]int64{}
	for _, p := range d.ports {
		d.applyNeighbour(p)
		if p.prober == nil {
			continue
		}
		d.applyAgreement(p)
		var notes []string
		var reason string
		var target int64
		var discarded, unknown bool
		d.runner.View(func(*dataplane.Switch) {
			k := p.prober
			k.Advance(runner.Now())
			wait = min(wait, time.Duration(k.AdvanceAt()-now))
			notes, target, reason, discarded = k.Notes(), k.Target(), k.Reason(), k.ControlDiscarded()
			xons[p] = k.Xon()
			unknown = k.Measuring() && !discarded && !k.ControlPasses()
		})
		if discarded != p.discardsControl && !unknown {
			p.discardsControl, tested = discarded, append(tested, p)
		}
		for _, text := range notes {
			d.report(slog.LevelWarn, dataplane.EventHeadroom, p.cfg.Name, text)
		}
		if err := d.setHeadroom(p, d.cfg.Packing(p.cfg).Bytes(target), reason); errors.Is(err, buffer.ErrBusy) {
			wait = headroomRetry
		}
	}
	for p, xon := range xons {
		d.setXon(p, xon)
	}
	if len(tested) > 0 {
		if wait = min(wait, headroomPeriod); d.applySelfTests(ctx, tested) {
			wait = busyTimeout
		}
	}
	return wait
}

// applySelfTests turns flow control on or off where the result of the self-test has changed. A change that fails is
// retried at the next look, and soon if only the buffer is too full.
func (d *Daemon) applySelfTests(ctx context.Context, tested []*portLink) (busy bool) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	err := d.putInForce(ctx, d.cfg)
	for _, p := range tested {
		if err != nil {
			p.discardsControl = !p.discardsControl
			continue
		}
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, selfTestTexts[p.discardsControl])
	}
	busy = errors.Is(err, buffer.ErrBusy)
	if err != nil && !busy {
		d.log.Error("flow control after the self-test", "error", err)
	}
	return busy
}

// selfTestTexts say whether the link discards MAC Control frames, as many MACs do. Then no pause passes the link.
var selfTestTexts = map[bool]string{
	true: "MAC Control frames (0x8808) do not pass in both directions, though other frames do: the port is lossy " +
		"until they do (a NIC that keeps them: switch its own flow control off, or take another)",
	false: "MAC Control frames (0x8808) pass again, or the link is another now: flow control is on again",
}

// setHeadroom gives a port the measured headroom, in bytes of the buffer, and reports the change once with its
// reason. If the pool is too small, the old value stays.
func (d *Daemon) setHeadroom(p *portLink, size int64, reason string) error {
	if size == 0 || size == p.headroom || p.discardsControl || d.cfg.MeasuredQueues(p.cfg) == 0 {
		return nil
	}
	err := d.trunkRoom(p, size)
	if err == nil {
		err = d.runner.SetHeadroom(p.number, size)
	}
	switch {
	case err == nil:
		d.noteHeadroom(p, "headroom %d B, was %d B: %s", size, p.headroom, reason)
		p.measured = size
		d.recordHeadroom(p, size)
		for _, other := range d.ports {
			// bounded by what is shared, which has another size now where the pool does not follow: set again at once
			other.xon = 0
		}
	case !errors.Is(err, buffer.ErrBusy) && p.refusedHeadroom != size:
		p.refusedHeadroom = size
		d.noteHeadroom(p, "the link needs a headroom of %d B, and %d B stay in force: %v", size, p.headroom, err)
	}
	return err
}

// setXon gives a port the measured resume threshold, in octets. Changes below an eighth are ignored, because every
// sample moves the value a little.
func (d *Daemon) setXon(p *portLink, octets int64) {
	if octets == 0 || p.discardsControl || autoXonQueues(d.cfg, p.cfg) == 0 ||
		8*max(octets-p.xon, p.xon-octets) < p.xon {
		return
	}
	if err := d.runner.SetXon(p.number, octets); err != nil {
		d.warn(p.cfg.Name, "the resume threshold that was measured is not in force", err)
		return
	}
	p.xon = octets
}

// trunkRoom tells whether the watermarks of the trunks leave room for a headroom of a port, in bytes of the buffer.
// Other ports count with their measured headroom.
func (d *Daemon) trunkRoom(p *portLink, size int64) error {
	found := map[string]int64{p.cfg.Name: size}
	for name, other := range d.ports {
		if other != p && other.measured > 0 {
			found[name] = other.measured
		}
	}
	return d.cfg.TrunkRoom(found)
}

func (d *Daemon) recordHeadroom(p *portLink, size int64) {
	p.headroom, p.refusedHeadroom = size, 0
	d.runner.View(func(*dataplane.Switch) { p.prober.SetInForce(size) })
}

func (d *Daemon) noteHeadroom(p *portLink, format string, args ...any) {
	d.report(slog.LevelInfo, dataplane.EventHeadroom, p.cfg.Name, fmt.Sprintf(format, args...))
}

// applyNeighbour tells the bridge which address the neighbour of a port has, with which DCBX goes on.
func (d *Daemon) applyNeighbour(p *portLink) {
	var a lldp.Agreement
	if p.speaker != nil {
		p.speaker.read(func(x *dcbx.Exchange) { a = x.Agreement(p.cfg.Name) })
	}
	if a.Address != p.neighbour {
		p.neighbour = a.Address
		d.runner.Act(func(sw *dataplane.Switch) { sw.SetNeighbour(p.number, a.Address) })
	}
}

// applyAgreement tells the Probe of a port what LLDP has agreed. Without LLDP nobody agrees.
func (d *Daemon) applyAgreement(p *portLink) {
	if d.cfg.Headroom.Agree != config.AgreeLLDP {
		return
	}
	var a lldp.Agreement
	if p.speaker != nil {
		p.speaker.read(func(x *dcbx.Exchange) { a = x.Agreement(p.cfg.Name) })
	}
	var own, agreed bool
	var neighbour string
	var address [6]byte
	d.runner.View(func(*dataplane.Switch) {
		own, agreed, neighbour = p.prober.Agreed()
		address = p.prober.Neighbour()
	})
	if a.Own == own && a.Agreed() == agreed && a.Neighbour == neighbour && a.Address == address {
		return // or nobody has spoken yet
	}
	d.runner.Kick(p.number, func(now int64) {
		p.prober.SetNeighbour(a.Address, now)
		p.prober.SetAgreed(a.Own, a.Peer, a.Neighbour, now)
	})
}

// attachProber gives a port of the data plane its Prober. With keep the port also keeps its measured headroom.
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
	if r != nil && r.discardsControl {
		pc.Mode, pc.Lossless = macctl.ModeOff, 0
		return
	}
	pc.Follow, pc.FollowXon = c.MeasuredQueues(p), autoXonQueues(c, p)
	if !keep || r == nil || r.measured == 0 {
		return
	}
	same := false
	d.runner.View(func(*dataplane.Switch) { same = known.Inputs() == p.HeadroomInputs() })
	most := c.MostHeadroom(p)
	for q := range pc.Ingress {
		if pc.Follow&(1<<q) == 0 {
			continue
		}
		least := c.Packing(p).Bytes(c.Headroom.Min)
		if !same { // it was found for another link, and a new one will be
			least = max(least, pc.Ingress[q].Headroom)
		}
		pc.Ingress[q].Headroom = max(min(r.measured, most), least)
	}
}

// newProber makes the Prober of a port. Its counters continue those of an earlier Prober of this port.
func (d *Daemon) newProber(c *config.Config, p *config.Port) *Prober {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	s := ProbeSettings(c, p, d.precision)
	s.Session, s.Sequence = binary.NativeEndian.Uint16(random[:]), binary.NativeEndian.Uint32(random[2:])
	n := NewProber(s, d.kickHeadroom)
	n.Continue(d.retiredCounters[p.Name])
	delete(d.retiredCounters, p.Name)
	d.probers[p.Name] = n
	return n
}

// maxRetiredProbers bounds the memory for counters of removed Probers: a user may apply ever new port names.
const maxRetiredProbers = 1024

// retireProber removes the Prober of a port and keeps its counters.
func (d *Daemon) retireProber(name string) {
	if len(d.retiredCounters) == maxRetiredProbers {
		for other := range d.retiredCounters {
			delete(d.retiredCounters, other)
			break
		}
	}
	d.retiredCounters[name] = d.probeReport(d.probers[name]).Counters
	delete(d.probers, name)
}

// updateProbers makes the Probers follow the configuration in force.
func (d *Daemon) updateProbers(ports map[int]dataplane.PortConfig) {
	for name, known := range d.probers {
		p := d.ports[name]
		if p == nil || p.cfg.FlowControl == config.FlowOff || p.cfg.Kind == config.KindTAP {
			d.retireProber(name)
			continue
		}
		p.prober = known
		settings, size := ProbeSettings(d.cfg, p.cfg, d.precision), headroomOf(ports[p.number])
		d.runner.Kick(p.number, func(now int64) {
			known.configure(settings, now)
			if d.cfg.Headroom.Agree == config.AgreeAlways {
				known.SetNeighbour([6]byte{}, now)
				known.SetAgreed(true, true, "", now)
			}
		})
		d.keepMeasured(p, size)
		p.xon = 0 // it was that of the configuration: it is set again at once
		d.recordHeadroom(p, size)
	}
	for name, p := range d.ports {
		p.prober = d.probers[name]
	}
	d.publish()
	d.kickHeadroom()
}

// keepMeasured updates the measured headroom of a port after a configuration gave it this size.
func (d *Daemon) keepMeasured(p *portLink, size int64) {
	switch {
	case p.measured == 0 || size == p.measured || p.discardsControl:
	case size > p.measured:
		p.measured = size
	case d.cfg.MeasuredQueues(p.cfg) != 0 && size == d.cfg.MostHeadroom(p.cfg):
		d.noteHeadroom(p, "headroom %d B, was %d B: headroom.share allows no more", size, p.measured)
		p.measured = size
	default:
		d.noteHeadroom(p, "headroom %d B, was %d B: what was measured has no place in this configuration, or is not "+
			"to be used", size, p.measured)
		p.measured = 0
	}
}

// headroomOf returns the headroom of the first ingress queue that follows the measurement, or else of the first
// lossless one.
func headroomOf(pc dataplane.PortConfig) int64 {
	queues := pc.Follow
	if queues == 0 {
		queues = pc.Lossless
	}
	return pc.Ingress[bits.TrailingZeros8(queues)&7].Headroom
}
