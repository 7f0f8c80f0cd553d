package judge

import "pfcswitch/cmd/internal/demo"

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
