package demo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func failed(r *Report) (names []string) {
	for _, c := range r.Checks {
		if !c.Pass {
			names = append(names, c.Name)
		}
	}
	return names
}

// linkRun is one whose headroom is not generous.
func linkRun(length string, wire int64) LinkResult {
	return LinkResult{Act: "1", Length: length, Speed: 1e9, Wire: wire, Measured: 20_000 + wire, Burst: 10_000, Configured: 20_000 + wire, Peak: 5000 + wire}
}

func TestJudgeLinks(t *testing.T) {
	tests := []struct {
		name  string
		links []LinkResult
		want  []string
	}{
		{"as it should be", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000)}, nil},
		{"a link of double length that is no longer", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 13_000)}, []string{"wire part of 20 km, of 10 km, at 1 Gbit/s"}},
		{"the median counts", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 13_000), linkRun("20 km", 26_000), linkRun("20 km", 26_000)}, nil},
		{"one that grows is no measure", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000), linkRun("10 km+", 900_000)}, nil},
		{"generous", []LinkResult{{Act: "1", Length: "0 m", Speed: 1e9, Measured: 40_000, Burst: 10_000, Peak: 5000}},
			[]string{"0 m at 1 Gbit/s: headroom without burst, of 2.5 × peak + 2 frames (median of 1)"}},
		{"a short link, on which nothing is on its way", []LinkResult{{Act: "1", Length: "0 m", Speed: 1e8, Wire: 90, Measured: 3000, Burst: 100}}, nil},
		{"one that nobody has used", []LinkResult{{Act: "1", Length: "10 km", Speed: 1e9, Wire: 13_000, Measured: 3000, Burst: 100}},
			[]string{"10 km at 1 Gbit/s: most bytes after XOFF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Links: tt.links}
			judgeLinks(r)
			if got := failed(r); !slices.Equal(got, tt.want) {
				t.Errorf("failed\n got %q\nwant %q", got, tt.want)
			}
			for _, c := range r.Checks {
				if c.Kind != KindRate && !strings.HasSuffix(c.Name, "most bytes after XOFF") {
					t.Errorf("%s: kind %s, but the machine decides it", c.Name, c.Kind)
				}
			}
		})
	}
}

// The control has a third of what runs on the same link used, and room for a frame in any case.
func TestThirdUsed(t *testing.T) {
	results := []LinkResult{{Length: "10 km", Speed: 1e9, Peak: 30_000}, {Length: "10 km", Speed: 1e8, Peak: 90_000}, {Length: "10 km+", Speed: 1e9, Peak: 90_000}}
	l := &linkAct{act: act{speed: 1e9}, length: "10 km", results: &results}
	if got := l.thirdUsed(); got != 10_000 {
		t.Errorf("got %d, want 10000", got)
	}
	l.length = "1 m"
	if got := l.thirdUsed(); got < largestFrame {
		t.Errorf("got %d, which holds no frame", got)
	}
}

// All acts are there: with --full every length at both speeds, five times; a link that grows; a control, last.
func TestLinkActs(t *testing.T) {
	var results []LinkResult
	short, full := linkActs(Options{Seconds: 1}, &results), linkActs(Options{Seconds: 1, Full: true}, &results)
	for _, all := range [][]*linkAct{short, full} {
		for _, l := range all {
			if l.delay >= longDelay && l.seconds < longRun {
				t.Errorf("%s: %v are too short for enough XOFFs", l.title, l.seconds)
			}
		}
		last := all[len(all)-1]
		if grows := all[len(all)-2]; !last.control || !grows.grow || grows.during == nil {
			t.Errorf("of %d acts the last are %q and %q", len(all), grows.title, last.title)
		}
		seen := map[string]bool{}
		for _, l := range all {
			if seen[l.name] || l.build == nil || l.verdict == nil || l.drain != l.speed/2 {
				t.Errorf("act %+v", l.act)
			}
			seen[l.name] = true
		}
	}
	count := map[string]int{}
	for _, l := range full {
		count[l.length+" "+rateName(l.speed)]++
	}
	for _, link := range []string{"0 m", "100 m", "10 km", "100 km"} {
		for _, speed := range []string{"100 Mbit/s", "1 Gbit/s"} {
			if n := count[link+" "+speed]; n < 5 {
				t.Errorf("%s at %s runs %d times", link, speed, n)
			}
		}
	}
}

func TestLinksText(t *testing.T) {
	r := &Report{Links: []LinkResult{linkRun("0 m", 0), {Act: "2", Length: "10 km", Speed: 1e8, Control: true, Peak: 90_000, Configured: 30_000, Lost: 7}}}
	r.check("2", KindControl, "frames lost", "more than 0", "7", true)
	r.judge()
	var out strings.Builder
	if err := r.LinksText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 km (control)", "100 Mbit/s", "##---", strings.Repeat("#", plotWidth) + "\n", "PASS (1 checks, 0 failed)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// What came after XOFF must fit what was found, not what was set beyond it; and the wire part grows as the link does.
func TestCheckLink(t *testing.T) {
	for _, tt := range []struct {
		name string
		peak int64
		wire int64 // in the end
		want []string
	}{
		{"as it should be", 30_000, 138_000, nil},
		{"more than was found", 30_001, 138_000, []string{"most bytes after XOFF"}},
		{"a measurement that does not follow", 30_000, 13_000, []string{"wire part grown, of the 125000 bytes by which the link has"}},
		{"one that goes too far", 30_000, 170_000, []string{"wire part grown, of the 125000 bytes by which the link has"}},
	} {
		r := &Report{}
		l := &linkAct{act: act{speed: 1e9}, grow: true, grown: time.Millisecond}
		k := &LinkResult{Wire: 13_000, Measured: 30_000, Configured: 40_000, Peak: tt.peak, Xoffs: enoughXoffs}
		l.checkLink(r, k, nil)
		r.Checks = slices.DeleteFunc(r.Checks, func(c Check) bool { return c.Name == "lossless frames sent" }) // none were
		l.checkGrown(r, k, tt.wire)
		if got := failed(r); !slices.Equal(got, tt.want) {
			t.Errorf("%s: failed %q, want %q", tt.name, got, tt.want)
		}
	}
}
