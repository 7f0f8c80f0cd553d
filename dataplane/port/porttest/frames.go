package porttest

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
)

// Experimental is a Local Experimental EtherType.
const Experimental = 0x88B5

// Host is the address of the station behind port i.
func Host(i int) uint64 { return 0x02_00_00_00_00_10 + uint64(i) }

// TCI is that of a tag without the drop eligible indicator.
func TCI(prio uint8, vid uint16) *frame.TCI { return new(frame.MakeTCI(prio, false, vid)) }

// Ether returns a frame of n octets; tag nil is untagged. What follows the header depends on seq.
func Ether(dst, src uint64, tag *frame.TCI, etherType uint16, seq, n int) []byte {
	b := make([]byte, 12, max(n, 22))
	frame.PutAddress(b, dst)
	frame.PutAddress(b[6:], src)
	if tag != nil {
		b = binary.BigEndian.AppendUint16(b, frame.TypeVLAN)
		b = binary.BigEndian.AppendUint16(b, uint16(*tag))
	}
	b = binary.BigEndian.AppendUint16(b, etherType)
	b = binary.BigEndian.AppendUint32(b, uint32(seq))
	for len(b) < n {
		b = append(b, byte(len(b)*7+seq))
	}
	return b[:n]
}

// Data returns a priority-tagged frame of n octets between two hosts.
func Data(from, to int, prio uint8, seq, n int) []byte {
	return Ether(Host(to), Host(from), TCI(prio, 0), Experimental, seq, n)
}

// Sequence reads the number that Data gave a frame.
func Sequence(b []byte) int { return int(binary.BigEndian.Uint32(b[18:])) }

// Several returns n frames numbered from 0.
func Several(from, to int, prio uint8, n, octets int) [][]byte {
	var all [][]byte
	for seq := range n {
		all = append(all, Data(from, to, prio, seq, octets))
	}
	return all
}
