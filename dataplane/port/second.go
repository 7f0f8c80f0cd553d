package port

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// What linux/packet_diag.h has.
const (
	diagShowFanout   = 1 << 3
	diagShowInfo     = 1 << 0
	diagAttrInfo     = 0 // begins with the index of the interface
	diagAttrFanout   = 4 // number of the group, then its type
	diagHeader       = 16
	sockDiagByFamily = 20
)

// packetDiag asks for all packet sockets of a namespace.
type packetDiag struct{}

func (packetDiag) Len() int { return 20 }

// Serialize writes family, protocol, 2 octets of padding, inode, what to show, and a cookie.
func (q packetDiag) Serialize() []byte {
	b := make([]byte, q.Len())
	b[0] = unix.AF_PACKET
	binary.NativeEndian.PutUint32(b[8:], diagShowInfo|diagShowFanout)
	return b
}

// ErrTaken is returned for an interface that is a port of another switch.
var ErrTaken = errors.New("another switch receives here already, and each frame would leave twice: stop that switch " +
	"(or what else receives as it does: pfcswitch send, sink or nic), or take the port out of one configuration")

// Taken returns ErrTaken if an interface has the sockets of a port: those of no other program are a fanout group that a
// classic program spreads. Where the kernel does not tell, nothing is known.
func Taken(ns string, l Link) error {
	return InNetns(ns, func() error {
		r := nl.NewNetlinkRequest(sockDiagByFamily, unix.NLM_F_DUMP)
		r.AddData(packetDiag{})
		all, err := r.Execute(unix.NETLINK_SOCK_DIAG, 0)
		if err != nil {
			return nil
		}
		for _, b := range all {
			if isPortOf(b, l.Index) {
				return fmt.Errorf("interface %s: %w", l.Name, ErrTaken)
			}
		}
		return nil
	})
}

// isPortOf reports whether a packet socket is of a port at an interface.
func isPortOf(b []byte, index int) bool {
	if len(b) < diagHeader {
		return false
	}
	attrs, err := attributes(b[diagHeader:])
	here, fanout := false, false
	for _, a := range attrs {
		switch {
		case len(a.Value) < 4:
		case a.Attr.Type == diagAttrInfo:
			here = int(binary.NativeEndian.Uint32(a.Value)) == index
		case a.Attr.Type == diagAttrFanout:
			fanout = binary.NativeEndian.Uint32(a.Value)>>16&0xff == unix.PACKET_FANOUT_CBPF
		}
	}
	return err == nil && here && fanout
}
