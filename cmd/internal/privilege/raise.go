// Package privilege puts the capabilities to use that a program's file gives it.
//
// A container image gives its program CAP_NET_RAW and CAP_NET_ADMIN as permitted, not as effective (setcap
// cap_net_raw,cap_net_admin=p): with the effective bit the kernel refuses to run the program at all where the container
// may not have one of them. So it runs, raises what it got, and says itself what it lacks.
package privilege

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Raise makes all permitted capabilities effective, in every thread. It does nothing if they are effective already.
func Raise() error {
	var caps [2]unix.CapUserData // of 32 capabilities each
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	raised := caps
	for i := range raised {
		raised[i].Effective = raised[i].Permitted
	}
	if raised == caps {
		return nil
	}
	// Capabilities belong to threads, and the Go runtime has some already.
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&raised[0])), 0)
	if errno == syscall.ENOTSUP {
		return errors.New("the program's file has capabilities that a build with cgo cannot raise: build it with " +
			"CGO_ENABLED=0, or set them with setcap …=ep")
	}
	if errno != 0 {
		return fmt.Errorf("raise the capabilities of the program's file: %w", errno)
	}
	return nil
}
