package buffer

// Active buffer management, ABM: Addanki, Apostolaki, Ghobadi, Schmid, Vanbever: "ABM: Active Buffer Management in
// Datacenters", SIGCOMM 2022. A queue of priority p gets T = α·free/n_p·μ/b.
//
//   - n_p is how many queues of the priority are congested, of all ports. A queue that holds less than congestedBytes
//     counts in part. The queue itself counts as one, so that T does not fall while it fills.
//   - μ/b is how much of its port's speed left the queue in the last interval, where the queue was congested and enough
//     left to tell. Else μ/b is 1.
//
// The authors give packets of a flow's first round trip a larger α. No frame says here which those are.
const (
	congestedBytes = 20_000
	activeInterval = 1_000_000 // ns: what a process can measure; the authors' is 25 µs
	activeSample   = 2000      // bytes that have to leave in it
)

// An activity is what ABM knows of a queue: nil without Config.Active.
type activity struct {
	congestion *int64  // what the queues of its number hold in its pool, each up to congestedBytes
	counted    int64   // bytes of it in the congestion
	left       int64   // bytes that have left since began
	began      int64   // ns
	rate       float64 // μ/b of the last interval, 0 to 1
}

// share returns the part of so many free bytes that counts for a queue. It does not fall when free rises.
func (a *activity) share(free int64) int64 {
	if a == nil {
		return free
	}
	return int64(float64(max(0, free)*congestedBytes/(congestedBytes+*a.congestion-a.counted)) * a.rate)
}

// limit returns where a lossless queue turns OFF while so many bytes of the shared segment are free.
func (m *Manager) limit(q *queue, free int64) int64 {
	return m.threshold.Limit(q.id, q.config, q.active.share(free))
}

// limit returns how much an egress queue may hold while so many bytes of the lossy pool are free.
func (q *lossyQueue) limit(free int64) int64 { return dynamicLimit(q.alpha, q.active.share(free)) }

// SetTime says what time it is, in ns. Only Config.Active needs it, before each call for a frame.
func (m *Manager) SetTime(now int64) { m.now = now }

// measure ends the interval of a queue that holds so many bytes, where its time is over. An end that comes an interval
// late says nothing.
func (m *Manager) measure(a *activity, held, speed int64) {
	if m.now-a.began < activeInterval {
		return
	}
	elapsed := m.now - a.began
	a.rate = 1
	if speed > 0 && elapsed < 2*activeInterval && held > congestedBytes && a.left > activeSample {
		a.rate = min(1, float64(a.left)*8e9/(float64(elapsed)*float64(speed)))
	}
	a.left, a.began = 0, m.now
}

func (m *Manager) measureLossless(q *queue) {
	if q.active != nil {
		m.measure(q.active, q.used.total(), q.port.config.Speed)
	}
}

func (m *Manager) measureLossy(port int, q *lossyQueue) {
	if q.active != nil {
		m.measure(q.active, q.used.now, m.ports[port].config.Speed)
	}
}

// restore returns a function that undoes what is measured until then.
func (a *activity) restore() func() {
	if a == nil {
		return func() {}
	}
	was := *a
	return func() { *a = was }
}

// move counts bytes that came into a queue of which it holds so many now, or left it (negative).
func (a *activity) move(bytes, held int64) {
	if a == nil {
		return
	}
	a.left += max(0, -bytes)
	counted := min(held, congestedBytes)
	*a.congestion += counted - a.counted
	a.counted = counted
}

// restartActive begins all measurements anew.
func (m *Manager) restartActive() {
	var lossless, lossy [Priorities]int64 // congestion
	begin := func(congestion *int64, held int64) *activity {
		if !m.config.Active {
			return nil
		}
		a := &activity{congestion: congestion, rate: 1, began: m.now}
		a.move(0, held)
		return a
	}
	for _, p := range m.ports {
		if p == nil {
			continue
		}
		for k := range p.ingress {
			in, out := &p.ingress[k], &p.egress[k]
			in.active, out.active = begin(&lossless[k], in.used.total()), begin(&lossy[k], out.used.now)
		}
	}
}
