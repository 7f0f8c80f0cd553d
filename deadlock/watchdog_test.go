package deadlock

import (
	"fmt"
	"testing"
)

// Ports that come and go under ever new names take no more memory than so many; those that went last go on counting.
func TestPortsOfManyNames(t *testing.T) {
	r := newRig()
	come := func(name string) *port {
		t.Helper()
		if err := r.w.Set(0, name, 1<<3, patent(), r.now); err != nil {
			t.Fatal(err)
		}
		return r.w.ports[0]
	}
	const names = maxRemoved + 10
	for n := range names {
		come(fmt.Sprint("p", n)).queues[3].counts.Detected = 1
		r.w.Remove(0, r.now)
		if len(r.w.removed) > maxRemoved || len(r.w.removedNames) != len(r.w.removed) {
			t.Fatalf("%d ports are remembered, %d in order", len(r.w.removed), len(r.w.removedNames))
		}
	}
	for name, want := range map[string]uint64{"p0": 0, fmt.Sprint("p", names-1): 1} { // forgotten, and not
		if got := come(name).queues[3].counts.Detected; got != want {
			t.Errorf("%s came back with %d storms, want %d", name, got, want)
		}
		r.w.Remove(0, r.now)
	}
}
