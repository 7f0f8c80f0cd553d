package port_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// Every error of the TUN driver gets a remedy and keeps the kernel's text.
func TestTUNErrors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		remedy string
	}{
		{unix.ENOENT, "modprobe tun"},
		{&fs.PathError{Op: "open", Path: "/dev/net/tun", Err: unix.ENOENT}, "modprobe tun"},
		{unix.ENODEV, "modprobe tun"},
		{unix.ENXIO, "--device=/dev/net/tun"},
		{unix.EACCES, "run as root"},
		{unix.EPERM, "--cap-add=NET_ADMIN"},
		{unix.EBUSY, "give the TAP another name with interface: NAME"},
		{unix.EINVAL, "make a TAP"},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			got := port.ExplainTun(tt.err)
			assert.True(t, errors.Is(got, tt.err) && strings.Contains(got.Error(), tt.remedy) &&
				strings.Contains(got.Error(), tt.err.Error()), "got %q, want %q in it, and what the kernel said", got,
				tt.remedy)
		})
	}
}
