package main

import "time"

// A look is how many frames had arrived at a moment. Rates come from looks while the senders run: what waits in a deep ring when
// they end arrives later, and would add to the frames but not to their time.
type look struct {
	at     time.Time
	frames uint64
}

// lookEvery is the time between two looks; a tenth of the shortest load at most.
const lookEvery = 10 * time.Millisecond

// follow looks at what arrives until the function that it returns is called, which returns the looks.
func (b *bench) follow(l *load) func() []look {
	stop, done := make(chan struct{}), make(chan []look)
	go func() {
		var all []look
		for tick := time.NewTicker(lookEvery); ; {
			if n, err := l.arrived(); err == nil { // an error that lasts shows when the load is counted
				all = append(all, look{time.Now(), n})
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

// rateOf returns frames/s from the first frames to the senders' end, which comes elapsed after their start: 0 where fewer than two
// looks fell into that time. Senders are at work where two looks in a row saw frames: a single one is the switch's own, such as a
// probe against loops.
func rateOf(all []look, elapsed time.Duration) float64 {
	for len(all) > 2 && (all[1].frames == all[0].frames || all[2].frames == all[1].frames) {
		all = all[1:]
	}
	if len(all) < 3 {
		return 0
	}
	first := all[1] // the first that saw frames, so its moment is after the senders' start
	end := all[0].at.Add(elapsed)
	last := first
	for _, s := range all[2:] {
		if s.at.After(end) {
			break
		}
		last = s
	}
	if last == first {
		return 0
	}
	return float64(last.frames-first.frames) / last.at.Sub(first.at).Seconds()
}
