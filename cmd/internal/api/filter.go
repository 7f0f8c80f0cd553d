package api

import "slices"

// A Filter keeps a part of an answer.
type Filter struct {
	Ports      []string   // empty: all
	Priorities []Priority // empty: all. "all", of a port with 802.3x PAUSE, is kept too
	// There returns the names of the ports that there are. It is called where an answer, which may have nothing of a
	// port, does not tell.
	There func() ([]string, error)
}

// Apply removes from r what the filter does not select. A trunk stays if one of its ports is selected. Answers without
// ports and priorities stay whole. An unknown port is a NoPortError.
func (f Filter) Apply(r Reply) error {
	switch r := r.(type) {
	case *Ports:
		return keepPorts(f, &r.Ports, func(p *Port) string { return p.Port })
	case *PFC:
		for i := range r.Ports {
			keep(&r.Ports[i].Priorities, func(q *PFCPriority) bool { return f.has(q.Priority) })
		}
		return keepPorts(f, &r.Ports, func(p *PFCPort) string { return p.Port })
	case *Buffer:
		for i := range r.Ports {
			keep(&r.Ports[i].IngressQueues, func(q *IngressQueue) bool { return f.has(q.Priority) })
			keep(&r.Ports[i].EgressQueues, func(q *EgressBuffer) bool { return f.has(Priority(q.Queue)) })
		}
		return keepPorts(f, &r.Ports, func(p *BufferPort) string { return p.Port })
	case *Queues:
		for i := range r.Ports {
			keep(&r.Ports[i].Queues, func(q *Queue) bool { return f.has(Priority(q.Queue)) })
			keep(&r.Ports[i].Drops, func(d *Drop) bool { return f.has(d.Priority) })
		}
		return keepPorts(f, &r.Ports, func(p *QueuesPort) string { return p.Port })
	case *Headroom:
		for i := range r.Ports {
			keep(&r.Ports[i].Queues, func(q *HeadroomQueue) bool { return f.has(q.Priority) })
		}
		return keepPorts(f, &r.Ports, func(p *HeadroomPort) string { return p.Port })
	case *LLDP:
		return keepPorts(f, &r.Ports, func(p *LLDPPort) string { return p.Port })
	case *Watchdog:
		err := f.known(func(name string) bool {
			return slices.ContainsFunc(r.Queues, func(q WatchdogQueue) bool { return q.Port == name })
		})
		keep(&r.Queues, func(q *WatchdogQueue) bool { return f.has(q.Priority) && f.at(&q.Port) })
		return err
	case *Trunks:
		for i := range r.Trunks {
			t := &r.Trunks[i]
			keep(&t.Priorities, func(q *TrunkPriority) bool { return f.has(q.Priority) })
			for j := range t.Members {
				keep(&t.Members[j].Priorities, func(q *MemberPriority) bool { return f.has(q.Priority) })
			}
		}
		err := f.known(func(name string) bool {
			return slices.ContainsFunc(r.Trunks, func(t Trunk) bool { return slices.Contains(t.ports(), name) })
		})
		keep(&r.Trunks, func(t *Trunk) bool {
			return slices.ContainsFunc(t.ports(),
				func(n string) bool { return f.at(&n) })
		})
		return err
	case *FDB:
		keep(&r.Entries, func(e *FDBEntry) bool { return f.at(e.Port) })
		return f.known(func(name string) bool {
			return slices.ContainsFunc(r.Entries, func(e FDBEntry) bool { return e.Port != nil && *e.Port == name })
		})
	case *Events:
		keep(&r.Events, func(e *Event) bool { return f.at(e.Port) && (e.Priority == nil || f.has(*e.Priority)) })
		return f.known(func(name string) bool {
			return slices.ContainsFunc(r.Events, func(e Event) bool { return e.Port != nil && *e.Port == name })
		})
	}
	return nil
}

// known checks that the selected ports exist. Ports that were seen in the answer need no check.
func (f Filter) known(seen func(name string) bool) error {
	unseen := slices.DeleteFunc(slices.Clone(f.Ports), seen)
	if len(unseen) == 0 {
		return nil
	}
	there, err := f.There()
	if err != nil {
		return err
	}
	for _, name := range unseen {
		if !slices.Contains(there, name) {
			return &NoPortError{name, there}
		}
	}
	return nil
}

func (f Filter) has(p Priority) bool {
	return len(f.Priorities) == 0 || p == All || slices.Contains(f.Priorities, p)
}

// at keeps what concerns one of the ports.
func (f Filter) at(port *string) bool {
	return len(f.Ports) == 0 || port != nil && slices.Contains(f.Ports, *port)
}

func keep[T any](list *[]T, wanted func(*T) bool) {
	*list = slices.DeleteFunc(*list, func(x T) bool { return !wanted(&x) })
}

// keepPorts filters a list that contains every port.
func keepPorts[T any](f Filter, list *[]T, name func(*T) string) error {
	var there []string
	for i := range *list {
		there = append(there, name(&(*list)[i]))
	}
	for _, p := range f.Ports {
		if !slices.Contains(there, p) {
			return &NoPortError{p, there}
		}
	}
	keep(list, func(x *T) bool { n := name(x); return f.at(&n) })
	return nil
}
