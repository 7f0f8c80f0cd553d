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
	request  stampRequest
	response [256]byte // control messages with the stamp
}

// A stampRequest is a control message that asks for the stamp of a frame.
type stampRequest struct {
	unix.Cmsghdr
	flags [8]byte // 32 bits and padding
}

// stampSends makes a socket report the stamps of the frames that ask for one, without their data.
func stampSends(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
		unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_OPT_TSONLY)
}

// send sends a frame and returns its stamp, 0 where the kernel has none yet.
func (s *stamper) send(fd int, b []byte) (stamp int64, err error) {
	for s.read(fd) != 0 { // stamps of earlier frames that came late
	}
	s.request.Level, s.request.Type = unix.SOL_SOCKET, unix.SO_TIMESTAMPING
	s.request.SetLen(unix.CmsgLen(4))
	binary.NativeEndian.PutUint32(s.request.flags[:], unix.SOF_TIMESTAMPING_TX_SOFTWARE)
	s.iov = unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	s.hdr = unix.Msghdr{Iov: &s.iov, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&s.request)),
		Controllen: uint64(unsafe.Sizeof(s.request))}
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
	for len(b) >= unix.SizeofCmsghdr {
		h, data, rest, err := unix.ParseOneSocketControlMessage(b)
		if err != nil {
			return 0
		}
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPING && len(data) >= 16 {
			return int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:]))
		}
		b = rest
	}
	return 0
}
