package api

import (
	"fmt"
	"slices"
	"strings"
)

// A Filter keeps a part of an answer.
type Filter struct {
	Ports      []string   // empty: all
	Priorities []Priority // empty: all. "all", of a port with 802.3x PAUSE, is kept too
}

// Apply leaves in r what the filter keeps. A port that r does not have is an error; answers that tell no ports or
// priorities apart stay whole.
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
		keep(&r.Queues, func(q *WatchdogQueue) bool { return f.has(q.Priority) })
		return keepPorts(f, &r.Queues, func(q *WatchdogQueue) string { return q.Port })
	case *FDB:
		keep(&r.Entries, func(e *FDBEntry) bool { return f.at(e.Port) })
	case *Events:
		keep(&r.Events, func(e *Event) bool { return f.at(e.Port) && (e.Priority == nil || f.has(*e.Priority)) })
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

func keepPorts[T any](f Filter, list *[]T, name func(*T) string) error {
	var names []string
	for i := range *list {
		if n := name(&(*list)[i]); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, p := range f.Ports {
		if !slices.Contains(names, p) {
			return fmt.Errorf("there is no port %s to show: there are %s", p, strings.Join(names, ", "))
		}
	}
	keep(list, func(x *T) bool { n := name(x); return f.at(&n) })
	return nil
}
