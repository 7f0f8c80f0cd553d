package assist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// bpfFS are the places where the file system may be mounted that keeps programs: the usual one, and one that "ip netns
// exec", which mounts another /sys, does not hide.
var bpfFS = []string{"/sys/fs/bpf", "/run/pfcswitch-bpf"}

// Pins is where the attachments of a switch's programs outlive it: what the folders of its ports begin with. A killed
// switch leaves programs that hold its peers for as long as Settings.Hold says. The next start of a switch of this name
// replaces them. Pins are "" where this system has no place for them: then the programs end with the switch.
type Pins string

// PinsOf returns the place for a switch of this name, and the error that keeps it from using the one that there is.
func PinsOf(name string) (Pins, error) {
	for _, at := range bpfFS {
		var fs unix.Statfs_t
		if err := unix.Statfs(at, &fs); err != nil || fs.Type != unix.BPF_FS_MAGIC {
			continue
		}
		if err := unix.Faccessat(unix.AT_FDCWD, at, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
			return "", fmt.Errorf("assist: keep the programs of a killed switch: %s: %w", at, err)
		}
		return Pins(filepath.Join(at, "pfcswitch:"+inFile(name)+":")), nil
	}
	return "", nil
}

// inFile writes a name as this file system takes it: it takes no dots. No name has a plus or a colon.
func inFile(name string) string { return strings.ReplaceAll(name, ".", "+") }

// A pin is the place of one port, in the namespace of its interface: other switches of the same name may have the same
// ports in other namespaces. It is locked while the switch lives.
type pin struct {
	folder string
	lock   *os.File
}

// take returns the place of a port in the namespace of the calling thread; nil where there is none, or another switch
// that lives has it.
func (p Pins) take(port string) (*pin, error) {
	if p == "" {
		return nil, nil
	}
	folder, err := p.folder(port)
	if err != nil {
		return nil, err
	}
	for {
		if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		k, err := lockPin(folder)
		if k != nil || err != nil && !errors.Is(err, os.ErrNotExist) { // somebody sweeps
			return k, err
		}
		if err == nil {
			return nil, nil
		}
	}
}

// folder is the place of a port in the namespace of the calling thread.
func (p Pins) folder(port string) (string, error) {
	var netns unix.Stat_t
	err := unix.Stat("/proc/thread-self/ns/net", &netns)
	return fmt.Sprintf("%s%s:%d", p, inFile(port), netns.Ino), err
}

// lockPin locks a folder: nil where another switch that lives has it, os.ErrNotExist where it is gone.
func lockPin(folder string) (*pin, error) {
	lock, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = nil
		}
		return nil, err
	}
	opened, err := lock.Stat()
	if err == nil {
		var now os.FileInfo
		if now, err = os.Stat(folder); err == nil && !os.SameFile(opened, now) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &pin{folder, lock}, nil
}

// file is where the attachment is kept.
func (k *pin) file() string { return filepath.Join(k.folder, "link") }

func (k *pin) keep(l link.Link) error {
	if k == nil {
		return nil
	}
	if err := l.Pin(k.file()); err != nil {
		return fmt.Errorf("assist: keep the program of a killed switch: %w", err)
	}
	return nil
}

// adopt returns the attachment that a killed switch has left at an interface, nil where there is none. One that belongs
// to another interface, or to none any more, is removed.
func (k *pin) adopt(index int) (link.Link, error) {
	if k == nil {
		return nil, nil
	}
	l, at, err := k.load()
	if l == nil || at == index {
		return l, err
	}
	return nil, errors.Join(detach(l), os.Remove(k.file()))
}

// detach ends an attachment; nil is none. The kernel ends one that is only closed and removed some time later, and the
// next program at its interface may come before.
func detach(l link.Link) error {
	if l == nil {
		return nil
	}
	return errors.Join(l.Detach(), l.Close())
}

// load returns the attachment and the index of its interface: nil where there is none, 0 where its interface is gone.
// What is no attachment is removed.
func (k *pin) load() (link.Link, int, error) {
	l, err := link.LoadPinnedLink(k.file(), nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, os.Remove(k.file())
	}
	if info, err := l.Info(); err == nil && info.TCX() != nil {
		return l, int(info.TCX().Ifindex), nil
	}
	return l, 0, nil
}

// remove removes the place with what is in it.
func (k *pin) remove() error {
	if k == nil {
		return nil
	}
	return errors.Join(k.forget(), os.Remove(k.folder), k.lock.Close())
}

func (k *pin) forget() error {
	if k == nil {
		return nil
	}
	if err := os.Remove(k.file()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Left reports whether a killed switch may have left programs for a port in the namespace of the calling thread.
func (p Pins) Left(port string) bool {
	if p == "" {
		return false
	}
	folder, err := p.folder(port)
	if err == nil {
		_, err = os.Stat(folder)
	}
	return !errors.Is(err, os.ErrNotExist)
}

// Sweep removes what killed switches of this name have left for ports that keep does not accept, and for interfaces
// that are gone.
func (p Pins) Sweep(keep func(port string) bool) error {
	if p == "" {
		return nil
	}
	folders, err := filepath.Glob(string(p) + "*")
	for _, folder := range folders {
		err = errors.Join(err, sweep(folder, func() bool {
			port, _, _ := strings.Cut(folder[len(p):], ":")
			return keep(strings.ReplaceAll(port, "+", "."))
		}))
	}
	return err
}

// sweep removes a folder, unless a switch lives that has it, or keep accepts it and its interface is there.
func sweep(folder string, keep func() bool) error {
	k, err := lockPin(folder)
	if k == nil {
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	l, index, err := k.load()
	if index > 0 && keep() {
		return errors.Join(l.Close(), k.lock.Close())
	}
	return errors.Join(err, detach(l), k.remove())
}
