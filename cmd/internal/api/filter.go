package api

import "slices"

// A Filter keeps a part of an answer.
type Filter struct {
	Ports      []string   // empty: all
	Priorities []Priority // empty: all. "all", of a port with 802.3x PAUSE, is kept too
	// Existing returns the names of all ports. It is called for answers that need not have an entry of every port.
	Existing func() ([]string, error)
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
		return keepKnown(f, &r.Ports, func(p *HeadroomPort) []string { return []string{p.Port} })
	case *History:
		return keepPorts(f, &r.Ports, func(p *PortHistory) string { return p.Port })
	case *LLDP:
		return keepKnown(f, &r.Ports, func(p *LLDPPort) []string { return []string{p.Port} })
	case *Trunks:
		for i := range r.Trunks {
			t := &r.Trunks[i]
			keep(&t.Priorities, func(q *TrunkPriority) bool { return f.has(q.Priority) })
			for j := range t.Members {
				keep(&t.Members[j].Priorities, func(q *MemberPriority) bool { return f.has(q.Priority) })
			}
		}
		return keepKnown(f, &r.Trunks, (*Trunk).ports)
	case *Watchdog:
		err := keepKnown(f, &r.Queues, func(q *WatchdogQueue) []string { return []string{q.Port} })
		keep(&r.Queues, func(q *WatchdogQueue) bool { return f.has(q.Priority) })
		return err
	case *Threads:
		return keepKnown(f, &r.Threads, func(t *Thread) []string { return slices.Concat(t.Receives, t.Sends) })
	case *FDB:
		return keepKnown(f, &r.Entries, func(e *FDBEntry) []string { return append(listOf(e.Port), e.Ports...) })
	case *Events:
		err := keepKnown(f, &r.Events, func(e *Event) []string { return listOf(e.Port) })
		keep(&r.Events, func(e *Event) bool { return e.Priority == nil || f.has(*e.Priority) })
		return err
	}
	return nil
}

func listOf(port *string) []string {
	if port == nil {
		return nil
	}
	return []string{*port}
}

func (f Filter) has(p Priority) bool {
	return len(f.Priorities) == 0 || p == All || slices.Contains(f.Priorities, p)
}

func keep[T any](list *[]T, wanted func(*T) bool) {
	*list = slices.DeleteFunc(*list, func(x T) bool { return !wanted(&x) })
}

// keepPorts filters a list in which a missing port is an unknown one.
func keepPorts[T any](f Filter, list *[]T, name func(*T) string) error {
	names := each(*list, name)
	f.Existing = func() ([]string, error) { return names, nil }
	return keepKnown(f, list, func(x *T) []string { return []string{name(x)} })
}

// keepKnown keeps the elements that concern a selected port. Selected ports that are not in the list have to exist.
func keepKnown[T any](f Filter, list *[]T, ports func(*T) []string) error {
	unseen := slices.Clone(f.Ports)
	keep(list, func(x *T) bool {
		at := len(f.Ports) == 0
		for _, name := range ports(x) {
			at = at || slices.Contains(f.Ports, name)
			unseen = slices.DeleteFunc(unseen, func(p string) bool { return p == name })
		}
		return at
	})
	if len(unseen) == 0 {
		return nil
	}
	there, err := f.Existing()
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
