package dcbx

import "bytes"

// symmetric decides which priorities are lossless in the IEEE version (802.1Q 38.4.2), whose ends must have the same:
//
//	own willing  peer willing
//	no           yes           own
//	yes          no            peer's
//	yes          yes           those of the end whose MAC address decides
//	no           no            own; where they differ, those that both have: a priority that only one end pauses loses frames
func (c *Config) symmetric(peer *PFC, mac [6]byte) pfcDecision {
	willing := c.willingPFC()
	switch {
	case willing && !peer.Willing:
		return pfcDecision{enable: peer.Enable, reason: ReasonPeer}
	case willing && c.winsTie(mac):
		return pfcDecision{enable: c.PFC, reason: ReasonTieOwn}
	case willing:
		return pfcDecision{enable: peer.Enable, reason: ReasonTiePeer}
	case peer.Willing || peer.Enable == c.PFC:
		return pfcDecision{enable: c.PFC, reason: ReasonOwn}
	}
	return pfcDecision{enable: c.PFC & peer.Enable, reason: ReasonMismatch, mismatch: true}
}

// winsTie tells whether this end decides where both are willing. Implementations differ in which address wins.
func (c *Config) winsTie(peer [6]byte) bool {
	higher := bytes.Compare(c.MAC[:], peer[:]) >= 0
	return higher == c.HigherWins
}

// willingPFC tells whether this end takes over what the peer has. A port without PFC cannot.
func (c *Config) willingPFC() bool { return c.Willing && c.CanPFC }

// decideIEEE fills in what follows from the IEEE TLVs of the only neighbour.
func (c *Config) decideIEEE(peer *IEEE, mac [6]byte, o *Outcome) {
	switch {
	case peer.PFC != nil:
		o.setPFC(c.symmetric(peer.PFC, mac))
		o.Measures = peer.PFC.Reserved&c.IEEEBit != 0
	case peer.DuplicatePFC:
		o.Reason = ReasonDuplicate
	default:
		o.Reason = ReasonNoTLV
	}
	// ETS is asymmetric (802.1Q 38.4.1): a willing end takes the recommendation, whatever the peer itself does.
	if peer.Recommendation != nil && c.Willing {
		if q, ok := peer.Recommendation.Queues(); ok {
			o.Queues, o.ETSAdopted = q, true
			o.ets = *peer.Recommendation
		}
	}
}
