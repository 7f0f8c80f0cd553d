package daemon

import (
	"errors"
	"log/slog"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
	"pfcswitch/dataplane/runner"
)

// openAssist makes the maps of the programs that help from inside the kernel, unless the configuration or the system
// does not want them. Then the switch works without.
func (d *Daemon) openAssist(c *config.Config) {
	if c.Assist.Off {
		d.assistState = "off"
		return
	}
	maps, err := assist.Open()
	if err != nil {
		d.assistState = err.Error()
		return
	}
	d.assist = maps
}

// assistOptions are those of the runner.
func (d *Daemon) assistOptions(c *config.Config) runner.AssistOptions {
	return runner.AssistOptions{Maps: d.assist, Freeze: c.Assist.Freeze, Hold: c.Assist.Hold}
}

// attachAssist attaches the programs at the interface of a port whose sockets do not receive yet.
func (d *Daemon) attachAssist(p *portLink) {
	s, ok := p.socket.(*port.AFPacket)
	if d.assist == nil || !ok {
		return
	}
	var a *assist.Port
	err := port.InNetns(p.cfg.Netns, func() (err error) {
		a, err = d.assist.Attach(p.number, p.at.link.Index, runner.Now())
		return err
	})
	if err != nil {
		d.reportNoAssist(p, err)
		return
	}
	p.assist = &runner.Assist{Port: a, Index: p.at.link.Index, Netns: p.at.home, Fast: p.at.link.FarAway}
	s.UseFilter(a.Filter())
	d.warn(p.cfg.Name, "using the programs in the kernel", d.runner.SetAssist(p.number, p.assist))
}

// reportNoAssist reports why a port works without programs. That the whole system allows none is reported once.
func (d *Daemon) reportNoAssist(p *portLink, err error) {
	p.assistState = err.Error()
	level := slog.LevelWarn
	if errors.Is(err, assist.ErrUnavailable) {
		level = slog.LevelInfo
	}
	d.report(level, dataplane.EventPort, p.cfg.Name, err.Error()+": the port works without")
}

// followAssist follows an interface whose far end has moved to another namespace.
func (d *Daemon) followAssist(p *portLink) {
	if p.assist == nil || p.assist.Fast == p.at.link.FarAway {
		return
	}
	next := *p.assist
	next.Fast = p.at.link.FarAway
	p.assist = &next
	d.warn(p.cfg.Name, "using the programs in the kernel", d.runner.SetAssist(p.number, p.assist))
}

// closeAssist detaches the programs of a port, whose sockets are closed.
func (p *portLink) closeAssist() error {
	if p.assist == nil {
		return nil
	}
	err := p.assist.Close()
	p.assist = nil
	return err
}
