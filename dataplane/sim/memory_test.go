package sim

import (
	"pfcswitch/dataplane/assert"
	"runtime"
	"testing"
)

// A port without traffic takes at most 20 kB, so that a thousand switches fit a machine.
func TestMemoryOfIdlePort(t *testing.T) {
	const switches, ports, most = 64, 32, 20_000
	r := newRig(t, gigabit, 500)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range switches {
		r.addSwitch(ports, 1024, mtu, nil)
	}
	taken := (heap() - before) / (switches * ports)
	t.Logf("%d octets", taken)
	assert.True(t, taken <= most, "a port takes %d octets of the heap, want %d at most", taken, most)
	runtime.KeepAlive(r)
}
