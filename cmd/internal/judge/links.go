package judge

import "pfcswitch/cmd/internal/demo"

// enoughXoffs is how many each run has to have, and how often its receiver has to block.
const enoughXoffs = 200

// A link of demo headroom.
type link struct {
	length  string
	speed   int64 // bit/s
	control bool  // with too little headroom
}

// wantedLinks are the links of demo headroom, and how many runs each has at least.
func wantedLinks(quick bool) map[link]int {
	all := map[link]int{{"10 km+", 1e9, false}: 1, {"10 km", 1e9, true}: 1}
	if quick {
		all[link{"0 m", 1e9, false}], all[link{"10 km", 1e9, false}] = 1, 1
		all[link{"20 km", 1e9, false}], all[link{"100 km", 1e8, false}] = 1, 1
		return all
	}
	for _, speed := range []int64{1e8, 1e9} {
		for _, length := range []string{"0 m", "100 m", "10 km", "100 km"} {
			all[link{length, speed, false}] = 5
		}
		all[link{"20 km", speed, false}], all[link{"200 km", speed, false}] = 1, 1
	}
	return all
}

// allLinks finds runs that are missing.
func allLinks(r *demo.Report) (faults faultList) {
	seen := map[link]int{}
	for _, k := range r.Links {
		seen[link{k.Length, k.Speed, k.Control}]++
	}
	for k, runs := range wantedLinks(r.Quick) {
		if n := seen[k]; n < runs {
			faults.add("%d of %d runs of %s at %d Mbit/s (control: %v): the demo did not show all",
				n, runs, k.length, k.speed/1e6, k.control)
		}
	}
	return faults
}

// headroomSuffices finds links that needed more than was found, were not put to the test, or, as a control, lost
// nothing with less than they need.
func headroomSuffices(r *demo.Report) (faults faultList) {
	for _, k := range r.Links {
		switch {
		case k.Control && k.Lost == 0:
			faults.add("phase %s: nothing was lost with too little headroom, so the load was too small to show "+
				"anything", k.Phase)
		case k.Control:
		case !losslessPhase(r, k.Phase):
			faults.add("phase %s: no lossless flow", k.Phase)
		case k.Measured == 0 || k.Holds < k.Measured:
			faults.add("phase %s: %d bytes measured, and the headroom in force holds %d", k.Phase, k.Measured, k.Holds)
		case leftOpen(r, k.Phase): // processes that stood still make too few pauses, and late frames
		case k.Blocked < enoughXoffs:
			faults.add("phase %s: the receiver blocked %d times", k.Phase, k.Blocked)
		case k.Xoffs < enoughXoffs || k.Peak == 0:
			faults.add("phase %s: %d XOFFs, at most %d bytes after one: nothing was shown", k.Phase, k.Xoffs, k.Peak)
		case k.Used == 0 || k.Used > k.Peak || k.Used > k.Room || k.Exceeded > 0 || k.RingFrames > 0:
			faults.add("phase %s: %d bytes came after an XOFF, %d had been found by then; %d XOFFs let more "+
				"through; %d frames waited in the ring", k.Phase, k.Used, k.Room, k.Exceeded, k.RingFrames)
		}
	}
	return faults
}

// trips finds measurements that have nothing to do with the link: trips that are shorter than it.
func trips(r *demo.Report) (faults faultList) {
	for _, k := range r.Links {
		if least := leastTrips[k.Length]; !k.Control && k.RoundTripNs < least {
			faults.add("phase %s: a trip of %d ns there and back, on a link that takes %d", k.Phase, k.RoundTripNs,
				least)
		}
	}
	return faults
}

// leastTrips are what links of demo headroom take there and back, at 5 ns/m.
var leastTrips = map[string]int64{
	"0 m": 1, "100 m": 1000, "10 km": 100_000, "10 km+": 100_000, "20 km": 200_000,
	"100 km": 1_000_000, "200 km": 2_000_000,
}
