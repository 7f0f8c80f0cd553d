package headroom

import "time"

// A Probe whose switch is idle measures ever more rarely once it has fewSamples, and steadySamples answers in a row
// have changed nothing by more than a part of 1/steadyShare. The time between two requests doubles up to rarest. The
// Probe measures as often as before as soon as a frame comes, or anything changes. Of few samples the 99.9 % value is
// the largest. That of a full window may be larger yet: requests that are frequent again find it, in two minutes.
const (
	fewSamples    = windowSamples / 4
	steadySamples = lowerAfter * perInterval
	steadyShare   = 8
	rarest        = int64(64 * time.Second)
)

// A backoff says how rarely a Probe measures.
type backoff struct {
	idle   bool     // the switch is
	steady int      // answers in a row that changed nothing, up to steadySamples
	found  [3]int64 // at the last change: bits of the target, measured, and told by the peer
	wait   int64    // between two requests, in ns; 0 where they are not rare
}

// SetIdle says whether the switch has received no data frame for a while.
func (p *Probe) SetIdle(idle bool, now int64) {
	p.backoff.idle = idle
	if !idle && p.backoff.wait > 0 {
		p.resume(now)
	}
}

// resume makes requests frequent again.
func (p *Probe) resume(now int64) {
	if p.backoff.wait > 0 {
		p.backoff.wait = 0
		p.nextRequest = min(p.nextRequest, now)
		p.results.nextCheck = min(p.results.nextCheck, now+int64(p.set.Interval))
	}
}

// settle follows an answer.
func (p *Probe) settle(busy bool, now int64) {
	c := &p.backoff
	found := [...]int64{p.target.bits, p.measuredBits, p.receivedNeed()}
	changed := busy || p.target.lowerTo > 0 && differs(p.target.lowerTo, p.target.bits)
	for i := range found {
		changed = changed || differs(found[i], c.found[i])
	}
	if c.steady = min(c.steady+1, steadySamples); changed {
		c.steady, c.found = 0, found
		p.resume(now)
	}
}

// differs reports whether two sizes differ by more than noise makes them differ.
func differs(a, b int64) bool { return steadyShare*max(a-b, b-a) > b }

// mayBackOff reports whether requests may be rare.
func (p *Probe) mayBackOff() bool {
	return p.backoff.idle && p.estimate.count >= fewSamples && p.backoff.steady == steadySamples &&
		p.unanswered == 0 && p.results.applied()
}

// rareRequest returns when the request after the one at time now follows, which would follow after wait: at a whole
// multiple of a time, so that those of all ports wake the process up together.
func (p *Probe) rareRequest(now, wait int64) int64 {
	if !p.mayBackOff() {
		p.backoff.wait = 0
		return now + wait
	}
	p.backoff.wait = min(max(2*p.backoff.wait, 2*wait), rarest)
	return (now/p.backoff.wait + 1) * p.backoff.wait
}
