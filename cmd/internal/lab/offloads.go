package lab

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offloads are the switches of "ethtool -K" that decide whether frames on a virtual link look as they would on
// a wire. Switching on leaves receive aggregation (gro) alone: on veth it is off by default, and on it changes
// the way that frames take.
var offloads = []struct {
	name     string
	get, set uint32
	onToo    bool
}{
	{"rx-checksumming", unix.ETHTOOL_GRXCSUM, unix.ETHTOOL_SRXCSUM, true},
	{"tx-checksumming", unix.ETHTOOL_GTXCSUM, unix.ETHTOOL_STXCSUM, true},
	{"scatter-gather", unix.ETHTOOL_GSG, unix.ETHTOOL_SSG, true},
	{"tcp-segmentation-offload", unix.ETHTOOL_GTSO, unix.ETHTOOL_STSO, true},
	{"generic-segmentation-offload", unix.ETHTOOL_GGSO, unix.ETHTOOL_SGSO, true},
	{"generic-receive-offload", unix.ETHTOOL_GGRO, unix.ETHTOOL_SGRO, false},
}

// SetOffloads switches checksum and segmentation offloads of an interface of the node. Off, its kernel sends
// finished checksums and frames no longer than the MTU, as a physical link would carry them.
func (n *Node) SetOffloads(ifName string, on bool) error {
	var value uint32
	if on {
		value = 1
	}
	return n.Do(func() error {
		for _, o := range offloads {
			if on && !o.onToo {
				continue
			}
			if _, err := ethtool(ifName, o.set, value); err != nil {
				return fmt.Errorf("lab: node %s: set %s of %s: %w", n.name, o.name, ifName, err)
			}
		}
		return nil
	})
}

// Offloads returns the state of the switches that SetOffloads sets, by ethtool's names.
func (n *Node) Offloads(ifName string) (map[string]bool, error) {
	state := map[string]bool{}
	err := n.Do(func() error {
		for _, o := range offloads {
			value, err := ethtool(ifName, o.get, 0)
			if err != nil {
				return fmt.Errorf("lab: node %s: read %s of %s: %w", n.name, o.name, ifName, err)
			}
			state[o.name] = value != 0
		}
		return nil
	})
	return state, err
}

// ethtool makes one SIOCETHTOOL call with a single value (struct ethtool_value in struct ifreq) in the calling
// thread's namespace. The x/sys package has the constants but not the call.
func ethtool(ifName string, cmd, value uint32) (uint32, error) {
	if len(ifName) >= unix.IFNAMSIZ {
		return 0, unix.ENODEV
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	arg := struct{ cmd, data uint32 }{cmd, value}
	var req struct {
		name [unix.IFNAMSIZ]byte
		arg  unsafe.Pointer
		_    [16]byte // the union of struct ifreq is 24 octets
	}
	copy(req.name[:], ifName)
	req.arg = unsafe.Pointer(&arg)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return 0, os.NewSyscallError("ioctl SIOCETHTOOL", errno)
	}
	return arg.data, nil
}
