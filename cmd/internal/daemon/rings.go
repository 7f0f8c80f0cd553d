package daemon

import (
	"errors"
	"log/slog"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/port"
)

// ringSizes is socketConfig without the program that spreads the frames. Before a port is in use, its rings take little
// memory. The lossless ones hold as many frames as later. They do so by a queue where the kernel lets the switch use
// programs: there it lets it have long queues, too.
func ringSizes(c *config.Config, p *config.Port, held, used bool) port.Config {
	if held {
		p = c.Assisted(p)
	}
	rings := port.Config{Interface: p.Interface, Netns: p.Netns, LosslessSlots: int(p.LosslessSlots()),
		OtherSlots: int(p.OtherSlots()), FrameSize: int(p.Ring.Frame), SmallFrame: classify.SmallFrame,
		SmallSlots: p.Ring.Small, XDP: true}
	if !used {
		rings.OtherSlots, rings.LosslessQueued = int(p.UnusedOther()), held
	}
	return rings
}

// ringsSuffice tells whether the rings are large enough. Rings never shrink, because replacing a ring would lose the
// frames in it.
func ringsSuffice(opened, want port.Config) bool {
	return want.LosslessSlots <= opened.LosslessSlots && want.OtherSlots <= opened.OtherSlots &&
		want.FrameSize <= opened.FrameSize && (want.LosslessQueued || !opened.LosslessQueued) &&
		want.Small(want.LosslessSlots) <= opened.Small(opened.LosslessSlots) &&
		want.Small(want.OtherSlots) <= opened.Small(opened.OtherSlots)
}

// tooSmall reports whether a port in service is to have larger receive rings.
func (d *Daemon) tooSmall(p *portLink) bool {
	_, ok := p.socket.(*port.AFPacket)
	return ok && p.socket.Bound() && !ringsSuffice(p.opened, ringSizes(d.cfg, p.cfg, p.holds(), p.used))
}

// enlargeRings gives larger receive rings to each port that is in use now, or whose peer the kernel does not hold any
// more, or never has, where the start could not.
func (d *Daemon) enlargeRings() {
	for _, p := range d.ports {
		p.used = p.used || d.runner.Used(p.number)
		if !time.Now().Before(p.replaceAt) {
			d.enlarge(p)
		}
	}
}

// enlargePause is the time between two attempts at larger rings.
const enlargePause = 10 * time.Second

// enlarge gives a port larger receive rings where it is to have them. It reports a failure once, and why a port needs
// deep ones.
func (d *Daemon) enlarge(p *portLink) {
	if !d.tooSmall(p) {
		return
	}
	was, deeper := p.notLarger, p.opened.LosslessSlots
	err := d.giveRings(p)
	if p.notLarger = ""; err != nil {
		if p.notLarger = err.Error(); p.notLarger != was {
			d.warn(p.cfg.Name, "opening larger receive rings", err)
		}
		p.replaceAt = time.Now().Add(enlargePause)
		return
	}
	switch deeper = p.opened.LosslessSlots - deeper; {
	case p.holds() || deeper == 0:
		d.log.Debug("the port is in use and has larger receive rings", "port", p.cfg.Name)
	case p.assist == nil:
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name,
			"the port has deep receive rings now, because no program in the kernel holds the peer (assist)")
	default:
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, "the program at the interface's tcx ingress does "+
			"not hold the peer any more (assist): the port has deep receive rings now")
	}
}

func (d *Daemon) giveRings(p *portLink) error {
	want := ringSizes(d.cfg, p.cfg, p.holds(), p.used)
	larger, err := d.openLarger(p.socket.(*port.AFPacket), want)
	if err != nil {
		return err
	}
	if err := d.runner.Enlarge(p.number, larger); err != nil {
		return errors.Join(err, larger.Close())
	}
	p.opened = want
	return nil
}
