package bridge

import (
	"encoding/binary"
	"errors"
)

const (
	// ProbeAddress is the destination of a loop probe: 03-50-46-43-00-01, a locally administered group address.
	// It is not one of the reserved addresses, so that every bridge in a loop floods it.
	ProbeAddress = 0x0350_4643_0001

	// ProbeEtherType is Local Experimental EtherType 2 (IEEE 802).
	ProbeEtherType = 0x88B6

	// ProbeLen is the length of a probe frame without FCS and without a VLAN tag: the least that Ethernet allows.
	ProbeLen = 60

	probeMagic   = 0x4C4F_4F50 // "LOOP"
	probeVersion = 1

	addressesLen = 6 + 6
	tagLen       = 4
	probeUsedLen = addressesLen + 2 + 20 // what of ProbeLen is not padding
	maxTags      = 2
	tpidCustomer = 0x8100
	tpidService  = 0x88A8
)

// ErrNotProbe is returned when a frame
//   - is not addressed to ProbeAddress,
//   - carries another EtherType, or more than two VLAN tags before it,
//   - ends before the sequence number does,
//   - has another magic number or version.
var ErrNotProbe = errors.New("bridge: not a loop probe")

// Identity tells one run of one switch from all others.
type Identity [8]byte

// A Probe is a frame that a switch sends to find itself again.
type Probe struct {
	Identity Identity // of the sending switch
	Port     uint16   // index of the port that it left by
	Sequence uint32   // counts the port's probes, so that a capture tells a loop from a replay; not judged
}

// AppendProbe appends p as an untagged frame from the port's MAC address src, ProbeLen octets without FCS, and returns
// the longer slice. It does not allocate when cap(b) suffices.
//
//	 6 octets: destination 03-50-46-43-00-01
//	 6 octets: source
//	 2 octets: EtherType 0x88B6
//	 4 octets: magic "LOOP"
//	 1 octet:  version 1
//	 1 octet:  zero, ignored on receipt
//	 8 octets: identity
//	 2 octets: port
//	 4 octets: sequence
//	26 octets: zero, ignored on receipt
func AppendProbe(b []byte, src uint64, p Probe) []byte {
	b = appendMAC(b, ProbeAddress)
	b = appendMAC(b, src)
	b = binary.BigEndian.AppendUint16(b, ProbeEtherType)
	b = binary.BigEndian.AppendUint32(b, probeMagic)
	b = append(b, probeVersion, 0)
	b = append(b, p.Identity[:]...)
	b = binary.BigEndian.AppendUint16(b, p.Port)
	b = binary.BigEndian.AppendUint32(b, p.Sequence)
	var padding [ProbeLen - probeUsedLen]byte
	return append(b, padding[:]...)
}

func appendMAC(b []byte, mac uint64) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(mac>>32))
	return binary.BigEndian.AppendUint32(b, uint32(mac))
}

// ParseProbe reads a frame that begins with its destination address. It accepts up to two VLAN tags, because a loop
// may lead through a tagged port. The error is ErrNotProbe.
func ParseProbe(frame []byte) (Probe, error) {
	if len(frame) < probeUsedLen || mac(frame) != ProbeAddress {
		return Probe{}, ErrNotProbe
	}
	b := untagged(frame[addressesLen:])
	if len(b) < probeUsedLen-addressesLen ||
		binary.BigEndian.Uint16(b) != ProbeEtherType ||
		binary.BigEndian.Uint32(b[2:]) != probeMagic ||
		b[6] != probeVersion {
		return Probe{}, ErrNotProbe
	}
	return Probe{
		Identity: Identity(b[8:16]),
		Port:     binary.BigEndian.Uint16(b[16:]),
		Sequence: binary.BigEndian.Uint32(b[18:]),
	}, nil
}

func mac(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// untagged skips VLAN tags: b begins with a tag or with the EtherType.
func untagged(b []byte) []byte {
	for range maxTags {
		if len(b) < tagLen {
			break
		}
		if t := binary.BigEndian.Uint16(b); t != tpidCustomer && t != tpidService {
			break
		}
		b = b[tagLen:]
	}
	return b
}
