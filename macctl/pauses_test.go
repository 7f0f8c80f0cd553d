package macctl

import (
	"reflect"
	"testing"
)

// holdFor holds priority 3 for so many quanta of 512 ns.
func holdFor(quanta uint16) []byte {
	return AppendPFC(nil, [6]byte{2}, 1<<3, [8]uint16{3: quanta})
}

const nsQuantum = 512 // at 1 Gbit/s

// Each pause is told of once, when it is over, with its whole length.
func TestReceiverTellsPauses(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(r *Receiver)
		want []int64
	}{
		{"resumed", func(r *Receiver) { r.Receive(holdFor(100), 10, 10); r.Receive(holdFor(0), 5_000, 5_000) }, []int64{4_990}},
		{"run out", func(r *Receiver) { r.Receive(holdFor(100), 10, 10); r.Paused(90_000); r.Paused(95_000) }, []int64{100 * nsQuantum}},
		{"refreshed", func(r *Receiver) {
			r.Receive(holdFor(100), 10, 10)
			r.Receive(holdFor(100), 20_010, 20_010)
			r.Paused(99_000)
		}, []int64{20_000 + 100*nsQuantum}},
		{"run out unseen, and held again", func(r *Receiver) {
			r.Receive(holdFor(1), 10, 10)
			r.Receive(holdFor(2), 10_000, 10_000)
			r.Reset(10_100)
		}, []int64{nsQuantum, 100}},
		{"goes on", func(r *Receiver) { r.Receive(holdFor(100), 10, 10); r.Paused(20) }, nil},
		{"told, and a late look at an earlier frame", func(r *Receiver) {
			r.Receive(holdFor(10), 10, 10)
			r.Paused(6_000)
			r.Receive(holdFor(100), 5_000, 6_001)
			r.Paused(90_000)
		}, []int64{10 * nsQuantum}},
		{"free already", func(r *Receiver) { r.Receive(holdFor(0), 10, 10); r.Paused(99) }, nil},
	} {
		var got []int64
		r := NewReceiver(ModePFC, 1<<3, 1e9, [6]byte{2, 1})
		r.OnPauseEnd(func(ns int64) { got = append(got, ns) })
		test.run(r)
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: told %v, want %v", test.name, got, test.want)
		}
	}
}

func TestInitiatorTellsPauses(t *testing.T) {
	var got []int64
	i := NewInitiator(InitiatorConfig{Mode: ModePFC, Enabled: 1 << 3, Speed: 1e9, Quanta: 100})
	i.OnPauseEnd(func(ns int64) { got = append(got, ns) })
	tell := func(now int64) {
		if _, ok := i.AppendFrame(nil, now); ok {
			i.Sent(now)
		}
	}
	i.Hold(3, CauseBuffer)
	tell(1_000)
	i.Release(3, CauseBuffer)
	tell(9_000) // XON
	i.Hold(3, CauseRing)
	tell(20_000)
	tell(900_000) // the refresh came too late: the pause had run out
	i.Reset(900_100)
	if want := []int64{8_000, 100 * nsQuantum, 100}; !reflect.DeepEqual(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}
