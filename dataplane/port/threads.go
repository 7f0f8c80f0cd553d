package port

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Threads counts the threads of the whole machine that run or wait for a CPU, whatever container they are in.
type Threads struct {
	fd   int
	text [128]byte
}

// OpenThreads opens the kernel's count. It fails where /proc is not there or is not the kernel's own: a file system in user space
// would answer too late.
func OpenThreads() (*Threads, error) {
	const path = "/proc/loadavg"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	var s unix.Statfs_t
	if err = unix.Fstatfs(fd, &s); err == nil && s.Type != unix.PROC_SUPER_MAGIC {
		err = errors.New("not the kernel's own")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), unix.Close(fd))
	}
	return &Threads{fd: fd}, nil
}

// Runnable returns how many threads run or wait for a CPU, the caller among them.
func (t *Threads) Runnable() (int, error) {
	n, err := unix.Pread(t.fd, t.text[:], 0)
	if err != nil {
		return 0, err
	}
	return runnable(t.text[:n])
}

// errLoadavg is a value, so that a worker allocates nothing.
var errLoadavg = errors.New("/proc/loadavg: no number of threads in its fourth field")

// runnable reads the fourth field of /proc/loadavg, as in "0.00 0.01 0.05 2/87 29163" (proc_loadavg(5)).
func runnable(line []byte) (int, error) {
	for range 3 {
		_, line, _ = bytes.Cut(line, []byte{' '})
	}
	count, _, ok := bytes.Cut(line, []byte{'/'})
	n, err := strconv.Atoi(string(count))
	if !ok || err != nil || n < 0 {
		return 0, errLoadavg
	}
	return n, nil
}

// Close closes the file.
func (t *Threads) Close() error { return unix.Close(t.fd) }
