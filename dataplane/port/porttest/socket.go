package porttest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A Socket is a host's end of a link: a plain packet socket without a ring, one system call a frame. It shares no code
// with the ring ports, so that tests can hold their frames against it. It is not safe for concurrent use.
type Socket struct {
	fd   int
	buf  []byte
	oob  []byte
	head [frame.VnetHeaderOctets]byte
}

// A Packet is a frame that a Socket received.
type Packet struct {
	Data  []byte // from the destination address, without FCS, the VLAN tag where it was on the wire
	Vnet  frame.VnetHeader
	Stamp time.Time // the kernel's
}

// OpenSocket opens a socket on an interface of a namespace (see port.InNetns) for frames of every kind that come in.
func OpenSocket(ns, ifName string) (*Socket, error) {
	s := &Socket{fd: -1, buf: make([]byte, 70_000), oob: make([]byte, 256)}
	err := port.InNetns(ns, func() error { return s.open(ifName) })
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("packet socket on %s: %w", ifName, err)
	}
	return s, nil
}

func (s *Socket) open(ifName string) error {
	l, err := port.Inspect("", ifName)
	if err != nil {
		return err
	}
	if s.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	for _, o := range []struct{ level, opt, value int }{
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{unix.SOL_PACKET, unix.PACKET_AUXDATA, 1},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
	} {
		if err := unix.SetsockoptInt(s.fd, o.level, o.opt, o.value); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	const queue = 32 << 20
	if unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, queue) != nil {
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, queue)
	}
	promiscuous := unix.PacketMreq{Ifindex: int32(l.Index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &promiscuous); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network order
	return os.NewSyscallError("bind", unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.Index}))
}

// Send sends a frame with segmentation and checksum state v.
func (s *Socket) Send(v frame.VnetHeader, b []byte) error {
	v.Encode(s.head[:])
	_, err := unix.Writev(s.fd, [][]byte{s.head[:], b})
	return os.NewSyscallError("writev", err)
}

// Receive returns the next frame, or os.ErrDeadlineExceeded where none came in time. A timeout of 0 waits for none.
func (s *Socket) Receive(timeout time.Duration) (Packet, error) {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	for until := time.Now().Add(timeout); ; {
		n, err := unix.Poll(fds, int(max(0, time.Until(until)+time.Millisecond-1)/time.Millisecond))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return Packet{}, os.NewSyscallError("poll", err)
		case n == 0:
			return Packet{}, os.ErrDeadlineExceeded
		default:
			return s.receive()
		}
	}
}

func (s *Socket) receive() (p Packet, err error) {
	n, oobn, flags, _, err := unix.Recvmsg(s.fd, s.buf, s.oob, unix.MSG_DONTWAIT)
	if err != nil {
		return p, os.NewSyscallError("recvmsg", err)
	}
	if flags&unix.MSG_TRUNC != 0 || n < frame.VnetHeaderOctets {
		return p, fmt.Errorf("recvmsg: %d octets, flags %#x", n, flags)
	}
	p.Vnet, _ = frame.DecodeVnetHeader(s.buf)
	p.Data = append([]byte(nil), s.buf[frame.VnetHeaderOctets:n]...)
	messages, err := unix.ParseSocketControlMessage(s.oob[:oobn])
	if err != nil {
		return p, os.NewSyscallError("recvmsg", err)
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS:
			p.Stamp = time.Unix(int64(binary.NativeEndian.Uint64(m.Data)),
				int64(binary.NativeEndian.Uint64(m.Data[8:])))
		case m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA:
			p.restoreTag(m.Data)
		}
	}
	return p, nil
}

// restoreTag puts the VLAN tag back that the kernel has moved into struct tpacket_auxdata.
//
//	 0  4 octets  status
//	16  2 octets  TCI
//	18  2 octets  TPID
func (p *Packet) restoreTag(aux []byte) {
	if binary.NativeEndian.Uint32(aux)&unix.TP_STATUS_VLAN_VALID == 0 {
		return
	}
	var tag [frame.TagOctets]byte
	binary.BigEndian.PutUint16(tag[:], binary.NativeEndian.Uint16(aux[18:]))
	binary.BigEndian.PutUint16(tag[2:], binary.NativeEndian.Uint16(aux[16:]))
	const at = 2 * frame.AddressOctets
	p.Data = append(p.Data[:at:at], append(tag[:], p.Data[at:]...)...)
	if p.Vnet.NeedsCsum() {
		p.Vnet.CsumStart += frame.TagOctets
	}
	if p.Vnet.HdrLen > 0 {
		p.Vnet.HdrLen += frame.TagOctets
	}
}

// Close closes the socket.
func (s *Socket) Close() error {
	if s.fd < 0 {
		return nil
	}
	err := unix.Close(s.fd)
	s.fd = -1
	return err
}
