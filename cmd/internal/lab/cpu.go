package lab

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// runQueueStats adds up how long the threads of a process ran, and how long they waited for a CPU. The kernel forgets
// a thread that ends, so a sampler reads the figures at intervals.
type runQueueStats struct {
	mu      sync.Mutex
	pid     int
	ended   bool // the process ended: another process may get its number
	threads map[int]threadTime
	files   map[int]*os.File // of the threads, kept open: sampling must cost little CPU
	sum     threadTime
}

// threadTime is the content of /proc/PID/task/TID/schedstat.
type threadTime struct{ ran, waited time.Duration }

// samplePeriod is short, since the time after a thread's last sample is lost, and long enough to cost nothing.
const samplePeriod = 100 * time.Millisecond

func (p *Process) runSampler() {
	t := time.NewTicker(samplePeriod)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.runQueue.sample()
		case <-p.ended:
			return
		}
	}
}

// Scheduled returns how long all threads of the process together ran so far, and how long they waited for a CPU.
func (p *Process) Scheduled() (ran, waited time.Duration) {
	sum := p.runQueue.sample()
	return sum.ran, sum.waited
}

// end reads the last sample.
func (s *runQueueStats) end() {
	s.sample()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.keep(nil)
}

// sample reads the figures of all threads and returns the sum so far.
func (s *runQueueStats) sample() threadTime {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return s.sum
	}
	now := map[int]threadTime{}
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid)) // none where the process has ended
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			if t, err := s.read(tid); err == nil { // else the thread has just ended
				now[tid] = t
			}
		}
	}
	s.keep(now)
	s.add(now)
	return s.sum
}

// keep closes the files of all threads but those in live.
func (s *runQueueStats) keep(live map[int]threadTime) {
	maps.DeleteFunc(s.files, func(tid int, f *os.File) bool {
		_, ok := live[tid]
		if !ok {
			_ = f.Close()
		}
		return !ok
	})
}

func (s *runQueueStats) read(tid int) (t threadTime, err error) {
	f := s.files[tid]
	if f == nil {
		if f, err = os.Open(fmt.Sprintf("/proc/%d/task/%d/schedstat", s.pid, tid)); err != nil {
			return t, err
		}
		s.files[tid] = f
	}
	var b [80]byte // three numbers of 64 bits
	n, err := f.ReadAt(b[:], 0)
	if n == 0 {
		return t, err
	}
	return parseSchedstat(string(b[:n]))
}

// add counts what the threads ran and waited since the last sample. A thread whose figures fell is a new thread with an
// old number.
func (s *runQueueStats) add(now map[int]threadTime) {
	for tid, t := range now {
		before := s.threads[tid]
		if t.ran < before.ran || t.waited < before.waited {
			before = threadTime{}
		}
		s.sum.ran += t.ran - before.ran
		s.sum.waited += t.waited - before.waited
	}
	s.threads = now
}

// parseSchedstat reads "RAN WAITED SLICES", nanoseconds and a count (the kernel's sched-stats document).
func parseSchedstat(line string) (threadTime, error) {
	var ran, waited, slices uint64
	if _, err := fmt.Sscan(line, &ran, &waited, &slices); err != nil {
		return threadTime{}, fmt.Errorf("lab: schedstat %q: %w", line, err)
	}
	return threadTime{time.Duration(ran), time.Duration(waited)}, nil
}

// CPUTimes are the times of the CPUs that this process may use, since the machine started.
type CPUTimes struct {
	Busy  time.Duration // at work for any process
	Idle  time.Duration // with iowait
	Steal time.Duration // ready to work while the hypervisor ran something else
}

// ReadCPUTimes reads CPUTimes from /proc/stat.
func ReadCPUTimes() (CPUTimes, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return CPUTimes{}, fmt.Errorf("which CPUs may be used: %w", err)
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTimes{}, err
	}
	return parseCPUTimes(text, allowed.IsSet)
}

// tick is the unit of /proc/stat on every architecture of Linux: 1/USER_HZ seconds.
const tick = time.Second / 100

// parseCPUTimes reads the lines of single CPUs: cpuN user nice system idle iowait irq softirq steal guest guest_nice.
// user and nice include the time of guests (proc(5)).
func parseCPUTimes(text []byte, allowed func(cpu int) bool) (t CPUTimes, err error) {
	for line := range bytes.Lines(text) {
		var cpu int
		var f [8]time.Duration
		n, _ := fmt.Sscanf(string(line), "cpu%d %d %d %d %d %d %d %d %d", &cpu, &f[0], &f[1], &f[2], &f[3], &f[4],
			&f[5], &f[6], &f[7])
		if n != len(f)+1 || !allowed(cpu) {
			continue
		}
		t.Busy += (f[0] + f[1] + f[2] + f[5] + f[6]) * tick
		t.Idle += (f[3] + f[4]) * tick
		t.Steal += f[7] * tick
	}
	if t == (CPUTimes{}) {
		return t, errors.New("/proc/stat tells nothing of the CPUs that may be used")
	}
	return t, nil
}

// CPUShares are shares of the CPUs' time between two moments; all are 0 where no time has passed.
type CPUShares struct{ Busy, Idle, Steal float64 }

// Since returns what the CPUs did from an earlier moment to t.
func (t CPUTimes) Since(from CPUTimes) CPUShares {
	busy, idle, steal := t.Busy-from.Busy, t.Idle-from.Idle, t.Steal-from.Steal
	all := float64(busy + idle + steal)
	if all <= 0 {
		return CPUShares{}
	}
	return CPUShares{float64(busy) / all, float64(idle) / all, float64(steal) / all}
}
