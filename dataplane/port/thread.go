package port

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A Thread is a thread of this process, which any other one may observe.
type Thread struct {
	id   int
	stat *os.File
}

// ThisThread returns the calling thread, to which the caller has locked its goroutine.
func ThisThread() (*Thread, error) {
	id := unix.Gettid()
	stat, err := os.Open(fmt.Sprintf("/proc/self/task/%d/stat", id))
	if err != nil {
		return nil, err
	}
	return &Thread{id: id, stat: stat}, nil
}

// ID is the kernel's number of the thread.
func (t *Thread) ID() int { return t.id }

// CPU returns for how many ns the thread has run, 0 where it has ended.
func (t *Thread) CPU() int64 {
	const perThread, scheduler = 4, 2 // as the kernel numbers the CPU clocks of others
	var ts unix.Timespec
	if unix.ClockGettime(int32(^t.id)<<3|perThread|scheduler, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// Ready tells whether the thread runs or waits for a CPU.
func (t *Thread) Ready() bool {
	var text [128]byte
	n, err := unix.Pread(int(t.stat.Fd()), text[:], 0)
	return err == nil && ready(text[:n])
}

// ready reads the third field of a thread's stat, as in "29163 (pfcswitch) R 1" (proc_pid_stat(5)).
func ready(stat []byte) bool {
	_, state, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return bytes.HasPrefix(state, []byte("R"))
}

// Close ends the observation.
func (t *Thread) Close() error { return t.stat.Close() }
