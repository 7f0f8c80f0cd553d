package lldp

import (
	"cmp"
	"slices"
)

// A state of a state machine: enter acts on entry, next returns the following state and the reason. The machine rests
// in a state that is its own next.
type state struct {
	name  string
	enter func(*Agent)
	next  func(*Agent) (to int, why string)
}

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
	for next, why := m.states[m.at].next(a); next != m.at; next, why = m.states[m.at].next(a) {
		m.recordTransition(a, next, why)
		m.at = next
		m.states[next].enter(a)
	}
}

// recordTransition keeps a transition that is about to be made.
func (m *machine) recordTransition(a *Agent, next int, why string) {
	a.transitions++
	m.newest[m.made%TransitionsKept] = Transition{At: a.now, Machine: m.name, From: m.states[m.at].name,
		To: m.states[next].name, Cause: why, number: a.transitions}
	m.made++
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
