package bench

import (
	"slices"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A sample is how many frames had arrived at a moment, and how many each host that sends had sent. Rates come from
// samples while the senders run: what waits in a deep ring when they end arrives later, and would add to the frames
// but not to their time.
type sample struct {
	at     time.Time
	frames uint64
	sent   []uint64 // by sender
}

// allSent adds up what the senders had sent.
func (s *sample) allSent() (sum uint64) {
	for _, n := range s.sent {
		sum += n
	}
	return sum
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

// senders are the hosts that the load comes from, each once.
func (l *load) senders() (all []*lab.Node) {
	for _, f := range l.flows {
		if !slices.Contains(all, f.from) {
			all = append(all, f.from)
		}
	}
	return all
}

// sampleLoad samples what is sent and arrives until the function that it returns is called, which returns the samples.
func (b *bench) sampleLoad(l *load) func() []sample {
	stop, done := make(chan struct{}), make(chan []sample)
	go func() {
		var all []sample
		for tick := time.NewTicker(l.sampleInterval()); ; {
			if s, err := l.sample(); err == nil { // an error that lasts shows when the load is counted
				all = append(all, s)
			}
			select {
			case <-tick.C:
			case <-stop:
				tick.Stop()
				done <- all
				return
			}
		}
	}()
	return func() []sample {
		close(stop)
		return <-done
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
	arrived := float64(last.frames - first.frames)
	return arrived / last.at.Sub(first.at).Seconds(), float64(last.allSent()-first.allSent()) - arrived
}
