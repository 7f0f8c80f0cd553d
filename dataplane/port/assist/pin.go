package assist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// bpfFS are the places where the file system may be mounted that keeps programs: the usual one, and one that "ip netns
// exec", which mounts another /sys, does not hide.
var bpfFS = []string{"/sys/fs/bpf", "/run/pfcswitch-bpf"}

// A Pins is the folder in which the attachments of a switch's programs outlive it. A killed switch leaves programs that
// hold its peers for as long as Settings.Hold says. The next start of a switch of this name replaces them. The folder
// is "" where this system has no place for it: then they end with the switch.
type Pins string

// PinsOf returns the folder of the switch of this name, which exists, and the error that keeps it from existing.
func PinsOf(name string) (Pins, error) {
	for _, at := range bpfFS {
		var fs unix.Statfs_t
		if err := unix.Statfs(at, &fs); err != nil || fs.Type != unix.BPF_FS_MAGIC {
			continue
		}
		folder := filepath.Join(at, "pfcswitch", name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", fmt.Errorf("assist: keep the programs of a killed switch: %w", err)
		}
		return Pins(folder), nil
	}
	return "", nil
}

// path is the file of a port; "" for none.
func (p Pins) path(port string) string {
	if p == "" {
		return ""
	}
	return filepath.Join(string(p), port)
}

// Sweep removes what a killed switch has left for ports that keep does not accept.
func (p Pins) Sweep(keep func(port string) bool) error {
	if p == "" {
		return nil
	}
	files, err := os.ReadDir(string(p))
	for _, f := range files {
		if !keep(f.Name()) {
			err = errors.Join(err, os.Remove(p.path(f.Name())))
		}
	}
	return err
}

// Close removes the folder, which is empty if all ports are closed.
func (p Pins) Close() error {
	if p == "" {
		return nil
	}
	if err := os.Remove(string(p)); !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}

// adopt returns the attachment that a killed switch has left at an interface, nil where there is none. One that belongs
// to another interface, or to none any more, is removed.
func adopt(path string, index int) (link.Link, error) {
	if path == "" {
		return nil, nil
	}
	l, err := link.LoadPinnedLink(path, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	if info, err := l.Info(); err == nil && info.TCX() != nil && int(info.TCX().Ifindex) == index {
		return l, nil
	}
	return nil, errors.Join(l.Unpin(), l.Close())
}
