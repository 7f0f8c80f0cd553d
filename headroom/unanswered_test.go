package headroom

import (
	"testing"
	"time"
)

// passTime lets a Probe send what it has to for so long. Nobody hears it.
func passTime(p *Probe, from int64, d time.Duration) (now int64) {
	for now = from; now < from+int64(d); now = max(now+1, p.Next()) {
		for {
			if _, ok := p.Out(Moment{Now: now}); !ok {
				break
			}
		}
	}
	return now
}

// A forged result raises the headroom of an end that nobody answers for some minutes, and not for ever.
func TestForgedResultWithoutAnswers(t *testing.T) {
	// a peer that answers once and then never is as good as none
	for _, answers := range []int{0, 1, settleSamples - 1} {
		p := agreed(settings(7))
		now := int64(1)
		for range answers {
			q, _ := p.Out(Moment{Now: now})
			p.Receive(replied(q), now+40_000, Moment{Now: now + 40_000})
			now = p.nextRequest
		}
		p.Receive(result(stranger, 99, 1<<31, maxHeadroomBits), now, Moment{Now: now})
		calculated := Octets(p.set.Calculated)
		if got := p.Target(); got != Octets(4*p.set.Calculated) {
			t.Fatalf("%d answers: after the result %d", answers, got)
		}
		now = passTime(p, now, time.Duration(resultLife)-time.Second)
		if got := p.Target(); got != Octets(4*p.set.Calculated) {
			t.Errorf("%d answers: while it counts %d", answers, got)
		}
		now = passTime(p, now, 2*time.Second+lowerAfter*p.set.Interval)
		if got := p.Target(); got != calculated {
			t.Errorf("%d answers: in the end %d, want the calculated %d", answers, got, calculated)
		}
		if r := p.Report(now); r.Received != 0 || r.PeerFound != 0 {
			t.Errorf("%d answers: still told: %d, %d", answers, r.Received, r.PeerFound)
		}
	}
}

// A forged result does not live on in the repeats of another one.
func TestForgedResultBeforeRepeatedOnes(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result(stranger, 99, 1, maxHeadroomBits), 1, Moment{Now: 1})
	now, small := int64(2), uint64(p.set.Calculated/2)
	for range 3 + lowerAfter*int(p.set.Interval)/int(time.Minute) {
		p.Receive(result([6]byte{2, 0, 0, 0, 0, 8}, 5, 1, small), now, Moment{Now: now})
		now = passTime(p, now, time.Minute)
	}
	if got, want := p.Target(), Octets(p.set.Calculated); got != want {
		t.Errorf("%d, want the calculated %d", got, want)
	}
}

// One answer of the peer is enough to doubt what another station has said, and to take back what followed from it.
func TestForgedResultBeforeTheOnlyAnswer(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result([6]byte{2, 0, 0, 0, 0, 8}, 99, 1, maxHeadroomBits), 1, Moment{Now: 1})
	p.acknowledge()
	q, _ := p.Out(Moment{Now: 2})
	p.Receive(replied(q), 40_000, Moment{Now: 40_000})
	passTime(p, 40_000, (lowerAfter+1)*p.set.Interval)
	if got, want := p.Target(), Octets(p.set.Calculated); got != want {
		t.Errorf("%d, want the calculated %d", got, want)
	}
}

// What this end had found before its link flapped is no word of the peer: a result that ends leaves it.
func TestForgottenResultLeavesWhatWasFound(t *testing.T) {
	a := settings(7)
	a.Inputs.Burst = 0
	w := newWire(a, settings(8))
	w.delay = [2]int64{300_000, 300_000}
	w.agree()
	w.run(10 * time.Second)
	p := w.ends[0]
	found := p.target.bits
	if found <= p.set.Calculated {
		t.Fatalf("found %d bits, no more than the calculated %d", found, p.set.Calculated)
	}
	p.SetUp(false, w.now)
	p.SetUp(true, w.now)
	p.Receive(result(stranger, 99, 1, uint64(2*found)), w.now, w.moment(0))
	if p.target.bits != 2*found {
		t.Errorf("raised to %d", p.target.bits)
	}
	passTime(p, w.now, time.Duration(resultLife)+(lowerAfter+1)*p.set.Interval)
	if p.target.bits != found {
		t.Errorf("in the end %d bits, want the %d that were found", p.target.bits, found)
	}
}

// What was in force while this end measured is proved, the peer's part of it too: when the link has flapped and nobody
// answers any more, a last result that lapses takes nothing from it.
func TestForgottenResultLeavesWhatWasInForce(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(time.Second)
	p := w.ends[0]
	p.Receive(result(w.address[1], 8, w.ends[1].results.sequence+1, uint64(2*p.set.Calculated)), w.now, w.moment(0))
	if p.target.bits != 2*p.set.Calculated {
		t.Fatalf("raised to %d", p.target.bits)
	}
	p.SetUp(false, w.now)
	p.SetUp(true, w.now)
	p.Receive(result(w.address[1], 8, 99, 1000), w.now, w.moment(0))
	passTime(p, w.now, time.Duration(resultLife)+(lowerAfter+1)*p.set.Interval)
	if p.target.bits != 2*p.set.Calculated {
		t.Errorf("in the end %d bits, were %d", p.target.bits, 2*p.set.Calculated)
	}
}

// A headroom that the peer's word has raised stays while nothing is measured, whatever is configured meanwhile.
func TestRaisedStaysWithoutAgreement(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result(stranger, 99, 1, maxHeadroomBits), 1, Moment{Now: 1})
	raised := p.Target()
	p.SetAgreed(true, false, "", 2)
	s := p.set
	for i := range int64(3) {
		p.Configure(s, i*int64(time.Hour))
	}
	if got := p.Target(); got != raised {
		t.Errorf("%d, was %d", got, raised)
	}
}
