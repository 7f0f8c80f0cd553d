package acceptance

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// While all members of a trunk have frames in their rings, none puts more than two frames in a row on the uplink,
// whatever the lengths of their frames, and however many workers there are.
func TestMembersTakeTurnsOnTheUplink(t *testing.T) {
	for _, cpus := range []string{"2", "16"} { // the switch leaves one of them to others
		for _, workers := range []string{"auto", "per-port"} {
			t.Run(cpus+" CPUs "+workers, func(t *testing.T) { membersTakeTurns(t, cpus, workers) })
		}
	}
}

func membersTakeTurns(t *testing.T, cpus, workers string) {
	const n, members = 200, 3 // frames of each member: several bursts
	r := NewRig(t, members+1)
	p := r.StartProcess(Setup{Keys: threeToOne("") + "buffer: {lossless: {size: 16MiB}}\nworkers: " + workers + "\n",
		Each: At100M},
		"GOMAXPROCS="+cpus)
	h4 := r.Station(members+1, macctl.ModePFC, 100e6)
	var hosts []*Station
	for m := 1; m <= members; m++ {
		hosts = append(hosts, r.Station(m, macctl.ModeOff, 1e9))
	}
	freeze(t, p) // while the rings fill up
	for m, h := range hosts {
		h.Send(Stream{To: members + 1, Prio: 3, Frames: n, Octets: []int{1518, 64, 400}[m]})
		h.Finish()
	}
	thaw(t, p)
	for _, h := range hosts {
		h4.Whole(h, 3)
	}
	var order []int
	for _, a := range h4.Arrivals(time.Time{}) {
		if a.prio == 3 && !a.pfc {
			order = append(order, a.host)
		}
	}
	for m := 1; m <= members; m++ { // from a member's last frame on, not all have frames
		left := n
		end := slices.IndexFunc(order, func(host int) bool {
			if host == m {
				left--
			}
			return left == 0
		})
		if end >= 0 {
			order = order[:end+1]
		}
	}
	run, longest := 0, 0
	for i, m := range order {
		if run++; i > 0 && order[i-1] != m {
			run = 1
		}
		longest = max(longest, run)
	}
	assert.True(t, longest <= 2 && len(order) >= n,
		"of %d frames, a member put up to %d in a row on the uplink: %v", len(order), longest, order)
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}
