package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/sidebyside"
	"pfcswitch/dataplane/assert"
)

// twoSwitches is an incast of priority 4 behind the link of two switches. The first has priorities 3 and 4 lossless.
// two is the configuration of the second, beside preset roce, which has 3 alone.
func twoSwitches(two string) string {
	return fmt.Sprintf(`name: two
switches:
  s1: {preset: roce, priorities: {lossless: [3, 4]}, queues: {4: {weight: 30}}, buffer: {lossless: {size: 1MiB}}}
  s2: {preset: roce, %s}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 200M}
  l2: {ends: [h2, "s1:p2"], speed: 200M}
  l3: {ends: [h3, "s1:p3"], speed: 200M}
  up: {ends: ["s1:up", "s2:down"], speed: 500M, cable: 100m}
  l4: {ends: [h4, "s2:p4"], speed: 200M}
traffic: {f: {from: [h1, h2, h3], to: h4, priority: 4, duration: 100ms}}
`, two)
}

const smallPools = "buffer: {lossless: {size: 512KiB}, lossy: {size: 128KiB}}"

var spoken = Options{Seed: 1, Response: -1, LLDP: true}

// row returns what a port has found out.
func (r *Report) row(t *testing.T, name string) *LLDP {
	t.Helper()
	for i := range r.LLDP {
		if v := &r.LLDP[i]; v.Switch+":"+v.Port == name {
			return v
		}
	}
	t.Fatalf("no row of %s: %+v", name, r.LLDP)
	return nil
}

// words writes a row as the text does, without spaces.
func (r *Report) words(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	assert.Must(t, r.lldpText(&b))
	for line := range strings.Lines(b.String()) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == name {
			return strings.Join(fields[1:], " ")
		}
	}
	t.Fatalf("no line of %s:\n%s", name, b.String())
	return ""
}

// A willing switch takes over the priorities and the shares of its neighbour: an incast of a priority that its
// configuration has not lossless loses nothing, and loses frames without LLDP.
func TestWillingSwitchFollows(t *testing.T) {
	file := twoSwitches("lldp: {willing: true}, " + smallPools)
	alone := assert.Got(simulate(t, file, standard)).Must(t)
	for _, f := range alone.Flows {
		assert.True(t, !f.Lossless && f.Lost > 0, "without LLDP: %+v", f)
	}
	r := assert.Got(simulate(t, file, spoken)).Must(t)
	assert.True(t, r.Pass, "%+v", r.Checks)
	for _, f := range r.Flows {
		assert.True(t, f.Lossless && f.Lost == 0 && f.Received > 0, "%+v", f)
	}
	for _, h := range r.Hosts[:3] {
		assert.True(t, h.PausedNs[4] > 0, "%s was never held: %+v", h.Name, h)
	}
	for _, p := range r.Ports {
		if p.Switch == "s2" && p.Port == "down" && p.Priority == 4 {
			assert.True(t, p.FramesSent > 0, "s2 held s1 never: %+v", p)
		}
	}
	for name, want := range map[string]string{
		"s1:up": "ieee 3,4 own no s2 down 3,4 yes", "s2:down": "ieee 3,4 peer no s1 up 3,4 no",
		"s1:p1": "ieee 3,4 no-peer no - - - -", "s2:p4": "ieee 3 no-peer no - - - -",
	} {
		assert.Equal(t, r.words(t, name), want, "%s", name)
	}
	assert.True(t, r.row(t, "s2:down").DCBX.ETSAdopted, "the shares are not those of the neighbour")
}

// The shares of a neighbour are in force at the port that adopted them, and nowhere else.
func TestSharesOfNeighbour(t *testing.T) {
	lab, err := config.ParseTopology("lab.yaml", []byte(twoSwitches("lldp: {willing: true}, "+smallPools)), nil)
	assert.Must(t, err)
	f := assert.Got(build(lab, spoken)).Must(t)
	defer func() { assert.Must(t, f.close()) }()
	s := f.switches[1]
	weights := func(name string) [8]int {
		queues := s.config.QueuesOf(&s.config.Ports[s.numbers[name]])
		var all [8]int
		for q := range queues {
			all[q] = queues[q].Weight
		}
		return all
	}
	down, p4 := weights("down"), weights("p4")
	assert.True(t, down[4] > 5*down[1] && p4[4] == p4[1], "weights %v of the port that follows, %v of the other", down,
		p4)
}

// Ends that differ, and neither follows, keep what both have, and the report names that.
func TestMismatchIsNamed(t *testing.T) {
	r := assert.Got(simulate(t, twoSwitches(smallPools), spoken)).Must(t)
	assert.Equal(t, r.words(t, "s1:up"), "ieee 3 mismatch yes s2 down 3 no", "s1:up")
	assert.Equal(t, r.words(t, "s2:down"), "ieee 3 mismatch yes s1 up 3,4 no", "s2:down")
}

// What does not fit the buffer is not followed: the report says why, and the neighbour finds that the ends differ.
func TestWhatDoesNotFitIsNotFollowed(t *testing.T) {
	r, err := simulate(t, twoSwitches("lldp: {willing: true}, buffer: {lossless: {size: 160KiB}, headroom: 60KiB}"),
		spoken)
	assert.Must(t, err)
	why := r.row(t, "s2:down").NotFollowed
	assert.True(t, strings.Contains(why, "does not fit") && strings.Contains(why, "buffer.lossless.size"), "%q", why)
	assert.Equal(t, r.words(t, "s1:up"), "ieee 3 mismatch yes s2 down 3 no", "s1:up")
	assert.Equal(t, r.words(t, "s2:down"), "ieee 3 mismatch yes s1 up 3,4 no", "s2:down")
	var text bytes.Buffer
	assert.Must(t, r.Text(&text))
	assert.True(t, strings.Contains(text.String(), "s2:down: "+why), "%s", text.String())
}

// The older versions, and an end without DCBX or LLDP.
func TestVersionsOfLLDP(t *testing.T) {
	for two, want := range map[string]string{
		"lldp: {willing: true, dcbx: cee}":       "cee 3,4 peer no s1 up 3,4 no",
		"lldp: {willing: true, dcbx: cin}":       "cin 3,4 peer no s1 up 3,4 no",
		"lldp: {willing: true, dcbx: off}":       "off 3 off no s1 up 3,4 no",
		"lldp: {willing: true, interval: 3600s}": "ieee 3,4 peer no s1 up 3,4 no",
	} {
		r := assert.Got(simulate(t, twoSwitches(two), spoken)).Must(t)
		assert.Equal(t, r.words(t, "s2:down"), want, "%s", two)
	}
	r := assert.Got(simulate(t, twoSwitches("lldp: {agent: off}"), spoken)).Must(t)
	assert.Equal(t, r.words(t, "s1:up"), "ieee 3,4 no-peer no - - - -", "the neighbour speaks no LLDP")
	assert.True(t, len(r.LLDP) == 4, "rows of ports that speak none: %+v", r.LLDP)
}

// An end that finds out step by step what the other has is waited for, however long its hold-down.
func TestLongHoldDown(t *testing.T) {
	text := strings.Replace(twoSwitches("lldp: {willing: true, change_hold: 300s}"), "s1: {preset: roce",
		"s1: {preset: roce, lldp: {dcbx: cee}", 1)
	r := assert.Got(simulate(t, text, spoken)).Must(t)
	assert.Equal(t, r.words(t, "s2:down"), "cee 3,4 peer no s1 up 3,4 no", "s2:down")
}

// Where both ends are willing, the switch that stands later in the file has the higher address.
func TestBothSwitchesAreWilling(t *testing.T) {
	for tie, want := range map[string][2]string{
		"higher": {"ieee 3 tie-peer no s2 down 3 yes", "ieee 3 tie-own no s1 up 3 yes"},
		"lower":  {"ieee 3,4 tie-own no s2 down 3,4 yes", "ieee 3,4 tie-peer no s1 up 3,4 yes"},
	} {
		willing := "lldp: {willing: true, tie_break: " + tie + "}"
		text := strings.Replace(twoSwitches(willing), "s1: {preset: roce", "s1: {preset: roce, "+willing, 1)
		r := assert.Got(simulate(t, text, spoken)).Must(t)
		assert.Equal(t, r.words(t, "s1:up"), want[0], "s1:up, %s", tie)
		assert.Equal(t, r.words(t, "s2:down"), want[1], "s2:down, %s", tie)
	}
}

// The report is the same with any number of CPUs. Where all agree, it is that of a run without LLDP, but for what was
// found out; and that has no word of it.
func TestReportWithLLDPIsDeterministic(t *testing.T) {
	document := func(r *Report) string {
		var b bytes.Buffer
		assert.Must(t, errors.Join(r.Text(&b), api.WriteJSON(&b, r)))
		return b.String()
	}
	on := func(cpus int, lldp bool) *Report {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))
		return example(t, "leaf-spine.yaml", Options{Seed: 1, Response: -1, LLDP: lldp, Workers: cpus,
			Together: sidebyside.On(cpus)})
	}
	one, four, without := on(1, true), on(4, true), document(on(4, false))
	first, again := document(one), document(four)
	assert.True(t, first == again, "%s\nand then\n%s", first, again)
	assert.True(t, strings.Contains(first, "LLDP and DCBX") && strings.Contains(first, `"lldp"`), "%s", first)
	assert.True(t, !strings.Contains(strings.ToLower(without), "lldp"), "%s", without)
	one.LLDP = nil
	assert.Equal(t, document(one), without, "but for what was found out")
}

// Of too many ports, those that differ from their configuration are shown first.
func TestManyPortsOfLLDP(t *testing.T) {
	r := onFabric(t, "fat-tree: {k: 4}\n  spread: flow", "10G", "f: {permutation: on, rate: 300M, duration: 100us}",
		spoken)
	assert.True(t, len(r.LLDP) == 80, "%d rows", len(r.LLDP))
	r.LLDP[79].DCBX.Mismatch = true
	var b bytes.Buffer
	assert.Must(t, r.lldpText(&b))
	lines := strings.Split(b.String(), "\n")
	last := r.LLDP[79].Switch + ":" + r.LLDP[79].Port + " "
	assert.True(t, strings.HasPrefix(lines[2], last) && strings.Contains(b.String(), "40 more: -j has them"), "%s",
		b.String())
}
