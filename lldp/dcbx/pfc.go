package dcbx

// A Reason says why the priorities of a port are lossless that are.
type Reason uint8

// The reasons.
const (
	ReasonOff       Reason = iota // DCBX is off: those of the configuration
	ReasonNoPeer                  // nobody speaks DCBX at the other end: those of the configuration
	ReasonSeveral                 // several do, so none is believed: those of the configuration
	ReasonNoTLV                   // the peer tells nothing of PFC: those of the configuration
	ReasonTwice                   // the peer tells two things of PFC: those of the configuration
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

// A verdict is what follows for PFC from an exchange.
type verdict struct {
	enable   uint8 // priorities that are lossless
	reason   Reason
	mismatch bool
}
