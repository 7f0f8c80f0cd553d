package dcbx

import "pfcswitch/lldp"

// A Reason says why just these priorities of a port are lossless.
type Reason uint8

// The reasons.
const (
	ReasonOff       Reason = iota // DCBX is off: those of the configuration
	ReasonNoPeer                  // no neighbour speaks DCBX: those of the configuration
	ReasonSeveral                 // several do, and none of them is known: those of the configuration
	ReasonNoTLV                   // the peer announces no PFC: those of the configuration
	ReasonDuplicate               // the peer announces PFC twice: those of the configuration
	// the peer has not acknowledged the announcement yet (CEE, CIN): those of the configuration
	ReasonWaiting
	ReasonOwn      // those of the configuration: the peer has the same, or follows
	ReasonPeer     // this end follows the peer
	ReasonTieOwn   // both are willing, and this end's address wins
	ReasonTiePeer  // both are willing, and the peer's address wins
	ReasonDisabled // one end has switched PFC off (CEE, CIN)
	ReasonMismatch // neither is willing, and they differ: the priorities that both have
	// the peer says that the ends are not compatible (CEE, CIN): the priorities that both have
	ReasonPeerError
	numReasons
)

var reasonNames = [numReasons]string{"off", "no-peer", "several-peers", "no-tlv", "duplicate-tlv", "waiting", "own",
	"peer", "tie-own", "tie-peer", "disabled", "mismatch", "peer-error"}

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

// A PeerConfig is what a peer announces of its PFC.
type PeerConfig struct {
	IEEE     bool // in the IEEE version, else in an older one
	Willing  bool
	Enable   uint8 // bit n = priority n
	Reserved uint8 // bits of its flags
}

// PeerPFC returns what the TLVs of a peer announce of PFC in a version, false where there is nothing.
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
