package judge

import "fmt"

// A linkResult is one run of demo headroom.
type linkResult struct {
	Act        string
	Length     string
	Speed      int64 `json:"speed_bits_per_second"`
	Control    bool
	Measured   int64 `json:"measured_bytes"`
	Configured int64 `json:"configured_bytes"`
	Peak       int64 `json:"peak_bytes"`
	Used       int64 `json:"tightest_used_bytes"` // after the XOFF that left least
	Room       int64 `json:"tightest_room_bytes"` // that had been found by then
	Exceeded   int64 `json:"exceeded_xoffs"`
	Wire       int64 `json:"wire_bytes"`
	TripNs     int64 `json:"trip_ns"` // the shortest
	LongestNs  int64 `json:"longest_trip_ns"`
	T          int64 `json:"t_ns"`         // of the formula
	Precision  int64 `json:"precision_ns"` // of a stamp
	RingFrames int64 `json:"ring_frames"`
	Xoffs      int64
	Blocked    int64 // times that the receiver blocked
	Lost       int64 `json:"lost_frames"`
}

// enoughXoffs is how many each run has to have, and how often its receiver has to block.
const enoughXoffs = 200

// wantedLinks are the links of demo headroom, and how many runs each has at least.
func wantedLinks(quick bool) map[linkResult]int {
	all := map[linkResult]int{{Length: "10 km+", Speed: 1e9}: 1, {Length: "10 km", Speed: 1e9, Control: true}: 1}
	if quick {
		all[linkResult{Length: "0 m", Speed: 1e9}], all[linkResult{Length: "10 km", Speed: 1e9}] = 1, 1
		all[linkResult{Length: "20 km", Speed: 1e9}], all[linkResult{Length: "100 km", Speed: 1e8}] = 1, 1
		return all
	}
	for _, speed := range []int64{1e8, 1e9} {
		for length, runs := range map[string]int{"0 m": 5, "100 m": 5, "10 km": 5, "100 km": 5, "20 km": 1, "200 km": 1} {
			all[linkResult{Length: length, Speed: speed}] = runs
		}
	}
	return all
}

// allLinks finds runs that are missing.
func allLinks(r report) (faults []string) {
	seen := map[linkResult]int{}
	for _, k := range r.Links {
		seen[linkResult{Length: k.Length, Speed: k.Speed, Control: k.Control}]++
	}
	for k, runs := range wantedLinks(r.Quick) {
		if n := seen[k]; n < runs {
			faults = append(faults, fmt.Sprintf("%d of %d runs of %s at %d Mbit/s (control: %v): the demo did not show all", n, runs, k.Length, k.Speed/1e6, k.Control))
		}
	}
	return faults
}

// headroomSuffices finds links that needed more than was found, were not put to the test, or, as a control, lost nothing
// with less than they need.
func headroomSuffices(r report) (faults []string) {
	for _, k := range r.Links {
		switch {
		case k.Control && k.Lost == 0:
			faults = append(faults, fmt.Sprintf("act %s: nothing was lost with too little headroom, so the load was too small to show anything", k.Act))
		case k.Control:
		case !losslessAct(r, k.Act):
			faults = append(faults, fmt.Sprintf("act %s: no lossless flow", k.Act))
		case k.Measured == 0 || k.Configured < k.Measured:
			faults = append(faults, fmt.Sprintf("act %s: %d bytes measured, %d in force", k.Act, k.Measured, k.Configured))
		case leftOpen(r, k.Act): // too few pauses, and late frames, of processes that stood still prove nothing
		case k.Blocked < enoughXoffs:
			faults = append(faults, fmt.Sprintf("act %s: the receiver blocked %d times", k.Act, k.Blocked))
		case k.Xoffs < enoughXoffs || k.Peak == 0:
			faults = append(faults, fmt.Sprintf("act %s: %d XOFFs, at most %d bytes after one: nothing was shown", k.Act, k.Xoffs, k.Peak))
		case k.Used == 0 || k.Used > k.Peak || k.Used > k.Room || k.Exceeded > 0 || k.RingFrames > 0:
			faults = append(faults, fmt.Sprintf("act %s: %d bytes came after an XOFF, %d had been found by then; %d XOFFs let more through; %d frames waited in the ring",
				k.Act, k.Used, k.Room, k.Exceeded, k.RingFrames))
		}
	}
	return faults
}

// trips finds measurements that have nothing to do with the link: trips that are shorter than it.
func trips(r report) (faults []string) {
	for _, k := range r.Links {
		if least := leastTrips[k.Length]; !k.Control && k.TripNs < least {
			faults = append(faults, fmt.Sprintf("act %s: a trip of %d ns there and back, on a link that takes %d", k.Act, k.TripNs, least))
		}
	}
	return faults
}

// leastTrips are what links of demo headroom take there and back, at 5 ns/m.
var leastTrips = map[string]int64{"0 m": 1, "100 m": 1000, "10 km": 100_000, "10 km+": 100_000, "20 km": 200_000, "100 km": 1_000_000, "200 km": 2_000_000}
