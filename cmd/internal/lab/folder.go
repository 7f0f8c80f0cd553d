package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Folder is where labs have their locks, states, configurations and the sockets of their switches. The sockets of other
// switches are elsewhere: under systemd that folder belongs to the user of the service, who could plant files for root.
const Folder = "/run/pfcswitch-labs"

// LockFile opens or creates the file at path and locks it until the file is closed or the process dies. It makes the
// file's folder where that is missing. The error is unix.EWOULDBLOCK where another process has the lock. The holder may
// remove the file before it closes it.
func LockFile(path string) (*os.File, error) { return lockFile(path, unix.LOCK_EX|unix.LOCK_NB) }

// Locked tells whether a process has the lock of a file that there is. It takes no lock, so that nobody is refused.
func Locked(path string) (bool, error) {
	if err := makeOwnFolder(filepath.Dir(path)); err != nil {
		return false, err
	}
	f, err := OpenOwn(path, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock)
	return lock.Type != unix.F_UNLCK, err
}

// lockFile is LockFile with an operation of flock, which decides. Whoever has that lock also takes one of fcntl, which
// lives as long and can be asked for without being taken.
func lockFile(path string, operation int) (*os.File, error) {
	if err := makeOwnFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	for {
		f, err := OpenOwn(path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), operation); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if sameFile(f, path) {
			return f, nil
		}
		_ = f.Close() // a sweep removed it between open and lock
	}
}

// makeOwnFolder makes a folder, or finds that nobody but this user and root can put files into it or its parent.
func makeOwnFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if !info.IsDir() || !ours(info, 0) || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("%s: other users may write there, so its files are not trusted: give it to this user "+
				"(chown, chmod go-w), or remove it", p)
		}
	}
	return nil
}

// OpenOwn opens a regular file of this user, never through a symbolic link. A new one gets mode 0600.
func OpenOwn(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s: is a symbolic link, which is not followed: remove it", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !ours(info, -1)) {
		err = fmt.Errorf("%s: is not a file of this user: remove it", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ours tells whether a file belongs to this user, or to the other one.
func ours(info os.FileInfo, other int) bool {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	return owner == os.Geteuid() || owner == other
}

func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
