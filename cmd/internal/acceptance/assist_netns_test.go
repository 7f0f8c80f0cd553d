package acceptance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
	"pfcswitch/macctl"
)

// follow keeps a sender at most so many frames ahead of what has arrived, so that the receiver's ring holds them.
func follow(from, to *Station, prio uint8, frames uint64) (stop func()) {
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			from.Limit.Store(to.Tally(from.N, prio).Frames + frames)
			select {
			case <-end:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	})
	return func() { close(end); done.Wait() }
}

// No frame overtakes another, whichever way each of them takes: past the switch, or through it. At random moments the
// receiver sends XOFF and XON, a frame floods, somebody captures, and the same configuration is put in force again.
// ASSIST_FRAMES=100000000 has each of two senders send so many, and more where a busy machine has let few of them take
// the fast path.
func TestFastPathKeepsOrder(t *testing.T) {
	needAssist(t)
	frames := uint64(300_000)
	if n, err := strconv.ParseUint(os.Getenv("ASSIST_FRAMES"), 10, 64); err == nil {
		frames = n
	}
	setup := Setup{Keys: Lossless3, Each: "speed: none"}
	r := Start(t, 4, setup)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 0), r.Station(2, macctl.ModePFC, 0), r.Station(3, macctl.ModePFC, 0)
	h4 := r.Socket(4)
	h2.Forget.Store(true)
	const ahead = 256 // so that the rings run empty now and then, which the fast path waits for
	var stops []func()
	for _, h := range []*Station{h1, h3} {
		defer follow(h, h2, 3, ahead)()
		stops = append(stops, h.Send(Stream{To: 2, Prio: 3, Octets: 60}))
	}
	disturb := []func(){
		func() { h2.PFC(1<<3, 0xffff) },
		func() { h2.PFC(1<<3, uint16(random.IntN(2000))) },
		func() { h2.PFC(1<<3, 0) },
		func() { must(t, h4.Send(complete, Ethernet(4, 0xff, NumberedType, nil))) },
		func() { must(t, h4.Send(complete, Ethernet(4, 2, NumberedType, nil))) },
		func() {
			c := assert.Got(r.Switch.Source().Tap().Attach(capture.Want{Ports: capture.AllPorts, Snap: 64})).Must(t)
			time.Sleep(time.Millisecond)
			c.Close()
		},
		func() {
			_, err := r.Switch.Apply(context.Background(), r.Parse(setup))
			assert.NoError(t, err, "apply")
		},
	}
	h1s, h3s := h1.Sent[3].Load, h3.Sent[3].Load
	few := func() bool { return r.Snapshot(2).Counters.Forwarded[3] < 2*frames/100 }
	for last, since := uint64(0), time.Now(); h1s() < frames || h3s() < frames || few(); {
		disturb[random.IntN(len(disturb))]()
		time.Sleep(time.Duration(random.IntN(5000)) * time.Microsecond)
		if n := h1s() + h3s(); n != last {
			last, since = n, time.Now()
		} else if time.Since(since) > Timeout {
			t.Fatalf("nothing is sent any more, after %d and %d frames", h1s(), h3s())
		} else if n > 100*frames {
			t.Fatalf("of %d frames, less than a hundredth of %d took the fast path, so little is shown", n, 2*frames)
		}
	}
	for _, stop := range stops {
		stop()
	}
	h2.PFC(1<<3, 0)
	h2.Whole(h1, 3)
	h2.Whole(h3, 3)
	r.NoLosslessDrops()
	t.Logf("%d of %d frames took the fast path", r.Snapshot(2).Counters.Forwarded[3], h1s()+h3s())
}

// XOFF stops the fast path at once: what still arrives is at most what one softirq carries. A thread that loses its CPU
// while XOFF is under way sees more: so the median of many counts, each with frames that came right before.
func TestXoffStopsTheFastPath(t *testing.T) {
	const times, softirq = 30, 64 // frames that one softirq takes of the backlog, net.core.dev_weight
	const before, pause = 50 * time.Microsecond, 2 * time.Millisecond
	needAssist(t)
	r := Start(t, 2, Setup{Keys: Lossless3, Each: "speed: none"})
	h1, h2 := r.Station(1, macctl.ModePFC, 0), r.Station(2, macctl.ModePFC, 0)
	defer follow(h1, h2, 3, 256)() // so that the rings run empty now and then, which the fast path waits for
	end := h1.Send(Stream{To: 2, Prio: 3, Octets: 60})
	forwarded := func() uint64 { return r.Snapshot(2).Counters.Forwarded[3] }
	var frames []int
	var last []time.Duration
	for since := time.Now(); len(frames) < times; {
		assert.MustBeTrue(t, time.Since(since) <= Timeout,
			"after %d of %d XOFFs, none met frames for %v", len(frames), times, Timeout)
		fast := forwarded()
		eventually(t, "frames take the fast path", func() bool { return forwarded() > fast+100 })
		arrived := h2.Tally(1, 3).Frames
		for h2.Tally(1, 3).Frames == arrived && time.Since(since) < Timeout { // the sender has no CPU now
			time.Sleep(10 * time.Microsecond)
		}
		call := time.Now()
		h2.PFC(1<<3, 0xffff) // 3.4 ms
		time.Sleep(pause)
		n, newest := 0, time.Duration(0)
		came := h2.Arrivals(call.Add(-before))
		for _, a := range came {
			if after := a.Stamp.Sub(call); after >= 0 && after < pause {
				n, newest = n+1, after
			}
		}
		if len(came) > 0 && came[0].Stamp.Before(call) {
			frames, last, since = append(frames, n), append(last, newest), time.Now()
		}
		h2.PFC(1<<3, 0)
	}
	end()
	h2.Whole(h1, 3)
	slices.Sort(frames)
	slices.Sort(last)
	t.Logf("from the call that sends XOFF: %d frames (median; at most %d), the last after %v (%v)",
		frames[times/2], frames[times-1], last[times/2], last[times-1])
	n := frames[times/2]
	assert.True(t, n <= softirq, "%d frames arrived after XOFF, want at most %d", n, softirq)
}

// A switch that is stopped holds its peers, and loses nothing of theirs, however long it stands still. ASSIST_STOP=5s
// adds a time.
func TestFrozenSwitchHoldsItsPeers(t *testing.T) {
	needAssist(t)
	stops := []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second}
	if text := os.Getenv("ASSIST_STOP"); text != "" {
		more := assert.Got(time.ParseDuration(text)).Must(t)
		stops = append(stops, more)
	}
	for _, speed := range []struct {
		keys string
		bits int64
	}{{"100M", 100e6}, {"1G", 1e9}} {
		for _, senders := range [][]int{{1}, {1, 3, 4}} {
			for _, stop := range stops {
				t.Run(fmt.Sprint(speed.keys, " ", len(senders), " senders ", stop), func(t *testing.T) {
					frozenLosesNothing(t, speed.keys, speed.bits, senders, stop)
				})
			}
		}
	}
	t.Run("as long as the program holds them", func(t *testing.T) { // they go on after each of 149 pauses
		frozenLosesNothing(t, "1G", 1e9, []int{1}, 5*time.Second)
	})
	t.Run("XOFF passes a delay line by", func(t *testing.T) {
		frozenLosesNothing(t, "1G, delay: 100us", 1e9, []int{1, 3, 4}, time.Second)
	})
}

// frozenLosesNothing stops a switch for a time, while hosts send to h2 at its speed.
func frozenLosesNothing(t *testing.T, keys string, speed int64, senders []int, stop time.Duration) {
	r := NewRig(t, 4)
	p := r.StartProcess(Setup{Keys: Lossless3, Each: "speed: " + keys})
	h2 := r.Station(2, macctl.ModePFC, speed)
	var all []*Station
	var ends []func()
	for _, n := range senders {
		h := r.Station(n, macctl.ModePFC, speed)
		all, ends = append(all, h), append(ends, h.Send(Stream{To: 2, Prio: 3}))
	}
	arrived := func(more uint64) func() bool {
		var before []uint64
		for _, h := range all {
			before = append(before, h2.Tally(h.N, 3).Frames)
		}
		return func() bool {
			for i, h := range all {
				if h2.Tally(h.N, 3).Frames <= before[i]+more {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "frames of all arrive", arrived(100))
	freeze(t, p)
	time.Sleep(stop)
	thaw(t, p)
	eventually(t, "frames of all go on", arrived(100))
	for _, end := range ends {
		end()
	}
	for _, h := range all {
		h2.Whole(h, 3)
	}
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}

// bpfFS is a place for programs that outlive a switch. The processes of a rig have another /sys than the test.
const bpfFS = "/run/pfcswitch-bpf"

func mountBPF(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(bpfFS, 0o700))
	must(t, unix.Mount("bpf", bpfFS, "bpf", 0, ""))
	t.Cleanup(func() {
		must(t, unix.Unmount(bpfFS, 0))
		if err := os.Remove(bpfFS); !errors.Is(err, unix.EBUSY) { // it was mounted before
			must(t, err)
		}
	})
}

// pinned returns what is kept of the programs of the rig's switch.
func pinned(t *testing.T) (names []string) {
	t.Helper()
	return assert.Got(filepath.Glob(bpfFS + "/pfcswitch:test:*/link")).Must(t)
}

// A switch that is killed leaves programs that hold its peers. They wait for the next start and lose nothing meanwhile,
// but what was in the switch; without one they go on after assist.hold. A switch that ends by itself leaves nothing.
func TestKilledSwitchHoldsItsPeers(t *testing.T) {
	needAssist(t)
	mountBPF(t)
	setup := func(hold string) Setup {
		return Setup{Keys: Lossless3 + "assist: {freeze: 5ms, hold: " + hold + "}\n", Each: "speed: 100M"}
	}
	r := NewRig(t, 3)
	p := r.StartProcess(setup("60s"))
	h1, h2, h3, _ := r.Incast(macctl.ModePFC, 100e6)
	sent := func() uint64 { return h1.Sent[3].Load() + h3.Sent[3].Load() }
	held := func() bool { return h1.Paused.Load() == 1<<3 && h3.Paused.Load() == 1<<3 }
	_ = p.Stop(syscall.SIGKILL, Timeout) // the error says that it was killed
	eventually(t, "both senders are held", held)
	left := pinned(t)
	assert.Equal(t, len(left), 3, "programs that a killed switch has left: %q", left)
	before := sent()
	time.Sleep(300 * time.Millisecond) // a pause lasts 336 ms: each sender may be at the end of one
	if n := sent() - before; n > 2*sendCall {
		t.Errorf("%d frames were sent to a switch that is dead, want at most a send call of each sender", n)
	}
	p = r.StartProcess(setup("100ms"))
	arrived := h2.Tally(1, 3).Frames
	eventually(t, "frames arrive again", func() bool { return h2.Tally(1, 3).Frames > arrived+100 })
	_ = p.Stop(syscall.SIGKILL, Timeout)
	before = sent()
	eventually(t, "the senders go on by themselves", func() bool { return sent() > before+1000 })
	p = r.StartProcess(setup("60s"))
	must(t, p.Stop(syscall.SIGTERM, Timeout))
	got := pinned(t)
	assert.True(t, len(got) == 0, "a switch that has ended left %q", got)
}

// sendCall is more frames than a station at 100 Mbit/s sends before it looks for XOFF.
const sendCall = 16
