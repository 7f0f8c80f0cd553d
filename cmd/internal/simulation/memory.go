package simulation

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

// Memory for frames is taken as they come to wait, and most fabrics never fill their buffers: whether a run needs more
// than there is shows in the run.
const (
	memoryStep    = 64 << 20  // octets that frames take between two looks at what the machine has left,
	memoryReserve = 256 << 20 // which has to be so much for the run to go on
)

// checkMemory ends a run whose frames take more memory than the machine has.
func (f *fabric) checkMemory(o Options) error {
	touched := int64(0)
	for _, s := range f.switches {
		touched += s.sw.MemoryTouched()
	}
	if touched < f.touched+memoryStep {
		return nil
	}
	f.touched = touched
	left := memoryLeft
	if o.left != nil {
		left = o.left
	}
	if n := left(); n < memoryReserve {
		return f.topology.Errorf("switches", "after %v of the traffic the frames in their buffers take %d MiB, and "+
			"this machine has %d MiB left: write smaller ones (buffer: {lossless: …, lossy: …}), or a shorter duration",
			time.Duration(f.Now()-f.Begun()), touched>>20, n>>20)
	}
	return nil
}

// memoryLeft is how many octets of memory programs may still take; no limit where the system does not say.
func memoryLeft() int64 {
	b, _ := os.ReadFile("/proc/meminfo")
	_, rest, _ := strings.Cut(string(b), "MemAvailable:")
	kilobytes := int64(math.MaxInt64 >> 10)
	_, _ = fmt.Sscan(rest, &kilobytes)
	return kilobytes << 10
}
