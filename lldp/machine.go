package lldp

// A state of a state machine: what is done on entry, and to which state what has changed leads. A state that next
// returns itself rests.
type state struct {
	name  string
	enter func(*Agent)
	next  func(*Agent) int
}

// A machine is a state machine of IEEE 802.1AB clause 9.2 over the variables of an Agent.
type machine struct {
	states []state
	at     int
}

// newMachine returns a machine in its first state.
func newMachine(states []state) machine { return machine{states: states} }

// run follows transitions until the machine rests.
func (m *machine) run(a *Agent) {
	for next := m.states[m.at].next(a); next != m.at; next = m.states[m.at].next(a) {
		m.at = next
		m.states[next].enter(a)
	}
}

// String returns the name of the state.
func (m *machine) String() string { return m.states[m.at].name }
