package dcbx

import "pfcswitch/lldp"

// An Exchange is LLDP with DCBX on one port: what the Agent hears the Machine is told, and what that tells the Agent sends.
type Exchange struct {
	agent   *lldp.Agent
	machine *Machine
}

// NewExchange returns an Exchange whose link is down.
func NewExchange(l lldp.Config, c Config) *Exchange {
	x := &Exchange{lldp.NewAgent(l), NewMachine(c)}
	x.agent.SetOrganization(x.machine.Organization(), 0)
	return x
}

// Configure changes what the Exchange is told.
func (x *Exchange) Configure(l lldp.Config, c Config, now int64) {
	x.agent.Configure(l, now)
	x.machine.Configure(c)
	x.sync(now)
}

// SetLink tells whether the link is up.
func (x *Exchange) SetLink(up bool, now int64) {
	x.agent.SetLink(up, now)
	x.sync(now)
}

// Stop makes Transmit return a last frame, which says goodbye.
func (x *Exchange) Stop(now int64) {
	x.agent.SetOn(false, now)
	x.sync(now)
}

// Receive takes a frame of the link.
func (x *Exchange) Receive(frame []byte, now int64) {
	x.agent.Receive(frame, now)
	x.sync(now)
}

// Advance does what is due.
func (x *Exchange) Advance(now int64) {
	x.agent.Advance(now)
	x.sync(now)
}

// Next returns when Advance must be called at the latest, math.MaxInt64 where only a frame or a call changes anything.
func (x *Exchange) Next() int64 {
	return min(x.machine.Next(), x.agent.Next())
}

// Transmit returns the next frame to send, nil where there is none.
func (x *Exchange) Transmit() []byte { return x.agent.Transmit() }

// Agent returns the LLDP half, to be read.
func (x *Exchange) Agent() *lldp.Agent { return x.agent }

// Outcome returns what is in force.
func (x *Exchange) Outcome() Outcome { return x.machine.Outcome() }

// Agreement returns who can measure headroom. A peer that has gone cannot, whatever is in force for a while yet.
func (x *Exchange) Agreement(port string) lldp.Agreement {
	a := lldp.Agreement{Port: port, Own: x.machine.measures()}
	if all := x.agent.Neighbours(); len(all) > 0 {
		a.Neighbour, a.Peer = all[0].Name(), x.machine.Outcome().Measures
	}
	return a
}

// sync lets the halves hear of each other.
func (x *Exchange) sync(now int64) {
	x.machine.Update(x.agent.Neighbours(), x.agent.TooMany(), now)
	x.agent.SetOrganization(x.machine.Organization(), now)
}
