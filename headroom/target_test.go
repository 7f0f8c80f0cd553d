package headroom

import (
	"testing"
	"time"

	"pfcswitch/macctl"
)

// What was found is known at every moment as if it were computed then, also after the link was down, at another speed,
// and without another end.
func TestFoundIsWhatWouldBeComputed(t *testing.T) {
	w := newWire(settings(7), settings(8))
	p := w.ends[0]
	check := func(when string) {
		t.Helper()
		if got, want := p.Found(), Octets(p.boundedMeasured()); got != want {
			t.Fatalf("%s: found %d B, want %d", when, got, want)
		}
	}
	steps := func(when string, d time.Duration) {
		for until := w.now + int64(d); w.step(until); {
			check(when)
		}
	}
	check("in the beginning")
	w.agree()
	steps("measuring", time.Second)
	first := p.Found()
	if first == 0 {
		t.Fatal("nothing was found")
	}
	w.delay[1] += 100_000
	steps("with a longer link", time.Second)
	if got, want := p.Found(), first+12_500; got != want {
		t.Errorf("with a link that is longer by 100 µs: %d B, want %d", got, want)
	}
	limited := settings(7)
	limited.Limit = 8 * 1000
	p.Configure(limited, w.now)
	check("limited")
	if got := p.Found(); got != 1000 {
		t.Errorf("limited to 1000 B: %d", got)
	}
	p.SetUp(false, w.now)
	check("down")
	if got := p.Found(); got != 0 {
		t.Errorf("down: %d B", got)
	}
}

// It is asked for at every XOFF.
func TestFoundDoesNotAllocate(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(time.Second)
	if n := testing.AllocsPerRun(100, func() { w.ends[0].Found() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The report says what this end has told the other, and whether that has heard it.
func TestReportOfWhatWasTold(t *testing.T) {
	w := newWire(settings(7), settings(8))
	if r := w.report(0); r.ResultBits != 0 || r.ResultAcked {
		t.Errorf("before anything was measured: told %d bits, heard %v", r.ResultBits, r.ResultAcked)
	}
	w.lose = func(_ int, p macctl.MeasurementFrame) bool { return p.Operation == macctl.MeasureResultAck }
	w.agree()
	w.run(time.Second)
	if r := w.report(0); r.ResultBits != r.Measured.Bits() || r.ResultAcked {
		t.Errorf("without acknowledgements: told %d bits of %d, heard %v", r.ResultBits, r.Measured.Bits(),
			r.ResultAcked)
	}
	w.lose = nil
	w.run(time.Second)
	if r, other := w.report(0), w.report(1); r.ResultBits != other.PeerFound || !r.ResultAcked {
		t.Errorf("told %d bits, and the other end has heard %d: %v", r.ResultBits, other.PeerFound, r.ResultAcked)
	}
}
