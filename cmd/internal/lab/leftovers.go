package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// A registry has two folders: the names of namespaces, as "ip netns" has them, and a lock file for each lab. A lab has
// its lock from before its first namespace until after its last. The kernel releases the lock of a process that dies.
// So a namespace is a leftover when the lock of its lab is there and free. A namespace without a lock is left alone:
// its lab may have the lock in another /run.
type registry struct {
	namespaces string
	locks      string
}

var systemRegistry = registry{namespaces: "/run/netns", locks: Folder + "/locks"}

// namespacePrefix begins the name of every namespace of every lab.
const namespacePrefix = "pfcsw-"

// claim takes the lock of a new lab, as lock does, while nobody sweeps: a sweep would take the lock of a file that is
// made and not yet locked.
func (p registry) claim(key string) (f *os.File, err error) {
	err = p.alone(func() error {
		f, err = p.lock(key)
		return err
	})
	return f, err
}

// alone calls do when no other sweep or claim runs, and keeps them out meanwhile.
func (p registry) alone(do func() error) error {
	guard, err := lockFile(filepath.Join(p.locks, "sweep"), unix.LOCK_EX)
	if err != nil {
		return err
	}
	return errors.Join(do(), p.unlock(guard))
}

// lock takes the lock of the lab called key ("PID-NAME") and creates its file.
func (p registry) lock(key string) (*os.File, error) {
	return LockFile(filepath.Join(p.locks, key+".lock"))
}

// unlock removes the lock file, then releases the lock: in this order nobody can hold a lock on a removed file.
func (p registry) unlock(f *os.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }

// labNamespace matches the namespace pfcsw-PID-NAME-NODE; the group is the lab's key.
var labNamespace = regexp.MustCompile("^" + namespacePrefix + "([0-9]+-[^-]+)-")

// Sweep removes what labs of dead processes left behind: namespaces with their links, and lock files.
func Sweep() error { return systemRegistry.sweep() }

// sweep deletes the namespaces and lock files of all labs whose process is dead.
func (p registry) sweep() error { return p.alone(p.removeDead) }

func (p registry) removeDead() error {
	locks, err := filepath.Glob(filepath.Join(p.locks, "*.lock"))
	if err != nil {
		return err
	}
	stale := map[string][]string{} // namespaces by lab
	for _, l := range locks {
		stale[strings.TrimSuffix(filepath.Base(l), ".lock")] = nil
	}
	entries, err := os.ReadDir(p.namespaces)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if m := labNamespace.FindStringSubmatch(e.Name()); m != nil {
			if names, locked := stale[m[1]]; locked {
				stale[m[1]] = append(names, e.Name())
			}
		}
	}
	var errs []error
	for key, names := range stale {
		f, err := p.lock(key)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			continue // its process lives
		case err != nil:
			errs = append(errs, err)
			continue
		}
		errs = append(errs, p.remove(names), p.unlock(f))
	}
	return errors.Join(errs...)
}

// remove deletes the named namespaces, where they exist.
func (p registry) remove(names []string) error {
	var errs []error
	for _, name := range names {
		path := filepath.Join(p.namespaces, name)
		err := unix.Unmount(path, unix.MNT_DETACH)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", path, err))
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// makeShared makes the folder of the namespaces a shared mount, as the first "ip netns add" does, and under the same
// lock. If that command did it later, its mount would hide the namespaces of a lab that is up, and nobody could remove
// them.
func (p registry) makeShared() error {
	if err := os.MkdirAll(p.namespaces, 0o755); err != nil {
		return err
	}
	folder, err := os.Open(p.namespaces)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // gives the lock back
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", p.namespaces, err)
	}
	share := func() error { return unix.Mount("", p.namespaces, "none", unix.MS_SHARED|unix.MS_REC, "") }
	if err = share(); errors.Is(err, unix.EINVAL) { // it is no mount yet
		if err = unix.Mount(p.namespaces, p.namespaces, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = share()
		}
	}
	// Without the right, making the first namespace fails with an error that says how to get it.
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("make %s a shared mount: %w", p.namespaces, err)
	}
	return nil
}
