package demo

import (
	"strings"
	"testing"
)

// Where the machine was the limit in one act, the report says how busy it was in each of them.
func TestWaitsOfEveryAct(t *testing.T) {
	r := &Report{Acts: []ActResult{{Act: "1", Waiting: 0.31}, {Act: "2b", Waiting: 0.07, Behind: 0.12, LongestStall: 74_200_000}}}
	var idle, busy strings.Builder
	if err := r.verdict(&idle); err != nil || strings.Contains(idle.String(), "waited") {
		t.Errorf("%v, %q", err, idle.String())
	}
	r.Machine = "act 1: busy"
	if err := r.verdict(&busy); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"act 1: a process waited for a CPU for 31 % of the run, senders stayed 0 % behind and stood still for up to 0.0 ms\n",
		"act 2b: a process waited for a CPU for 7 % of the run, senders stayed 12 % behind and stood still for up to 74.2 ms\n"} {
		if !strings.Contains(busy.String(), want) {
			t.Errorf("%q, want %q in it", busy.String(), want)
		}
	}
}
