package lldp

import (
	"cmp"
	"slices"
)

// A state of a state machine. The machine leaves by the first edge that holds, and rests where none does.
type state struct {
	name  string
	enter func(*Agent) // nil: nothing to do
	edges []edge
}

// An edge leads to another state, for the reason why.
type edge struct {
	holds func(*Agent) bool // nil: always
	to    int
	why   string
}

// Conditions of several machines.
func up(a *Agent) bool   { return a.linkUp }
func down(a *Agent) bool { return !a.linkUp }
func off(a *Agent) bool  { return !a.enabled() }

// A machine is a state machine of IEEE 802.1AB clause 9.2 over the variables of an Agent.
type machine struct {
	name   string
	states []state
	at     int

	newest [TransitionsKept]Transition // a ring
	made   int                         // transitions so far
}

// TransitionsKept is how many of the newest transitions of each machine are kept. Each machine has its own ring, so
// that a peer that sends frame after frame hides only older transitions of the receive machine.
const TransitionsKept = 16

// A Transition is a step of a state machine.
type Transition struct {
	At       int64
	Machine  string // receive, timer or transmit
	From, To string // states
	Cause    string

	number uint64 // among those of all machines
}

// Causes of several machines.
const (
	reasonUp   = "link up"
	reasonDown = "link down"
	reasonOn   = "enabled"
	reasonOff  = "disabled"
)

// run follows transitions until the machine rests.
func (m *machine) run(a *Agent) {
	for {
		from := &m.states[m.at]
		i := slices.IndexFunc(from.edges, func(e edge) bool { return e.holds == nil || e.holds(a) })
		if i < 0 {
			return
		}
		m.at = from.edges[i].to
		to := &m.states[m.at]
		a.transitions++
		m.newest[m.made%TransitionsKept] = Transition{At: a.now, Machine: m.name, From: from.name, To: to.name,
			Cause: from.edges[i].why, number: a.transitions}
		m.made++
		if to.enter != nil {
			to.enter(a)
		}
	}
}

// Transitions returns the newest transitions, TransitionsKept of each machine at most, oldest first.
func (a *Agent) Transitions() []Transition {
	var all []Transition
	for _, m := range []*machine{&a.rx.machine, &a.timer.machine, &a.tx.machine} {
		all = append(all, m.newest[:min(m.made, TransitionsKept)]...)
	}
	slices.SortFunc(all, func(x, y Transition) int { return cmp.Compare(x.number, y.number) })
	return all
}
