package api

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Findings that differ only in where they are stand together, and what they have in common stands once.
func TestFindingsOfAKind(t *testing.T) {
	text := func(s string) *string { return &s }
	late := func(port, seen string) Finding {
		return Finding{Trap: "xoff-late", Severity: SeverityWarning, Port: text(port), Interface: text(port),
			Effect: "XOFF was late", Seen: seen}
	}
	hand := func(port, key string) Finding {
		return Finding{Trap: "headroom-by-hand", Severity: SeverityWarning, Port: text(port), Interface: text("eth0"),
			Netns: text("h"), Effect: "nobody measures", Seen: "the switch asks", Key: text(key),
			Command: text("apply")}
	}
	r := &Doctor{Looked: "switch s1", Ports: 2, FarEnds: 2, Machine: Machine{CPUs: 2}, Findings: []Finding{
		late("p1", "3 frames"), hand("p1", "a: 1"), late("p2", "5 frames"), hand("p2", "a: 2"),
		{Trap: "clock", Severity: SeverityNote, Effect: "slow", Seen: "hpet"},
	}}
	const want = `looked at switch s1: 2 ports, 2 far ends, 2 CPUs: 5 findings of 3 kinds

1. WARNING p1, p2: xoff-late
   XOFF was late
   seen, p1: 3 frames
   seen, p2: 5 frames

2. WARNING p1 (eth0) in h, p2 (eth0) in h: headroom-by-hand
   nobody measures
   seen: the switch asks
   write, p1 (eth0) in h: a: 1
   write, p2 (eth0) in h: a: 2
   mend: apply

3. NOTE machine: clock
   slow
   seen: hpet
`
	alone := &Doctor{Looked: "switch s1", Findings: r.Findings[4:]}
	assert.Contains(t, alone.Detail(), "0 CPUs: 1 finding\n\n1. NOTE", "one finding")
	got := r.Detail()
	assert.True(t, got == want, "got\n%s\nwant\n%s", got, want)
	const lines = `looked at switch s1: 2 ports, 2 far ends, 2 CPUs: 5 findings of 3 kinds

SEVERITY  FINDING           AT       WHAT IT IS, AND WHAT TO DO
WARNING   xoff-late         p1, p2   this machine ran the switch too late: give it a CPU of its own
WARNING   headroom-by-hand  p1, p2   the link cannot be measured: write its headroom, or headroom: calculated
NOTE      clock             machine  reading the clock is slow, so stamps are coarse: take another clock source

-v explains each one, with what was seen and the command that mends it
`
	got = r.Text()
	assert.True(t, got == lines, "got\n%s\nwant\n%s", got, lines)
	for i := range 20 {
		r.Findings = append(r.Findings, late(fmt.Sprintf("p%d", 3+i), "0 frames"))
	}
	assert.Contains(t, r.Text(), " p1, p2, p3, p4, p5, p6, 16 more  this machine", "many ports")
}
