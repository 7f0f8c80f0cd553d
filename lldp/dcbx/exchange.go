package dcbx

import "pfcswitch/lldp"

// An Exchange is LLDP with DCBX on one port. The Machine gets what the Agent receives, and the Agent sends what the
// Machine announces.
type Exchange struct {
	agent   *lldp.Agent
	machine *Machine
	peer    *lldp.Neighbour // that the Machine follows
}

// NewExchange returns an Exchange whose link is down.
func NewExchange(l lldp.Config, c Config) *Exchange {
	x := &Exchange{agent: lldp.NewAgent(l), machine: NewMachine(c)}
	x.agent.SetOrganization(x.machine.Organization(), 0)
	return x
}

// Configure changes the configuration.
func (x *Exchange) Configure(l lldp.Config, c Config, now int64) {
	x.agent.Configure(l, now)
	x.machine.Configure(c)
	x.sync(now)
}

// SetLink says whether the link is up.
func (x *Exchange) SetLink(up bool, now int64) {
	x.agent.SetLink(up, now)
	x.sync(now)
}

// Stop makes Transmit return a last frame, the shutdown frame.
func (x *Exchange) Stop(now int64) {
	x.agent.SetOn(false, now)
	x.sync(now)
}

// Receive handles a frame of the link.
func (x *Exchange) Receive(frame []byte, now int64) {
	x.agent.Receive(frame, now)
	x.sync(now)
}

// Advance does what is due.
func (x *Exchange) Advance(now int64) {
	x.agent.Advance(now)
	x.sync(now)
}

// Next returns when Advance has to be called at the latest; math.MaxInt64 where only a frame or a call changes
// anything.
func (x *Exchange) Next() int64 { return min(x.machine.Next(), x.agent.Next()) }

// Transmit returns the next frame to send, nil where there is none.
func (x *Exchange) Transmit() []byte { return x.agent.Transmit() }

// Agent returns the LLDP half for reading.
func (x *Exchange) Agent() *lldp.Agent { return x.agent }

// Outcome returns what is in force.
func (x *Exchange) Outcome() Outcome { return x.machine.Outcome() }

// Agreement returns which ends can measure headroom. A peer that is gone cannot, also while its outcome stays in force.
func (x *Exchange) Agreement(port string) lldp.Agreement {
	a := lldp.Agreement{Port: port, Own: x.machine.measures()}
	if x.peer != nil {
		a.Neighbour, a.Address, a.Peer = x.peer.Name(), x.peer.Source, x.machine.Outcome().Measures
	}
	return a
}

// Peer returns the neighbour that is followed, nil where there is none.
func (x *Exchange) Peer() *lldp.Neighbour { return x.peer }

// sync passes news between the two halves.
func (x *Exchange) sync(now int64) {
	x.peer = x.agent.Follow(func(n *lldp.Neighbour) bool { return len(Versions(n.Organization)) > 0 })
	x.machine.Update(x.peer, len(x.agent.Neighbours()) > 0, now)
	x.agent.SetOrganization(x.machine.Organization(), now)
}
