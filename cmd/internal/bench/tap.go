package bench

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
)

// A tap is a link whose far end is the benchmark itself. What it writes arrives at an interface in a namespace, and
// what is sent there it reads. So it can offer any frame, and needs neither a packet socket nor the project's own data
// path.
type tap int // the file descriptor

// newTap makes an interface at a node of the network. The interface goes away with the network.
func (n *network) newTap(at *lab.Node, name string) (t tap, err error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	err = at.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("/dev/net/tun: %w (is the tun module there, and may this process use it?)", err)
		}
		t = tap(fd)
		n.taps = append(n.taps, t)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	})
	if err != nil {
		return 0, fmt.Errorf("make a TAP interface: %w", err)
	}
	return t, at.LinkUp(name)
}

// write lets a frame arrive at the interface.
func (t tap) write(frame []byte) error {
	if _, err := unix.Write(int(t), frame); err != nil {
		return fmt.Errorf("write to TAP: %w", err)
	}
	return nil
}

// read returns the length of the next frame that was sent to the interface, 0 where there is none.
func (t tap) read(into []byte) (int, error) {
	for {
		n, err := unix.Read(int(t), into)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("read from TAP: %w", err)
		default:
			return n, nil
		}
	}
}

// drain reads what waits.
func (t tap) drain() error {
	var scrap [2048]byte
	for {
		if n, err := t.read(scrap[:]); n == 0 || err != nil {
			return err
		}
	}
}

// base is the zero of the benchmark's clock.
var base = time.Now()

// clock returns the time in ns, monotonic.
func clock() int64 { return int64(time.Since(base)) }
