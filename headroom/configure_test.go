package headroom

import (
	"fmt"
	"testing"
	"time"

	"pfcswitch/macctl"
)

// reconfigured is what an end is set to where something of its link is another now.
func reconfigured(before Settings, change func(*Inputs)) Settings {
	change(&before.Inputs)
	before.Calculated, before.Max = Calculate(before.Inputs, macctl.ModePFC).Bits(), 0
	return before
}

// A cable that is configured to be longer is so at once, and the samples are still those of the shorter one: until
// there are new ones, and as long as ever after, no less is wanted than the longer one needs, also where less was about
// to come in force.
func TestLongerCableByConfiguration(t *testing.T) {
	const short, long = 50 * time.Microsecond, 500 * time.Microsecond
	for _, interval := range []time.Duration{time.Second, 100 * time.Second} {
		for _, lowering := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, lowering %v", interval, lowering), func(t *testing.T) {
				all := [2]Settings{settings(7), settings(8)}
				for i := range all {
					all[i].Interval = interval
					all[i] = reconfigured(all[i], func(in *Inputs) { in.Delay = short })
				}
				w := newWire(all[0], all[1])
				w.delay = [2]int64{int64(short), int64(short)}
				w.agree()
				// what was calculated is more than what is found, and stays for now
				w.run(lowerAfter * interval * 3 / 4)
				if !lowering {
					w.run(2 * lowerAfter * interval)
				}
				p, set := w.ends[0], reconfigured(all[0], func(in *Inputs) { in.Delay = long })
				if has := p.target.bits; lowering != (has == all[0].Calculated) || has >= set.Calculated {
					t.Fatalf("before: %d bits", has)
				}
				w.delay = [2]int64{int64(long), int64(long)}
				p.Configure(set, w.now)
				if got := p.Reason(); got != "calculated" {
					t.Errorf("reason %q, want that it was calculated", got)
				}
				needs := BitsIn(gbit, 2*long) + 2*12_336 + ControlFrameBits + 8*all[1].Inputs.Burst
				until := w.now + lowerAfter*int64(interval)
				for ok := true; ok; ok = w.step(until) {
					if has := p.target.bits; has < needs || has < set.Calculated {
						t.Fatalf("%v after it: %d bits, the link needs %d, and %d are calculated",
							time.Duration(w.now-until)+lowerAfter*interval, has, needs, set.Calculated)
					}
				}
				w.run(2 * interval)
				if has := p.target.bits; has < needs || has >= set.Calculated {
					t.Errorf("in the end %d bits, the link needs %d, and %d are calculated", has, needs, set.Calculated)
				}
			})
		}
	}
}
