package simulation

import (
	"cmp"
	"slices"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/deadlock"
)

// acts reports whether the deadlock watchdog of a port does more than tell.
func acts(p *config.Port) bool {
	return p.Watchdog.Fast && (p.Watchdog.Action != deadlock.Alert || p.Watchdog.Slow)
}

// watch runs the deadlock watchdog of a switch, where it acts at one of its ports.
func (f *fabric) watch(s *labSwitch, tells bool) error {
	if f.real || !s.acts() {
		return nil
	}
	dog := deadlock.New(&daemon.SwitchView{Switch: s.sw})
	for i := range s.config.Ports {
		p := &s.config.Ports[i]
		c, _ := s.sw.PortConfig(i)
		if !acts(p) {
			continue
		}
		if err := dog.Set(i, p.Name, daemon.WatchedQueues(c), p.Watchdog.Config, f.Now()); err != nil {
			return err
		}
	}
	f.Watch(s.node, func(suspects bridge.PortSet, now int64) (next int64) {
		for i := range suspects.All() {
			dog.Notify(i, now)
		}
		dog.Poll(now)
		if events := dog.Events(); tells {
			s.told = append(s.told, events...)
		}
		return dog.Next()
	})
	return nil
}

// tell hands over what the watchdogs have said since the last call, in the order of time.
func (f *fabric) tell(to func(name string, e deadlock.Event)) {
	if to == nil {
		return
	}
	type said struct {
		name  string
		event deadlock.Event
	}
	var all []said
	for _, s := range f.switches {
		for _, e := range s.told {
			e.At -= f.Begun()
			all = append(all, said{s.name, e})
		}
		s.told = s.told[:0]
	}
	slices.SortStableFunc(all, func(a, b said) int { return cmp.Compare(a.event.At, b.event.At) })
	for _, s := range all {
		to(s.name, s.event)
	}
}

// acts reports whether the watchdog of one of the ports does more than tell.
func (s *labSwitch) acts() bool {
	return slices.ContainsFunc(s.config.Ports, func(p config.Port) bool { return acts(&p) })
}
