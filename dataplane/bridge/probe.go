package bridge

import (
	"encoding/binary"
	"errors"

	"pfcswitch/dataplane/frame"
)

const (
	// ProbeAddress is the destination of a loop probe: 03-50-46-43-00-01, a locally administered group address.
	// It is not a reserved address, so that every bridge in a loop floods it.
	ProbeAddress = 0x0350_4643_0001

	// ProbeEtherType is Local Experimental EtherType 2 (IEEE 802).
	ProbeEtherType = 0x88B6

	// ProbeLen is the length of a probe frame without FCS and without a VLAN tag: the least that Ethernet allows.
	ProbeLen = 60

	probeMagic   = 0x4C4F_4F50 // "LOOP"
	probeVersion = 2

	addressesLen     = 2 * frame.AddressOctets
	authenticatorLen = 16
	probeUsedLen     = addressesLen + 2 + 20 + authenticatorLen // what of ProbeLen is not padding
	maxTags          = 2
)

// ErrNotProbe is returned when a frame
//   - is not addressed to ProbeAddress,
//   - carries another EtherType, or more than two VLAN tags before it,
//   - ends before the authenticator does,
//   - has another magic number or version.
var ErrNotProbe = errors.New("bridge: not a loop probe")

// Identity tells one run of one switch from all others.
type Identity struct {
	Public [8]byte  // stands in the switch's probes
	Secret [32]byte // keys their authenticator, so that nobody else can make a probe of this switch
}

// A Probe is a frame that a switch sends to see whether it comes back.
type Probe struct {
	Identity      [8]byte // the public part of the sending switch's
	Port          uint16  // index of the port by which it left
	Sequence      uint32  // counts the port's probes, from 1 on
	Authenticator [authenticatorLen]byte
}

// signed appends what the authenticator covers.
func (p *Probe) signed(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, probeMagic)
	b = append(b, probeVersion, 0)
	b = append(b, p.Identity[:]...)
	b = binary.BigEndian.AppendUint16(b, p.Port)
	return binary.BigEndian.AppendUint32(b, p.Sequence)
}

// authenticator returns the authenticator of p: the first half of HMAC-SHA256 with the switch's secret.
func (b *Bridge) authenticator(p *Probe) (a [authenticatorLen]byte) {
	b.hmac.Reset()
	b.scratch = p.signed(b.scratch[:0])
	_, _ = b.hmac.Write(b.scratch) // a hash takes all
	b.scratch = b.hmac.Sum(b.scratch[:0])
	copy(a[:], b.scratch)
	return a
}

// AppendProbe appends p as an untagged frame from the port's MAC address src, ProbeLen octets without FCS, and returns
// the longer slice. It does not allocate when cap(b) suffices.
//
//	 6 octets: destination 03-50-46-43-00-01
//	 6 octets: source
//	 2 octets: EtherType 0x88B6
//	 4 octets: magic "LOOP"
//	 1 octet:  version 2
//	 1 octet:  zero, ignored on receipt
//	 8 octets: identity
//	 2 octets: port
//	 4 octets: sequence
//	16 octets: authenticator of the 20 octets from the magic on
//	10 octets: zero, ignored on receipt
func AppendProbe(b []byte, src uint64, p Probe) []byte {
	var addresses [addressesLen]byte
	frame.PutAddress(addresses[:], ProbeAddress)
	frame.PutAddress(addresses[frame.AddressOctets:], src)
	b = append(b, addresses[:]...)
	b = binary.BigEndian.AppendUint16(b, ProbeEtherType)
	b = p.signed(b)
	b = append(b, p.Authenticator[:]...)
	var padding [ProbeLen - probeUsedLen]byte
	return append(b, padding[:]...)
}

// ParseProbe reads a frame that begins with its destination address. It accepts up to two VLAN tags, because a loop
// may lead through a tagged port. The error is ErrNotProbe.
func ParseProbe(b []byte) (Probe, error) {
	if len(b) < probeUsedLen || frame.Address(b) != ProbeAddress {
		return Probe{}, ErrNotProbe
	}
	b = untagged(b[addressesLen:])
	if len(b) < probeUsedLen-addressesLen || binary.BigEndian.Uint16(b) != ProbeEtherType ||
		binary.BigEndian.Uint32(b[2:]) != probeMagic || b[6] != probeVersion {
		return Probe{}, ErrNotProbe
	}
	return Probe{
		Identity:      [8]byte(b[8:16]),
		Port:          binary.BigEndian.Uint16(b[16:]),
		Sequence:      binary.BigEndian.Uint32(b[18:]),
		Authenticator: [authenticatorLen]byte(b[22:]),
	}, nil
}

// untagged skips VLAN tags: b begins with a tag or with the EtherType.
func untagged(b []byte) []byte {
	for range maxTags {
		if len(b) < frame.TagOctets {
			break
		}
		if t := binary.BigEndian.Uint16(b); t != frame.TypeVLAN && t != frame.TypeServiceTag {
			break
		}
		b = b[frame.TagOctets:]
	}
	return b
}
