package port

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// An LLDP is the socket for a port's LLDP frames, separate from its rings: no pause stops it, and nothing in the data
// path waits for it. The kernel hands it a copy of the frames that the rings' program skips. It is safe for concurrent
// use.
type LLDP struct {
	conn *packet.Conn
	to   *packet.Addr
}

// OpenLLDP opens the socket for an interface of namespace ns. It works without CAP_NET_ADMIN.
func OpenLLDP(ns string, l Link) (*LLDP, error) {
	group := net.HardwareAddr{0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E}
	s := &LLDP{to: &packet.Addr{HardwareAddr: group}}
	err := InNetns(ns, func() (err error) {
		s.conn, err = packet.Listen(&net.Interface{Index: l.Index, Name: l.Name}, packet.Raw, int(frame.TypeLLDP), nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the LLDP socket of %s: %w", l.Name, addRemedy(err))
	}
	if err := s.conn.JoinGroup(group); err != nil {
		return nil, errors.Join(fmt.Errorf("join the LLDP group on %s: %w", l.Name, err), s.conn.Close())
	}
	return s, nil
}

// Wake makes a waiting Receive, or the next one, end. It does so until Rest is called.
func (s *LLDP) Wake() error { return s.conn.SetReadDeadline(time.Now()) }

// Rest ends what Wake has begun.
func (s *LLDP) Rest() error { return s.conn.SetReadDeadline(time.Time{}) }

// Receive waits for a frame and copies it to b, truncated if b is too short. It returns 0 octets after Wake, and if the
// interface went down.
func (s *LLDP) Receive(b []byte) (int, error) {
	n, _, err := s.conn.ReadFrom(b)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, unix.ENETDOWN) {
		return 0, nil
	}
	return n, err
}

// sendTimeout is how long Send waits for the kernel to take a frame.
const sendTimeout = 100 * time.Millisecond

// Send sends a frame that starts with its destination address.
func (s *LLDP) Send(b []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err := s.conn.WriteTo(b, s.to)
	_ = s.conn.SetWriteDeadline(time.Time{}) // else it would wake the process up
	return err
}

// Close releases the socket and ends Receive with an error.
func (s *LLDP) Close() error { return s.conn.Close() }
