package port

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Threads counts the threads of the whole machine that run or wait for a CPU, in whatever container.
type Threads struct {
	file *os.File
	text [128]byte
}

// OpenThreads opens the kernel's count. It fails without /proc, and where /proc is not the kernel's own: a file system
// in user space would answer too late.
func OpenThreads() (*Threads, error) {
	const path = "/proc/loadavg"
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if s.Type != unix.PROC_SUPER_MAGIC {
		return nil, fmt.Errorf("%s: not the kernel's own", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Threads{file: file}, nil
}

// Runnable returns how many threads run or wait for a CPU, including the caller.
func (t *Threads) Runnable() (int, error) {
	n, err := unix.Pread(int(t.file.Fd()), t.text[:], 0) // one call; File.ReadAt makes a second one to see the end
	if err != nil {
		return 0, err
	}
	return runnable(t.text[:n])
}

// errLoadavg is a variable so that Runnable allocates nothing.
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
func (t *Threads) Close() error { return t.file.Close() }

// BacklogDrops adds up column 2 of a file such as /proc/net/softnet_stat: the frames that the kernel dropped on any CPU
// before a socket saw them, since the machine started. It returns 0 if the file cannot be read.
func BacklogDrops(softnetStat string) (dropped uint64) {
	b, _ := os.ReadFile(softnetStat)
	return backlogDrops(b)
}

func backlogDrops(softnetStat []byte) (dropped uint64) {
	for line := range bytes.Lines(softnetStat) {
		if f := bytes.Fields(line); len(f) > 1 {
			if n, err := strconv.ParseUint(string(f[1]), 16, 64); err == nil {
				dropped += n
			}
		}
	}
	return dropped
}

// clockLooks is how often a clock is read to find its step.
const clockLooks = 1000

// leastError is the least error of stamps from two clocks, since reads take longer on a busy machine. worstError is the
// error of clocks whose stamps are worth nothing.
const (
	leastError = int64(500 * time.Nanosecond)
	worstError = int64(100 * time.Microsecond)
)

// ClockStep returns the smallest step of a clock in ns, at least 1: the best precision of its stamps. It returns a
// microsecond if the clock did not move during all reads.
func ClockStep(now func() int64) int64 {
	step, last := int64(0), now()
	for range clockLooks {
		next := now()
		if d := next - last; d > 0 && (step == 0 || d < step) {
			step = d
		}
		last = next
	}
	return cmp.Or(step, int64(time.Microsecond))
}

// ClockError returns the error, in ns, of the time between two stamps when one of them is converted to another clock.
// It is twice the spread of the difference of the two clocks, since either stamp may be wrong by that, limited to
// leastError and worstError. The spread leaves out a twentieth of the reads, which something else may have
// interrupted.
func ClockError(pair func() (a, b int64)) int64 {
	apart := make([]int64, clockLooks)
	for i := range apart {
		a, b := pair()
		apart[i] = b - a
	}
	slices.Sort(apart)
	return min(max(2*(apart[clockLooks-clockLooks/40]-apart[clockLooks/40]), leastError), worstError)
}
