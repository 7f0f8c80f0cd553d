package bench

import (
	"slices"
	"time"
)

// A look is how many frames had arrived at a moment, and how many each host that sends had sent. Rates come from looks while the senders
// run: what waits in a deep ring when they end arrives later, and would add to the frames but not to their time.
type look struct {
	at     time.Time
	frames uint64
	sent   []uint64 // by sender
}

// allSent adds up what the senders had sent.
func (l *look) allSent() (sum uint64) {
	for _, n := range l.sent {
		sum += n
	}
	return sum
}

// lookEvery is the time between two looks; a tenth of the shortest load at most. A look takes CPU time of its own for each host: at more
// than a few of them it comes less often.
const (
	lookEvery = 10 * time.Millisecond
	fewHosts  = 4
)

// lookInterval is the time between two looks at the load.
func (l *load) lookInterval() time.Duration {
	var seen []*node
	for _, f := range l.flows {
		for _, n := range []*node{f.from, f.to} {
			if !slices.Contains(seen, n) {
				seen = append(seen, n)
			}
		}
	}
	return lookEvery * time.Duration((len(seen)+fewHosts-1)/fewHosts)
}

// follow looks at what is sent and arrives until the function that it returns is called, which returns the looks.
func (b *bench) follow(l *load) func() []look {
	stop, done := make(chan struct{}), make(chan []look)
	go func() {
		var all []look
		for tick := time.NewTicker(l.lookInterval()); ; {
			if s, err := l.look(); err == nil { // an error that lasts shows when the load is counted
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
	return func() []look {
		close(stop)
		return <-done
	}
}

// look reads the senders' counters before the receivers', so that no frame arrives before it is sent.
func (l *load) look() (s look, err error) {
	s.at = time.Now()
	var seen []*node
	for _, f := range l.flows {
		if slices.Contains(seen, f.from) {
			continue
		}
		seen = append(seen, f.from)
		c, err := f.from.received("eth0")
		if err != nil {
			return s, err
		}
		s.sent = append(s.sent, c.sent)
	}
	s.frames, err = l.arrived()
	return s, err
}

// window returns the first and the last look between which every sender was at work.
func window(all []look) (first, last *look, ok bool) {
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
				start = i // it began before this look
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

// rateOf returns what arrived, frames/s, and how many frames more were sent than arrived while every sender was at work: 0 and 0 where
// fewer than two looks fell into that time.
func rateOf(all []look) (rate, behind float64) {
	first, last, ok := window(all)
	if !ok {
		return 0, 0
	}
	arrived := float64(last.frames - first.frames)
	return arrived / last.at.Sub(first.at).Seconds(), float64(last.allSent()-first.allSent()) - arrived
}
