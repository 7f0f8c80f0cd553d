package api

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Threads is the answer to show threads: whether those that move the frames look at their ports. It is made without a
// snapshot, for which a thread that hangs would have to give its locks back.
type Threads struct {
	Schema  int      `json:"schema"`
	Switch  string   `json:"switch"`
	Threads []Thread `json:"threads"`
}

// Thread is a thread that receives at ports, and sends at ports.
type Thread struct {
	Thread       int      `json:"thread"`   // the kernel's number; 0 where that is not known
	State        string   `json:"state"`    // looks, or why it does not
	Receives     []string `json:"receives"` // ports
	Sends        []string `json:"sends"`    // ports
	BehindNs     int64    `json:"behind_ns"`
	LongestGapNs int64    `json:"longest_gap_ns"`
}

// States of a Thread. One that does not look has not done so for a second, though it was woken.
const (
	ThreadLooks   = "looks"   // at its ports
	ThreadWaits   = "waits"   // for another thread of the switch
	ThreadRuns    = "runs"    // and does not come back to its ports
	ThreadNoCPU   = "no-cpu"  // it is ready, and others run
	ThreadStopped = "stopped" // it waits in the kernel, or was stopped
)

// Hangs tells whether the thread has not looked at its ports.
func (t *Thread) Hangs() bool { return t.State != ThreadLooks }

func (m *moment) readThreads() *Threads {
	return &Threads{Schema: Schema, Switch: m.source.Name(), Threads: m.source.Threads()}
}

// Text implements Reply.
func (r *Threads) Text() string {
	return tableOf(r.Threads, func(t *table, v *Thread) {
		t.row(strconv.Itoa(v.Thread), v.State, someOf(v.Receives), someOf(v.Sends), ns(v.BehindNs), ns(v.LongestGapNs))
	}, ">THREAD", "STATE", "RECEIVES", "SENDS", ">BEHIND", ">LONGEST GAP").String()
}

// someOf lists names as far as a line has room for them.
func someOf(names []string) string {
	if more := len(names) - mostPlaces; more > 1 {
		names = append(names[:mostPlaces:mostPlaces], fmt.Sprintf("%d more", more))
	}
	return cmp.Or(strings.Join(names, ", "), none)
}
