package bench

import (
	"sync"
	"time"
)

// A sample is how many frames had arrived at a moment, and how many each host that sends had sent. Rates come from
// samples while the senders run: what waits in a deep ring when they end arrives later, and would add to the frames
// but not to their time.
type sample struct {
	at     time.Time
	frames uint64
	sent   []uint64 // by sender
}

// sampleEvery is the time between two samples, a tenth of the shortest load at most. A sample takes CPU time for each
// host: with more than fewHosts there are fewer samples.
const (
	sampleEvery = 10 * time.Millisecond
	fewHosts    = 4
)

// sampleInterval is the time between two samples of the load.
func (l *load) sampleInterval() time.Duration {
	hosts := len(l.senders()) + len(l.receivers()) // no host does both
	return sampleEvery * time.Duration((hosts+fewHosts-1)/fewHosts)
}

// sampleLoad samples what is sent and arrives until the function that it returns is called, which returns the samples.
func (b *bench) sampleLoad(l *load) func() []sample {
	var all []sample
	var running sync.WaitGroup
	stop := make(chan struct{})
	running.Go(func() {
		tick := time.NewTicker(l.sampleInterval())
		defer tick.Stop()
		for going := true; going; {
			if s, err := l.sample(); err == nil { // an error that lasts shows when the load is counted
				all = append(all, s)
			}
			select {
			case <-tick.C:
			case <-stop:
				going = false
			}
		}
	})
	return func() []sample {
		close(stop)
		running.Wait()
		return all
	}
}

// sample reads the senders' counters before the receivers', so that no frame arrives before it is sent.
func (l *load) sample() (s sample, err error) {
	s.at = time.Now()
	for _, h := range l.senders() {
		c, err := h.Stats("eth0")
		if err != nil {
			return s, err
		}
		s.sent = append(s.sent, c.SentFrames)
	}
	s.frames, err = l.arrived()
	return s, err
}

// sendingSpan returns the first and the last sample between which every sender was at work.
func sendingSpan(all []sample) (first, last *sample, ok bool) {
	if len(all) == 0 {
		return nil, nil, false
	}
	from, until := 0, len(all)-1
	for sender := range all[0].sent {
		start, end := 0, 0
		for i := 1; i < len(all); i++ {
			if all[i].sent[sender] == all[i-1].sent[sender] {
				continue
			}
			if start == 0 {
				start = i // it began before this sample
			}
			end = i - 1 // and went on after that one
		}
		from, until = max(from, start), min(until, end)
	}
	if from >= until {
		return nil, nil, false
	}
	return &all[from], &all[until], true
}

// rateOf returns what arrived, frames/s, and how many frames more were sent than arrived while every sender was at
// work: 0 and 0 where fewer than two samples fell into that time.
func rateOf(all []sample) (rate, behind float64) {
	first, last, ok := sendingSpan(all)
	if !ok {
		return 0, 0
	}
	arrived, sent := last.frames-first.frames, uint64(0)
	for i := range last.sent {
		sent += last.sent[i] - first.sent[i]
	}
	return float64(arrived) / last.at.Sub(first.at).Seconds(), float64(sent) - float64(arrived)
}
