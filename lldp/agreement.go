package lldp

// An Agreement says which ends of a port's link support automatic headroom measurement. Both tell it with a reserved
// bit of the PFC TLV that DCBX sends (mask 0x20 of its flags in the IEEE version, 0x10 in the older ones).
type Agreement struct {
	Port      string // of the switch
	Own, Peer bool   // the bit as this end sends it, and as the peer sent it last; without a peer Peer is false
	Neighbour string // name of the peer for messages: its system name, else its chassis ID; "" where there is none
}

// Agreed tells whether both ends support it: only then measurement frames are sent and answered.
func (a Agreement) Agreed() bool { return a.Own && a.Peer }

// An AgreementFunc is told of each change of a port's agreement. It must return at once.
type AgreementFunc func(Agreement)
