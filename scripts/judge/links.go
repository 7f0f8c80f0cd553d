package main

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
		case r.Machine != "": // too few pauses, and late frames, of processes that stood still prove nothing
		case k.Blocked < enoughXoffs:
			faults = append(faults, fmt.Sprintf("act %s: the receiver blocked %d times", k.Act, k.Blocked))
		case k.Xoffs < enoughXoffs || k.Peak == 0:
			faults = append(faults, fmt.Sprintf("act %s: %d XOFFs, at most %d bytes after one: nothing was shown", k.Act, k.Xoffs, k.Peak))
		case k.Peak > k.Measured || k.RingFrames > 0:
			faults = append(faults, fmt.Sprintf("act %s: %d bytes came after an XOFF, %d had been found; %d frames waited in the ring",
				k.Act, k.Peak, k.Measured, k.RingFrames))
		}
	}
	return faults
}
