package explain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A Frame has the values of the command line. A number below 0 was not given.
type Frame struct {
	Dst, Src  string // MAC addresses
	VLAN, PCP int    // one of them makes a tag
	DSCP      int
	ECN       bool // ECN-capable transport
	EtherType int  // of a frame that is no IPv4 packet
	Octets    int  // without FCS; always given
	GSO       int  // payload octets of each segment of a TCP GSO frame
}

// Ranges of the command line's numbers.
const (
	maxVID, maxPCP, maxDSCP, maxType, maxSegment = 4094, 7, 63, 0xFFFF, 0xFFFF

	ipv4Octets, udpOctets, tcpOctets = 20, 8, 20
)

// Request makes the frame that arrives at port in.
func (f *Frame) Request(in string) (api.TraceRequest, error) {
	q := api.TraceRequest{Port: in}
	dst, err := traffic.ParseMAC(f.Dst)
	if err == nil && dst == 0 {
		err = errors.New("--dst is missing: name the address that the frame is for")
	}
	if err != nil {
		return q, err
	}
	src, err := traffic.ParseMAC(f.Src)
	if err != nil {
		return q, err
	}
	if src == 0 {
		src = 0x02_50_46_00_00_01 // locally administered: nobody's
	}
	if err := f.check(); err != nil {
		return q, err
	}
	b := make([]byte, 2*frame.AddressOctets, max(f.Octets, 64))
	frame.PutAddress(b, dst)
	frame.PutAddress(b[frame.AddressOctets:], src)
	if f.VLAN >= 0 || f.PCP >= 0 {
		b = binary.BigEndian.AppendUint16(b, frame.TypeVLAN)
		b = binary.BigEndian.AppendUint16(b, uint16(frame.MakeTCI(uint8(max(0, f.PCP)), false, uint16(max(0, f.VLAN)))))
	}
	q.Frame, q.Vnet = f.fill(b)
	return q, nil
}

func (f *Frame) check() error {
	for _, n := range []struct {
		flag             string
		value, low, high int
	}{
		{"--vlan", f.VLAN, 0, maxVID}, {"--pcp", f.PCP, 0, maxPCP}, {"--dscp", f.DSCP, 0, maxDSCP},
		{"--type", f.EtherType, 0, maxType},
		{"--octets", f.Octets, frame.HeaderOctets + frame.TagOctets, port.MaxFrame}, {"--gso", f.GSO, 8, maxSegment},
	} {
		given := n.value >= 0 || n.flag == "--octets"
		if given && (n.value < n.low || n.value > n.high) {
			return fmt.Errorf("%s %d: %d to %d are possible", n.flag, n.value, n.low, n.high)
		}
	}
	switch {
	case f.EtherType >= 0 && (f.DSCP >= 0 || f.ECN || f.GSO >= 0):
		return errors.New("--type is for frames that are no IP packets: leave out --dscp, --ecn and --gso")
	case f.EtherType < 0 && f.Octets < 64:
		return fmt.Errorf("--octets %d: an IPv4 packet takes 64 and more: name another --type for shorter frames",
			f.Octets)
	}
	return nil
}

// fill appends the payload: UDP over IPv4, TCP for a GSO frame, zeros for another EtherType.
func (f *Frame) fill(b []byte) ([]byte, frame.VnetHeader) {
	if f.EtherType >= 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(f.EtherType))
		return append(b, make([]byte, f.Octets-len(b))...), frame.VnetHeader{}
	}
	b = binary.BigEndian.AppendUint16(b, frame.TypeIPv4)
	at := len(b)
	b = append(b, make([]byte, f.Octets-len(b))...)
	ip := b[at:]
	ip[0], ip[1], ip[8], ip[9] = 0x45, uint8(max(0, f.DSCP))<<2, 64, 17
	if f.ECN {
		ip[1] |= 0b10 // ECT(0), RFC 3168
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(min(len(ip), 0xFFFF)))
	copy(ip[12:], []byte{192, 0, 2, 1, 192, 0, 2, 2}) // RFC 5737: for documentation
	binary.BigEndian.PutUint16(ip[ipv4Octets+4:], uint16(min(len(ip)-ipv4Octets, 0xFFFF)))
	var v frame.VnetHeader
	if f.GSO >= 0 {
		ip[9] = 6
		clear(ip[ipv4Octets : ipv4Octets+tcpOctets])
		ip[ipv4Octets+12] = tcpOctets / 4 << 4
		v = frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOTCPv4, GSOSize: uint16(f.GSO),
			HdrLen: uint16(at + ipv4Octets + tcpOctets), CsumStart: uint16(at + ipv4Octets), CsumOffset: 16}
	}
	binary.BigEndian.PutUint16(ip[10:], ^frame.Sum(ip[:ipv4Octets], 0))
	return b, v
}
