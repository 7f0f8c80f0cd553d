package port

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

func TestReady(t *testing.T) {
	for stat, want := range map[string]bool{
		"29163 (pfcswitch) R 1 29163": true, "29163 (pfcswitch) S 1 29163": false, "1 (a) R) D 1": false,
		"1 (a) S) R 1": true, "": false, "1 (a) ": false, "1 R": false,
	} {
		assert.Equal(t, ready([]byte(stat)), want, "%q", stat)
	}
}

// A thread that works is ready, whether or not it gets a CPU, and uses CPU time now and then. One that waits for
// something else does neither.
func TestThreadIsObserved(t *testing.T) {
	begun, stop, ended := make(chan *Thread), make(chan struct{}), make(chan struct{})
	var works atomic.Bool
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		th, err := ThisThread()
		assert.True(t, err == nil, "%v", err)
		begun <- th
		for works.Load() {
		}
		<-stop
	}()
	works.Store(true)
	th := <-begun
	for !th.Ready() {
		time.Sleep(time.Millisecond)
	}
	for from := th.CPU(); th.CPU() == from; time.Sleep(time.Millisecond) {
	}
	works.Store(false)
	for th.Ready() {
		time.Sleep(time.Millisecond)
	}
	for from := int64(0); th.CPU() != from; time.Sleep(20 * time.Millisecond) {
		from = th.CPU()
	}
	close(stop)
	<-ended
	assert.Must(t, th.Close())
}

// What runs in parallel ends its threads, so the main thread, which cannot end, does none of it.
func TestInParallelSparesTheMainThread(t *testing.T) {
	onMain := inParallel(64, func(int) error {
		if unix.Gettid() == unix.Getpid() {
			return errors.New("it runs on the main thread")
		}
		return unix.Nanosleep(&unix.Timespec{Nsec: int64(time.Millisecond)}, nil)
	})
	assert.Must(t, errors.Join(onMain...))
}
