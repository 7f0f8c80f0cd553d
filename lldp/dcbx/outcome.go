package dcbx

// An Outcome is what follows from the exchange for the port. Two are equal where nothing has changed.
type Outcome struct {
	Version Version // that this end speaks
	Peer    bool    // one neighbour speaks it too

	PFC      uint8  // priorities that are lossless, bit n = priority n
	Reason   Reason // why these
	Mismatch bool   // the ends do not agree which priorities are lossless

	Queues     Queues // as they are to be served
	ETSAdopted bool   // as the peer recommends it

	Measures bool // the peer can measure headroom, by its last TLV

	ets ETS // that was adopted
}

func (o *Outcome) setPFC(v pfcDecision) { o.PFC, o.Reason, o.Mismatch = v.enable, v.reason, v.mismatch }

// localOutcome is what holds without a peer.
func (c *Config) localOutcome(v Version, why Reason) Outcome {
	return Outcome{Version: v, PFC: c.PFC, Reason: why, Queues: c.Queues}
}
