package daemon

import (
	"errors"
	"fmt"
	"path"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// examine looks at the interfaces that exist and returns the speeds that NICs report, by port name. An interface that
// must not become a port is an error; one that does not exist is waited for. Ports that run already are not judged.
func examine(c *config.Config, running map[string]*portLink) (map[string]int64, error) {
	speeds := map[string]int64{}
	if len(c.Ports) > dataplane.MaxPorts {
		return nil, c.Errorf("ports", "%d ports: a switch has at most %d", len(c.Ports), dataplane.MaxPorts)
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		l, err := port.Inspect(p.Netns, p.Interface)
		if errors.Is(err, port.ErrNoInterface) || errors.Is(err, port.ErrNoNetns) {
			continue
		}
		if err != nil {
			return nil, c.Errorf("ports."+p.Name, "%v", err)
		}
		if l.Speed > 0 {
			speeds[p.Name] = l.Speed
		}
		if r := running[p.Name]; r != nil && r.socket != nil {
			continue
		}
		if err := l.Usable(); err != nil && !p.Force {
			return nil, c.Errorf("ports."+p.Name+".interface", "%v", err)
		}
	}
	return speeds, nil
}

// Candidates returns the interfaces that a switch without a configuration file takes: those named like data interfaces
// (eth1, eth2, …, e1-…) that have no address, no master and no default route. seen describes every interface, for the
// error message where there is none.
func Candidates() (names, seen []string, err error) {
	links, err := port.Interfaces("")
	if err != nil {
		return nil, nil, err
	}
	for _, l := range links {
		why := unfit(l)
		if why == "" {
			names = append(names, l.Name)
			why = "usable"
		}
		seen = append(seen, fmt.Sprintf("%s: %s", l.Name, why))
	}
	return names, seen, nil
}

func unfit(l port.Link) string {
	eth, _ := path.Match("eth[1-9]*", l.Name)
	e1, _ := path.Match("e1-*", l.Name)
	switch {
	case !eth && !e1:
		return "not named eth1, eth2, … or e1-…"
	case l.Master != 0:
		return "belongs to a bridge or bond"
	case len(l.Addresses) > 0:
		return "has the address " + l.Addresses[0]
	case l.Default:
		return "carries the default route"
	}
	return ""
}
