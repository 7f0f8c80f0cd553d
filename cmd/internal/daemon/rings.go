package daemon

import (
	"errors"
	"log/slog"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// ringSizes is socketConfig without the program that spreads the frames. Before a port is in use, its frames come by
// queues that hold as many, where the kernel lets the switch use programs: there it lets it have long queues, too. A
// NIC may take a page of the queue for each frame, so a queue suffices at a veth alone.
func ringSizes(c *config.Config, p *config.Port, at place, held, used bool) port.Config {
	if held {
		p = c.Assisted(p)
	}
	sockets := p.Sockets()
	sockets.Interface, sockets.Netns, sockets.XDP = p.Interface, p.Netns, true
	sockets.Queued = held && !used && at.link.Kind == "veth" && p.Ring.Small == 0 &&
		port.QueueSuffices(int(p.Ring.Frame))
	return sockets
}

// ringsSuffice tells whether the rings are large enough. Rings never shrink, because replacing a ring would lose the
// frames in it.
func ringsSuffice(opened, want port.Config) bool {
	return want.LosslessSlots <= opened.LosslessSlots && want.OtherSlots <= opened.OtherSlots &&
		want.FrameSize <= opened.FrameSize && (want.Queued || !opened.Queued) &&
		want.Small(want.LosslessSlots) <= opened.Small(opened.LosslessSlots) &&
		want.Small(want.OtherSlots) <= opened.Small(opened.OtherSlots)
}

// tooSmall reports whether a port in service is to have larger receive rings.
func (d *Daemon) tooSmall(p *portLink) bool {
	_, ok := p.socket.(*port.AFPacket)
	return ok && p.socket.Bound() && !ringsSuffice(p.opened, ringSizes(d.cfg, p.cfg, p.at, p.holds(), p.used))
}

// enlargeRings gives larger receive rings to each port that is in use now, or whose peer the kernel does not hold any
// more, or never has, where the start could not.
func (d *Daemon) enlargeRings() {
	var ports []*portLink
	for _, p := range d.ports {
		p.used = p.used || d.runner.Used(p.number)
		if !time.Now().Before(p.replaceAt) && d.tooSmall(p) {
			ports = append(ports, p)
		}
	}
	d.enlarge(ports...)
}

// enlargePause is the time between two attempts at larger rings.
const enlargePause = 10 * time.Second

// enlarge gives ports larger receive rings. Opening them mostly waits for the kernel, so some ports do so at the same
// time. It reports a failure once, and why a port needs deep rings.
func (d *Daemon) enlarge(ports ...*portLink) {
	wants, opened, errs := make([]port.Config, len(ports)), make([]*port.Larger, len(ports)), make([]error, len(ports))
	for i, p := range ports {
		wants[i] = ringSizes(d.cfg, p.cfg, p.at, p.holds(), p.used)
		wants[i].LosslessSlots = max(wants[i].LosslessSlots, p.opened.LosslessSlots)
		wants[i].OtherSlots = max(wants[i].OtherSlots, p.opened.OtherSlots)
	}
	inTurns(len(ports), enlargeAtOnce, func(i int) {
		opened[i], errs[i] = d.openLarger(ports[i].socket.(*port.AFPacket), wants[i])
	})
	for i, p := range ports {
		if errs[i] == nil {
			if errs[i] = d.runner.Enlarge(p.number, opened[i]); errs[i] != nil {
				errs[i] = errors.Join(errs[i], opened[i].Close())
			}
		}
		d.enlarged(p, wants[i], errs[i])
	}
}

// enlargeAtOnce is how many ports open larger rings at the same time, while frames want CPU time.
const enlargeAtOnce = 4

func (d *Daemon) enlarged(p *portLink, now port.Config, err error) {
	was := p.notLarger
	if p.notLarger = ""; err != nil {
		if p.notLarger = err.Error(); p.notLarger != was {
			d.warn(p.cfg.Name, "opening larger receive rings", err)
		}
		p.replaceAt = time.Now().Add(enlargePause)
		return
	}
	before := p.opened
	p.opened = now
	switch {
	case p.holds() || before.LosslessSlots == now.LosslessSlots:
		d.log.Debug("the port has its whole receive rings", "port", p.cfg.Name)
	case p.assist == nil:
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name,
			"the port has deep receive rings now, because no program in the kernel holds the peer (assist)")
	default:
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, "the program at the interface's tcx ingress does "+
			"not hold the peer any more (assist): the port has deep receive rings now")
	}
}
