package port

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A stamper sends single frames and learns from the kernel when they left. A driver stamps a frame when it takes the
// frame over. The stamp comes back on the socket's error queue.
type stamper struct {
	iov      unix.Iovec
	hdr      unix.Msghdr
	request  [24]byte  // a control message: stamp this frame
	response [256]byte // control messages with the stamp
}

// Control messages are a length of 8 octets, level and type of 4 each, and data.
const (
	cmsgData  = 16
	cmsgAlign = 8
)

// stampSends makes a socket report the stamps of the frames that ask for one, without their data.
func stampSends(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
		unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_OPT_TSONLY)
}

// send sends a frame and returns its stamp, 0 where the kernel has none yet.
func (s *stamper) send(fd int, b []byte) (stamp int64, err error) {
	for s.read(fd) != 0 { // stamps of earlier frames that came late
	}
	binary.NativeEndian.PutUint64(s.request[:], cmsgData+4)
	binary.NativeEndian.PutUint32(s.request[8:], unix.SOL_SOCKET)
	binary.NativeEndian.PutUint32(s.request[12:], unix.SO_TIMESTAMPING)
	binary.NativeEndian.PutUint32(s.request[16:], unix.SOF_TIMESTAMPING_TX_SOFTWARE)
	s.iov = unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	s.hdr = unix.Msghdr{Iov: &s.iov, Iovlen: 1, Control: &s.request[0], Controllen: uint64(len(s.request))}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.hdr)),
		unix.MSG_DONTWAIT); errno != 0 {
		return 0, sendError(errno)
	}
	return s.read(fd), nil
}

// read takes a stamp off the error queue. It is in ns of CLOCK_REALTIME, and 0 if there is none.
func (s *stamper) read(fd int) int64 {
	s.hdr = unix.Msghdr{Control: &s.response[0], Controllen: uint64(len(s.response))}
	_, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.hdr)),
		unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0
	}
	return stampIn(s.response[:min(int(s.hdr.Controllen), len(s.response))])
}

// stampIn finds the software stamp in control messages: the first of three times of 16 octets.
func stampIn(b []byte) int64 {
	for len(b) >= cmsgData {
		n := binary.NativeEndian.Uint64(b)
		if n < cmsgData || n > uint64(len(b)) {
			return 0
		}
		level, kind := binary.NativeEndian.Uint32(b[8:]), binary.NativeEndian.Uint32(b[12:])
		if level == unix.SOL_SOCKET && kind == unix.SO_TIMESTAMPING && n >= cmsgData+16 {
			seconds, ns := binary.NativeEndian.Uint64(b[cmsgData:]), binary.NativeEndian.Uint64(b[cmsgData+8:])
			return int64(seconds)*1e9 + int64(ns)
		}
		b = b[min(int(n+cmsgAlign-1)&^(cmsgAlign-1), len(b)):]
	}
	return 0
}
