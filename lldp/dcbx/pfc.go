package dcbx

import "pfcswitch/lldp"

// A Reason says why the priorities of a port are lossless that are.
type Reason uint8

// The reasons.
const (
	ReasonOff       Reason = iota // DCBX is off: those of the configuration
	ReasonNoPeer                  // nobody speaks DCBX at the other end: those of the configuration
	ReasonSeveral                 // several do, so none is believed: those of the configuration
	ReasonNoTLV                   // the peer tells nothing of PFC: those of the configuration
	ReasonDuplicate               // the peer tells two things of PFC: those of the configuration
	ReasonWaiting                 // the peer has not acknowledged what was told yet (CEE, CIN): those of the configuration
	ReasonOwn                     // those of the configuration rule: the peer has the same, or follows
	ReasonPeer                    // this end follows the peer
	ReasonTieOwn                  // both would follow, and this end's address decides for it
	ReasonTiePeer                 // both would follow, and the peer's address decides for the peer
	ReasonDisabled                // one end has switched PFC off (CEE, CIN)
	ReasonMismatch                // neither follows, and they differ: the priorities that both have
	ReasonPeerError               // the peer says that they do not fit together (CEE, CIN): the priorities that both have
	numReasons
)

var reasonNames = [numReasons]string{"off", "no-peer", "several-peers", "no-tlv", "duplicate-tlv", "waiting", "own", "peer", "tie-own", "tie-peer",
	"disabled", "mismatch", "peer-error"}

// String returns the reason as tables print it.
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return "?"
}

// A pfcDecision is what follows for PFC from an exchange.
type pfcDecision struct {
	enable   uint8 // priorities that are lossless
	reason   Reason
	mismatch bool
}

// A PeerConfig is what a peer says of its own PFC.
type PeerConfig struct {
	IEEE     bool // in the IEEE version, else in an older one
	Willing  bool
	Enable   uint8 // bit n = priority n
	Reserved uint8 // bits of its flags
}

// PeerPFC returns what the TLVs of a peer say of PFC in a version; false where they say nothing.
func PeerPFC(v Version, list []lldp.Organization) (t PeerConfig, ok bool) {
	if v.legacy() {
		if x := ParseLegacy(list, v); x != nil && x.Features[KindPFC] != nil {
			f := x.Features[KindPFC]
			return PeerConfig{Willing: f.Willing, Enable: flag(f.Enable, f.Data[0]), Reserved: f.Reserved}, true
		}
		return t, false
	}
	if x := ParseIEEE(list); x != nil && x.PFC != nil {
		return PeerConfig{IEEE: true, Willing: x.PFC.Willing, Enable: x.PFC.Enable, Reserved: x.PFC.Reserved}, true
	}
	return t, false
}
