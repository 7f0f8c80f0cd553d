package port

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Poller lets one goroutine sleep until a socket of its ports is readable, a deadline has passed, or another
// goroutine wakes it.
type Poller struct {
	event int
	fds   []unix.PollFd // the descriptor of Wake, then those of Watch
	long  bool          // the last sleep of Poll was longer than rawPollMax
	drops []Drops
	look  time.Time // the last one at drops
	// looked tells whether the last sleep was one in parts.
	looked bool
}

// Drops are the frames that a ring has lost and Losses has not counted yet.
type Drops struct {
	fd   int32
	read uint32 // of the newest look, on their way to seen
	seen *atomic.Uint32
}

// DropPeriod is the time between two looks for drops. A Poller is not woken up by them.
const DropPeriod = time.Second

// NewPoller returns a Poller without ports.
func NewPoller() (*Poller, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	w := &Poller{event: fd}
	w.Watch(nil)
	return w, nil
}

// Watch replaces the descriptors that Wait and Poll listen to.
func (w *Poller) Watch(fds []int32) {
	w.fds = append(w.fds[:0], unix.PollFd{Fd: int32(w.event), Events: unix.POLLIN})
	for _, fd := range fds {
		w.fds = append(w.fds, unix.PollFd{Fd: fd, Events: unix.POLLIN})
	}
}

// WatchDrops replaces the rings whose drops Wait and Poll look for, once in DropPeriod, also during one long sleep.
func (w *Poller) WatchDrops(drops []Drops) { w.drops = append(w.drops[:0], drops...) }

// Ignore excludes descriptors from later sleeps, or includes them again. from and to (exclusive) count as Watch was
// given them.
func (w *Poller) Ignore(from, to int, on bool) {
	fds := w.fds[1:][from:to]
	for i := range fds {
		if on != (fds[i].Fd < 0) {
			fds[i].Fd = ^fds[i].Fd // ppoll passes over negative ones
		}
	}
}

// Wakeup says why Wait returned.
type Wakeup uint8

// The reasons.
const (
	Ready   Wakeup = iota // a socket is readable, or a signal came
	Woken                 // Wake was called, and no socket is readable
	Expired               // the time is over
	Failed                // a socket has a pending error: its interface went down
	Dropped               // a ring of WatchDrops has lost frames
)

// Wait sleeps for at most d, for ever where d < 0. A signal ends it early.
func (w *Poller) Wait(d time.Duration) Wakeup {
	if d >= 0 && d <= rawPollMax {
		w.looked = false
		t := unix.NsecToTimespec(int64(d))
		return w.woken(unix.Ppoll(w.fds, &t, nil))
	}
	from := time.Now()
	s := w.newLongSleep(d, from)
	first := s.look
	n, dropped := blockingPoll(w.fds, &s, w.drops)
	if w.looked = s.look > first; w.looked {
		w.look = from.Add(time.Duration(s.look-s.from) - DropPeriod)
	}
	switch {
	case dropped:
		hand(w.drops)
		return Dropped
	case n < 0:
		return Ready
	}
	return w.woken(n, nil)
}

// Looked reports whether the last sleep was one in parts, each of which ended late.
func (w *Poller) Looked() bool { return w.looked }

// A longSleep has parts: between two of them it looks for drops. Its times are those of CLOCK_MONOTONIC, in ns: each
// part ends late, and the sleep must not.
type longSleep struct {
	from, until int64
	look        int64 // the next one at drops
}

// never is the end of a sleep that has none.
const never = math.MaxInt64

// newLongSleep is of a sleep of d, for ever where d < 0.
func (w *Poller) newLongSleep(d time.Duration, now time.Time) longSleep {
	from := monotonic()
	s := longSleep{from: from, until: never, look: never}
	if d >= 0 {
		s.until = from + int64(d)
	}
	if len(w.drops) > 0 {
		s.look = from + int64(max(0, DropPeriod-now.Sub(w.look)))
	}
	return s
}

// monotonic reads CLOCK_MONOTONIC.
//
//go:nosplit
//go:norace
func monotonic() int64 {
	var t unix.Timespec
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&t)), 0)
	return t.Sec*int64(time.Second) + t.Nsec
}

// entersyscallblock and exitsyscall enclose a system call that is known to block. The runtime keeps their names and
// types for programs that link to them, as gVisor does (go.dev/issue/67401).
//
//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// blockingPoll is ppoll for a long sleep. It gives up the goroutine's place among GOMAXPROCS at once. In a usual system
// call, the runtime's monitor thread has to take that place away, and wakes up sixty times before it does. The looks
// for drops are a part of the sleep: a return to the runtime wakes up other threads too. They move s.look on. n is what
// ppoll returned, −1 after an error.
//
// Between the two calls of the runtime there must be nothing that may grow the stack, allocate, or be instrumented.
//
//go:nosplit
//go:norace
func blockingPoll(fds []unix.PollFd, s *longSleep, drops []Drops) (n int, dropped bool) {
	entersyscallblock()
	for {
		end, rest := s.look, s.look >= s.until
		if rest {
			end = s.until
		}
		var t unix.Timespec
		timeout := &t
		if end == never {
			timeout = nil
		} else if left := end - monotonic(); left > 0 {
			t.Sec, t.Nsec = left/int64(time.Second), left%int64(time.Second)
		}
		r, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)),
			uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
		if n = int(r); errno != 0 {
			n = -1
		}
		if n != 0 || rest {
			break
		}
		s.look += int64(DropPeriod) * (1 + (monotonic()-s.look)/int64(DropPeriod)) // one, after a standstill
		if dropped = readDrops(drops); dropped {
			break
		}
	}
	exitsyscall()
	return n, dropped
}

// blockingRing gives a packet socket its receive ring, for which the kernel waits some 20 ms. Like blockingPoll, it
// gives up the goroutine's place among GOMAXPROCS at once, so that all rings wait at the same time: the monitor thread
// may sleep for 10 ms before it takes such places away.
//
//go:nosplit
//go:norace
func blockingRing(fd int, req *unix.TpacketReq) syscall.Errno {
	entersyscallblock()
	_, _, errno := syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_PACKET, unix.PACKET_RX_RING,
		uintptr(unsafe.Pointer(req)), unsafe.Sizeof(*req), 0)
	exitsyscall()
	return errno
}

// readDrops reads what the kernel has counted since the last call, and reports whether that was anything.
//
//go:nosplit
//go:norace
func readDrops(drops []Drops) (dropped bool) {
	for i := range drops {
		var s unix.TpacketStats
		size := uint32(unsafe.Sizeof(s))
		_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(drops[i].fd), unix.SOL_PACKET,
			unix.PACKET_STATISTICS, uintptr(unsafe.Pointer(&s)), uintptr(unsafe.Pointer(&size)), 0)
		if errno == 0 && s.Drops > 0 {
			drops[i].read = s.Drops
			dropped = true
		}
	}
	return dropped
}

// hand makes what readDrops has read known to others. It is not a part of readDrops, since the race detector watches
// atomic operations everywhere.
func hand(drops []Drops) {
	for i := range drops {
		drops[i].seen.Add(drops[i].read)
		drops[i].read = 0
	}
}

// rawPollMax is the longest sleep that Poll hides from the Go runtime. The runtime knows of longer ones, so that its
// own threads can sleep too.
const rawPollMax = time.Millisecond

// Poll is Wait for a goroutine that keeps its thread, occupies one of GOMAXPROCS and sleeps often. The runtime's
// monitor thread takes the processor away from such a goroutine when it finds the goroutine in a system call, and then
// looks again every 20 µs. That is thousands of wake-ups a second, a tenth of a CPU on a VM with slow timers. So Poll
// hides the first millisecond from the runtime. After a long sleep Poll hides nothing: the next sleep is likely to be
// long as well, and a goroutine that seems to run would keep the monitor awake.
func (w *Poller) Poll(d time.Duration) Wakeup {
	from := time.Now()
	if len(w.drops) > 0 && from.Sub(w.look) >= DropPeriod {
		w.look = from
		if readDrops(w.drops) {
			hand(w.drops)
			return Dropped
		}
	}
	if !w.long {
		if why, over := w.rawPoll(d); over {
			return why
		}
		if d > 0 {
			d = max(0, d-time.Since(from))
		}
	}
	why := w.Wait(d)
	w.long = time.Since(from) > rawPollMax
	return why
}

// rawPoll sleeps for at most rawPollMax without telling the Go runtime. over means that the whole sleep is over.
func (w *Poller) rawPoll(d time.Duration) (why Wakeup, over bool) {
	short := min(d, rawPollMax)
	if d < 0 {
		short = rawPollMax
	}
	t := unix.NsecToTimespec(int64(short))
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&w.fds[0])), uintptr(len(w.fds)),
		uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	if errno != 0 {
		return Ready, true
	}
	return w.woken(int(n), nil), n > 0 || short == d
}

// Sleep sleeps for d and listens to no descriptor. It hides a short sleep from the Go runtime, like Poll.
func Sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	if d > 2*rawPollMax {
		_ = unix.Nanosleep(&t, nil) // a signal ends it early
		return
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// woken returns why a call of ppoll ended.
func (w *Poller) woken(n int, err error) Wakeup {
	if err != nil {
		return Ready
	}
	if n == 0 {
		return Expired
	}
	if w.fds[0].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(w.event, b[:])
		if n == 1 {
			return Woken
		}
	}
	for _, f := range w.fds[1:] {
		if f.Revents&(unix.POLLERR|unix.POLLNVAL) != 0 {
			return Failed
		}
	}
	return Ready
}

// Wake ends a Wait of another goroutine, or its next one.
func (w *Poller) Wake() {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 1)
	_, _ = unix.Write(w.event, b[:])
}

// Close releases the Poller.
func (w *Poller) Close() error { return unix.Close(w.event) }
