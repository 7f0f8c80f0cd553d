package acceptance

import (
	"encoding/binary"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	bpflink "github.com/cilium/ebpf/link"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
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
			n := r.forwarded(2) - fast[0]
			assert.True(t, n <= 0, "%d frames passed the switch by beside another program", n)
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

// An interface that is renamed, moved or deleted while frames pass the switch by between it and another one, both ways,
// takes no program with it, and costs other ports nothing. The fast path is back with the interface.
func TestInterfaceGoesUnderTheFastPath(t *testing.T) {
	needAssist(t)
	r := Start(t, 4, fastPorts)
	c := r.ServeControl()
	sw, away := r.Node, r.Host(3)
	for _, tt := range []struct {
		name       string
		goes, back func()
		at         *lab.Node // where it is meanwhile, as gone; nil: nowhere
	}{
		{"renamed", func() { IP(t, sw, "link", "set", "p2", "name", "gone") },
			func() { IP(t, sw, "link", "set", "gone", "name", "p2", "up") }, sw},
		{"moved", func() { IP(t, sw, "link", "set", "p2", "netns", away.Namespace(), "name", "gone") },
			func() {
				IP(t, away, "link", "set", "gone", "netns", sw.Namespace(), "name", "p2")
				IP(t, sw, "link", "set", "p2", "up")
			}, away},
		{"deleted", func() { must(t, sw.DeleteLink("p2")) }, func() { r.Link(2) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all [5]*Station
			for n := 1; n <= 4; n++ {
				all[n] = r.Station(n, macctl.ModePFC, 500e6)
				all[n].Forget.Store(true)
			}
			fast := [5]uint64{1: r.forwarded(1), 2: r.forwarded(2), 4: r.forwarded(4)}
			stops := []func(){all[1].Send(Stream{To: 2, Prio: 3}), all[2].Send(Stream{To: 1, Prio: 3}),
				all[3].Send(Stream{To: 4, Prio: 3})}
			eventually(t, "frames pass the switch by", func() bool {
				return r.forwarded(1) > fast[1]+100 && r.forwarded(2) > fast[2]+100 && r.forwarded(4) > fast[4]+100
			})
			tt.goes()
			r.WaitState(2, "waiting for it")
			assert.Equal(t, r.column(c, 2), "-", "show ports says")
			if tt.at != nil {
				assert.Equal(t, programsAt(t, tt.at, "gone"), 0, "programs are left at the interface")
			}
			all[4].GoesOn(3, 100)
			for _, stop := range stops {
				stop()
			}
			all[4].Whole(all[3], 3)
			tt.back()
			r.WaitUp(2, true)
			assert.Equal(t, r.column(c, 2), "fast", "it is back, and show ports says")
			for _, s := range all[1:] {
				s.Stop()
			}
			r.passesFast(1, 2)
			r.passesFast(2, 1)
			r.NoLosslessDrops()
		})
	}
}

// A peer that floods MAC Control frames of every kind slows down what is sent to it. Nothing is lost, the fast path of
// other ports goes on, and an event says who floods.
func TestControlFloodBesideTheFastPath(t *testing.T) {
	needAssist(t)
	r := Start(t, 4, fastPorts)
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 0)
	h3, h4 := r.Station(3, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 0)
	stops := []func(){h1.Send(Stream{To: 2, Prio: 3}), h3.Send(Stream{To: 4, Prio: 3})}
	eventually(t, "frames pass the switch by", func() bool { return r.forwarded(2) > 100 && r.forwarded(4) > 100 })
	var ended atomic.Bool
	var flood sync.WaitGroup
	flood.Go(func() {
		s, from := r.Socket(2), [6]byte(HostMAC(2))
		xoff := macctl.AppendPFC(nil, from, 1<<3, [8]uint16{3: 4})
		xon := macctl.AppendPFC(nil, from, 0xff, [8]uint16{})
		kinds := [][]byte{xoff, xon, xoff[:20], macctl.AppendPause(nil, from, 1),
			Ethernet(2, 1, macctl.EtherType, make([]byte, 46)), Ethernet(2, 1, macctl.EtherType, nil)}
		for i := 0; !ended.Load(); i++ {
			must(t, s.Send(complete, kinds[i%len(kinds)]))
		}
	})
	eventually(t, "an event says who floods", func() bool {
		return slices.ContainsFunc(r.Events(dataplane.EventControlFlood, 2), func(e dataplane.Event) bool {
			return e.Peer == frame.Address(HostMAC(2))
		})
	})
	fast := r.forwarded(4)
	h2.GoesOn(1, 1000)
	h4.GoesOn(3, 1000)
	assert.True(t, r.forwarded(4) != fast, "no frame to another port passes the switch by")
	ended.Store(true)
	flood.Wait()
	for _, stop := range stops {
		stop()
	}
	h2.Whole(h1, 3)
	h4.Whole(h3, 3)
	r.NoLosslessDrops()
}

// A host with more stations than the fast path holds of a port costs other ports nothing, and loses nothing itself. An
// event says that some of its frames pass through the switch.
func TestMoreStationsThanTheFastPathHolds(t *testing.T) {
	needAssist(t)
	r := Start(t, 4, fastPorts)
	h3, h4 := r.Station(3, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 0)
	stop := h3.Send(Stream{To: 4, Prio: 3})
	s, h2 := r.Socket(1), r.Station(2, macctl.ModePFC, 0)
	b := (&Station{N: 1}).Numbered(Stream{To: 2, Prio: 3, Octets: 60})
	sent := uint64(0)
	for range 3 {
		for station := range 2 * assist.MaxFlows {
			if sent%64 == 0 { // the switch keeps up
				eventually(t, "frames arrive", func() bool { return h2.Tally(1, 3).Frames == sent })
			}
			binary.BigEndian.PutUint32(b[7:], 1<<24|uint32(station))
			binary.BigEndian.PutUint64(b[20:], sent)
			must(t, s.Send(complete, b))
			sent++
		}
	}
	eventually(t, "all frames arrive", func() bool { return h2.Tally(1, 3) == Tally{Frames: sent, Next: sent} })
	eventually(t, "an event says so", func() bool {
		e := r.Events(dataplane.EventStations, 1)
		return len(e) == 1 && strings.Contains(e[0].Text, "than the fast path holds")
	})
	fast := r.forwarded(4)
	eventually(t, "other ports have their fast path", func() bool { return r.forwarded(4) > fast })
	stop()
	h4.Whole(h3, 3)
	r.NoLosslessDrops()
}

// A second switch at the interfaces of one that runs is told what to do, before it does anything. The first goes on.
func TestSecondSwitch(t *testing.T) {
	needAssist(t)
	r := Start(t, 4, fastPorts)
	h3, h4 := r.Station(3, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 0)
	stop := h3.Send(Stream{To: 4, Prio: 3})
	r.passesFast(1, 2)
	s := fastPorts
	s.Netns = r.Node.Path()
	yaml := strings.NewReplacer("name: test", "name: second", "api.sock", "second.sock").Replace(s.YAML(r, 4))
	second, err := NewSwitch(Parse(t, yaml), slog.New(slog.DiscardHandler))
	if err == nil {
		must(t, second.Close())
	}
	assert.Fails(t, err, "interface p1: "+port.ErrTaken.Error(), "the second switch says")
	for n := range r.Hosts {
		got := r.programs(PortName(n + 1))
		assert.True(t, got == 1, "%d programs are at %s, want those of the first switch", got, PortName(n+1))
	}
	r.passesFast(1, 2)
	stop()
	h4.Whole(h3, 3)
	r.NoLosslessDrops()
	r.Halt() // and another one may follow
	third := assert.Got(NewSwitch(Parse(t, yaml), slog.New(slog.DiscardHandler))).Must(t)
	must(t, third.Close())
}
