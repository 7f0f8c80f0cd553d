package lab

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// A runQueueStats adds up how long the threads of a process ran and how long they were ready to run but waited for
// a CPU. The kernel forgets a thread's figures when the thread ends, so they are read now and then.
type runQueueStats struct {
	mu      sync.Mutex
	pid     int
	ended   bool // the process ended: its number may be another's soon
	threads map[int]threadTime
	files   map[int]*os.File // of the threads, open: a look must not take a CPU from what it looks at
	sum     threadTime
}

// threadTime is what /proc/PID/task/TID/schedstat says of a thread.
type threadTime struct{ ran, waited time.Duration }

// samplePeriod is short enough for a thread's last moments to be negligible, long enough to cost nothing.
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

// Scheduled returns how long the threads of the process ran so far and how long they waited for a CPU, both
// added up over all threads.
func (p *Process) Scheduled() (ran, waited time.Duration) {
	sum := p.runQueue.sample()
	return sum.ran, sum.waited
}

// WaitShare returns the share of the time in which threads of the process wanted to run that they spent
// waiting for a CPU, 0 to 1. Where it is high, latencies and rates tell of the machine, not of the process.
func (p *Process) WaitShare() float64 {
	ran, waited := p.Scheduled()
	if ran+waited == 0 {
		return 0
	}
	return float64(waited) / float64(ran+waited)
}

// end takes the last sample.
func (s *runQueueStats) end() {
	s.sample()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for tid := range s.files {
		s.closeThread(tid)
	}
}

// sample reads the figures of all threads and returns the sum so far.
func (s *runQueueStats) sample() threadTime {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return s.sum
	}
	now := map[int]threadTime{}
	for _, tid := range s.tids() {
		if t, err := s.read(tid); err == nil {
			now[tid] = t
		} else { // the thread has just ended
			s.closeThread(tid)
		}
	}
	for tid := range s.files {
		if _, ok := now[tid]; !ok {
			s.closeThread(tid)
		}
	}
	s.add(now)
	return s.sum
}

// tids returns the numbers of the threads, none where the process has ended.
func (s *runQueueStats) tids() (tids []int) {
	d, err := os.Open(fmt.Sprintf("/proc/%d/task", s.pid))
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// read returns the figures of a thread.
func (s *runQueueStats) read(tid int) (threadTime, error) {
	f := s.files[tid]
	if f == nil {
		var err error
		if f, err = os.Open(fmt.Sprintf("/proc/%d/task/%d/schedstat", s.pid, tid)); err != nil {
			return threadTime{}, err
		}
		if s.files == nil {
			s.files = map[int]*os.File{}
		}
		s.files[tid] = f
	}
	var b [80]byte // three numbers of 64 bits
	n, err := f.ReadAt(b[:], 0)
	if n == 0 {
		return threadTime{}, err
	}
	return parseSchedstat(string(b[:n]))
}

// closeThread closes what is open of a thread that has ended.
func (s *runQueueStats) closeThread(tid int) {
	if f := s.files[tid]; f != nil {
		_ = f.Close()
		delete(s.files, tid)
	}
}

// add counts what the threads ran and waited since the last sample. A thread whose figures fell is a new one
// with an old number.
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
