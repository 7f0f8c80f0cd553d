package daemon

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// A place is an interface together with its network namespace, whatever name the configuration uses.
type place struct {
	home port.NetnsID
	link port.Link
}

// locateAll finds the existing interfaces, by port name. An interface that does not exist yet is left out.
func (d *Daemon) locateAll(c *config.Config) (map[string]place, error) {
	found := map[string]place{}
	for i := range c.Ports {
		p := &c.Ports[i]
		at, err := d.locate(p)
		if p.Kind == config.KindTAP || waitable(err) {
			continue
		}
		if err != nil {
			return nil, c.Errorf("ports."+p.Name, "%v", err)
		}
		found[p.Name] = at
	}
	return found, nil
}

func (d *Daemon) locate(p *config.Port) (at place, err error) {
	if at.home, err = port.IdentifyNetns(p.Netns); err != nil {
		return at, err
	}
	at.link, err = d.inspect(p.Netns, p.Interface)
	return at, err
}

// waitable tells whether an error means that something does not exist yet.
func waitable(err error) bool {
	return errors.Is(err, port.ErrNoInterface) || errors.Is(err, port.ErrNoNetns)
}

// refuseUnusable refuses interfaces that must not become ports. A running port is checked only if its interface
// changes.
func (d *Daemon) refuseUnusable(c *config.Config, places map[string]place) error {
	type key struct {
		home  port.NetnsID
		index int
	}
	taken := map[key]string{}
	for i := range c.Ports {
		p := &c.Ports[i]
		at, ok := places[p.Name]
		if !ok {
			continue
		}
		k := key{at.home, at.link.Index}
		if other, twice := taken[k]; twice {
			return c.Errorf("ports."+p.Name+".interface",
				"%s is already port %s, by another name of its network namespace: give each port an interface of its "+
					"own", p.Interface, other)
		}
		taken[k] = p.Name
		if r := d.ports[p.Name]; r != nil && r.bound(at) {
			continue
		}
		if err := d.usable(p, at); err != nil {
			return c.Errorf("ports."+p.Name+".interface", "%v", err)
		}
	}
	return nil
}

// usable says why an interface must not become a port, unless the configuration forces it.
func (d *Daemon) usable(p *config.Port, at place) error {
	if p.Force {
		return nil
	}
	for _, r := range d.ports {
		if r.bound(at) { // by another name
			return at.link.Usable(p.Netns)
		}
	}
	return errors.Join(at.link.Usable(p.Netns), port.Taken(p.Netns, at.link))
}

// linkSpeeds returns the speeds that NICs report, by port name.
func linkSpeeds(places map[string]place) map[string]int64 {
	all := map[string]int64{}
	for name, at := range places {
		if at.link.Speed > 0 {
			all[name] = at.link.Speed
		}
	}
	return all
}

// Candidates returns the interfaces that a switch without a configuration file takes. They are named like data
// interfaces (eth1, eth2, …, e1-…) and have no address, no master and no default route. seen describes every interface,
// for the error message when there is none.
func Candidates() (names, seen []string, err error) {
	links, err := port.Interfaces("")
	if err != nil {
		return nil, nil, err
	}
	for _, l := range links {
		why := whyNoCandidate(l)
		if why == "" {
			names = append(names, l.Name)
			why = "usable"
		}
		seen = append(seen, fmt.Sprintf("%s: %s", l.Name, why))
	}
	return names, seen, nil
}

// candidatePoll is how often AwaitCandidates looks.
const candidatePoll = 50 * time.Millisecond

// AwaitCandidates waits for n candidates. A container runtime starts a container first and adds its interfaces later.
// report is called when the list changes, and otherwise less and less often.
func AwaitCandidates(ctx context.Context, n int, report func(seen []string)) (names []string, err error) {
	var last []string
	for begun, reported := time.Now(), time.Duration(0); ; {
		names, seen, err := Candidates()
		if err != nil || len(names) >= n {
			return names, err
		}
		if waited := time.Since(begun); waited > reported || !slices.Equal(seen, last) {
			report(seen)
			last, reported = seen, 2*waited+5*time.Second
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("interrupted while waiting for %d interfaces, of which there are %d", n, len(names))
		case <-time.After(candidatePoll):
		}
	}
}

func whyNoCandidate(l port.Link) string {
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
