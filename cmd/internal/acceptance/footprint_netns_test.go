package acceptance

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// resident returns the memory that a process has in RAM, in octets.
func resident(t *testing.T, pid int) int {
	t.Helper()
	b := assert.Got(os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))).Must(t)
	pages, err := strconv.Atoi(strings.Fields(string(b))[1]) // size, resident, …
	must(t, err)
	return pages * os.Getpagesize()
}

// Under load, with queues that fill and drain, the process does not grow.
func TestMemoryDoesNotGrow(t *testing.T) {
	r := NewRig(t, 3)
	p := r.StartProcess(Setup{Keys: SmallBuffers, Each: At100M})
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	both := []Stream{{To: 2, Prio: 3}, {To: 2, Prio: 0}}
	stop1, stop3 := h1.Send(both...), h3.Send(both...)
	eventually(t, "every buffer has been full once", func() bool {
		return h1.Controls.Load() > 4 && h3.Controls.Load() > 4 && h2.Tally(1, 3).Frames > 2000
	})
	passed := func() (all uint64) {
		for _, from := range []int{1, 3} {
			for _, prio := range []uint8{3, 0} {
				all += h2.Tally(from, prio).Frames
			}
		}
		return all
	}
	before, frames := resident(t, p.Pid()), passed()
	eventually(t, "many more frames have passed", func() bool { return passed() > frames+16_000 })
	after, more := resident(t, p.Pid()), passed()-frames
	stop1()
	stop3()
	t.Logf("resident: %.1f MiB, and %.1f MiB after %d frames more", float64(before)/(1<<20), float64(after)/(1<<20),
		more)
	// What is kept of a frame, event or call shows where it is more than 256 octets a frame.
	assert.True(t, after <= before+(4<<20), "the process has grown by %d octets", after-before)
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}

// Idle ports wait for the kernel to wake them: eight take less than 1 % of a core. Time on a core is little affected by
// what else the machine does; of five windows the median counts, which is known when three are below.
func TestIdleCost(t *testing.T) {
	const window, windows, most = time.Second, 5, 0.01
	r := NewRig(t, 8)
	p := r.StartProcess(Setup{})
	time.Sleep(200 * time.Millisecond) // what starting leaves behind
	var shares []float64
	for below := 0; len(shares) < windows && below <= windows/2; {
		before, _ := p.Scheduled()
		time.Sleep(window)
		after, _ := p.Scheduled()
		share := (after - before).Seconds() / window.Seconds()
		if shares = append(shares, share); share < most {
			below++
		}
	}
	slices.Sort(shares)
	t.Logf("eight idle ports take %.2f %% of a core and %.1f MiB", 100*shares[len(shares)/2],
		float64(resident(t, p.Pid()))/(1<<20))
	assert.True(t, shares[len(shares)/2] < most,
		"they take %.4f of a core in %d windows, want less than %.2f in most", shares, windows, most)
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}
