package port_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// Long lists of sockets are read whole, again and again, and hardly anything is allocated: an idle switch does not grow
// until the next garbage collection.
func TestTapsAreReadIntoTheMemoryOfBefore(t *testing.T) {
	list, want := "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n", []uint64(nil)
	for i := range 1000 {
		proto := []string{"0003", "88cc"}[i%2]
		list += fmt.Sprintf("00000000a1b2c3d4 3      3    %s   %d     1 0      0      %d\n", proto, i, 26677792+i)
		if i%2 == 0 {
			want = append(want, uint64(26677792+i))
		}
	}
	var l port.PacketSockets
	got := port.ReadTaps(&l, strings.NewReader(list))
	assert.True(t, slices.Equal(got, want), "%d taps, want %d: %v", len(got), len(want), got[:min(3, len(got))])
	r := strings.NewReader(list)
	most := 20.0 // of the list that the test makes
	n := testing.AllocsPerRun(5, func() { port.ReadTaps(&l, r) })
	assert.True(t, n <= most, "%v allocations for 1000 sockets, want %v at most", n, most)
}
