package acceptance

import (
	"runtime"
	"testing"

	bpflink "github.com/cilium/ebpf/link"

	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// A program of somebody else that comes while frames pass the switch by costs no frame, whatever it returns. Only where
// it stands before the switch's and takes frames, it takes the next one of each CPU too. Then frames pass through the
// switch, which says so, until that program is gone.
func TestAnotherProgramComes(t *testing.T) {
	needAssist(t)
	r := Start(t, 4, fastPorts)
	c := r.ServeControl()
	for _, tt := range []struct {
		name    string
		verdict int32
		where   bpflink.Anchor
		lost    uint64 // at most
	}{
		{"behind, sees frames", verdictNext, bpflink.Tail(), 0},
		{"behind, takes frames", verdictPass, bpflink.Tail(), 0},
		{"before, sees frames", verdictNext, bpflink.Head(), 0},
		{"before, takes frames", verdictPass, bpflink.Head(), uint64(runtime.NumCPU())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 0)
			h3, h4 := r.Station(3, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 0)
			before := r.Snapshot(1).Counters.LosslessDrops[dataplane.Unknown]
			fast := [2]uint64{r.forwarded(2), r.forwarded(4)}
			stops := []func(){h1.Send(Stream{To: 2, Prio: 3}), h3.Send(Stream{To: 4, Prio: 3})}
			eventually(t, "frames pass the switch by", func() bool {
				return r.forwarded(2) > fast[0]+100 && r.forwarded(4) > fast[1]+100
			})
			end := r.somebodyElse("p1", tt.verdict, tt.where)
			eventually(t, "show ports says so", func() bool { return r.column(c, 1) == "hold (another program)" })
			fast[0] = r.forwarded(2)
			at := h2.Tally(1, 3).Frames
			eventually(t, "frames pass through the switch", func() bool { return h2.Tally(1, 3).Frames > at+1000 })
			if n := r.forwarded(2) - fast[0]; n > 0 {
				t.Errorf("%d frames passed the switch by beside another program", n)
			}
			end()
			eventually(t, "show ports says that it is gone", func() bool { return r.column(c, 1) == "fast" })
			for _, stop := range stops {
				stop()
			}
			h4.Whole(h3, 3)
			sent := h1.Sent[3].Load()
			eventually(t, "the last frame comes", func() bool { return h2.Tally(1, 3).Next == sent })
			got := h2.Tally(1, 3)
			counted := r.Snapshot(1).Counters.LosslessDrops[dataplane.Unknown] - before
			if lost := sent - got.Frames; lost > tt.lost || got.Reordered > 0 || counted != lost {
				t.Errorf("lost %d frames, counted %d as lost, %d came late; want at most %d lost", lost, counted,
					got.Reordered, tt.lost)
			}
			for _, h := range []*Station{h1, h2, h3, h4} {
				h.Stop()
			}
			r.passesFast(1, 2)
		})
	}
	for _, part := range []string{"was attached at the interface's tcx ingress", "is gone"} {
		if !r.saysOfPort(1, part) {
			t.Errorf("no event says %q: %+v", part, r.Events(dataplane.EventPort, 1))
		}
	}
}
