package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// updateLink takes over a changed MAC address, and notes a link speed that the port has to follow.
func (d *Daemon) updateLink(p *portLink, l port.Link) {
	moved := l.MAC != p.at.link.MAC
	if p.at.link = l; moved {
		d.warn(p.cfg.Name, "taking over the interface's address", d.runner.SetMAC(p.number, l.MAC))
		d.report(slog.LevelInfo, dataplane.EventPort, p.cfg.Name,
			"the interface's address is now "+net.HardwareAddr(l.MAC[:]).String())
		d.configureLLDP(p)
	}
	switch {
	case !p.cfg.SpeedAuto || l.Speed == 0:
	case l.Speed == p.cfg.Speed:
		p.triedSpeed = 0
	case l.Speed != p.triedSpeed:
		p.triedSpeed, d.speedChanged = l.Speed, true
	}
}

// applyLinkSpeeds makes the ports with speed: auto follow their links. A link without a reported speed changes nothing.
// A change that the buffer is too full for is retried.
func (d *Daemon) applyLinkSpeeds(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	d.speedChanged = false
	known := map[string]int64{}
	for name, p := range d.ports {
		if known[name] = p.cfg.Speed; p.socket != nil && p.at.link.Speed > 0 {
			known[name] = p.at.link.Speed
		}
	}
	before := d.cfg
	resolved, err := d.cfg.Resolve(known)
	if err == nil {
		err = d.putInForce(ctx, resolved)
	}
	d.speedChanged = errors.Is(err, buffer.ErrBusy)
	for _, p := range before.Ports {
		if speed := known[p.Name]; p.SpeedAuto && speed != p.Speed {
			d.reportSpeed(p, speed, err)
		}
	}
}

// reportSpeed reports a link speed that a port has to follow, and why the port does not follow it. A speed that waits
// for the buffer to drain is reported once.
func (d *Daemon) reportSpeed(p config.Port, speed int64, err error) {
	link, what := d.ports[p.Name], fmt.Sprintf("the link's speed is now %d Mbit/s", speed/1_000_000)
	pending := link.pendingSpeed
	link.pendingSpeed = 0
	switch {
	case err == nil:
		d.addEvent(dataplane.EventPort, p.Name, what)
	case !d.speedChanged:
		d.warn(p.Name, fmt.Sprintf("%s, and the port stays at %d Mbit/s", what, p.Speed/1_000_000), err)
	default:
		if link.pendingSpeed = speed; pending != speed {
			d.warn(p.Name, what+", which is tried again until it is in force", err)
		}
	}
}

func (d *Daemon) report(level slog.Level, kind dataplane.EventKind, name, text string) {
	d.log.Log(context.Background(), level, text, "port", name)
	d.addEvent(kind, name, text)
}

// addEvent adds an event of a port, or of the whole switch where name is empty.
func (d *Daemon) addEvent(kind dataplane.EventKind, name, text string) {
	d.runner.Note(dataplane.Event{Kind: kind, Port: name, Priority: -1, Text: text})
}

// warn logs and reports an error that does not undo the operation it was part of.
func (d *Daemon) warn(name, what string, err error) {
	if err == nil {
		return
	}
	d.log.Warn(what, "port", name, "error", err)
	d.addEvent(dataplane.EventPort, name, fmt.Sprintf("%s: %v", what, err))
}
