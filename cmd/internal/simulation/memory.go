package simulation

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sim"
)

// What switches and flows take is known before anything runs. Memory for frames is taken as they come to wait, and most
// fabrics never fill their buffers: whether they need more than there is shows in the run.
const (
	memoryStep    = 64 << 20  // octets that frames take between two looks at what is left,
	memoryReserve = 256 << 20 // which has to be so much for the run to go on

	// fewPorts of switches take no memory that matters, and are not measured.
	fewPorts = 1 << 10
)

// memoryLeft is how many octets of memory programs may still take.
func (o *Options) memoryLeft() int64 {
	if o.left != nil {
		return o.left()
	}
	return memoryLeft(os.DirFS("/"))
}

// checkMemory ends a run whose frames take more memory than there is.
func (f *fabric) checkMemory(o Options) error {
	touched := int64(0)
	for _, s := range f.switches {
		touched += s.sw.MemoryTouched()
	}
	if touched < f.touched+memoryStep {
		return nil
	}
	f.touched = touched
	if n := o.memoryLeft(); n < memoryReserve {
		return f.topology.Errorf("switches", "after %v of the traffic the frames in their buffers take %d MiB, and "+
			"%d MiB of memory are left: write smaller ones (buffer: {lossless: …, lossy: …}), or a shorter duration",
			time.Duration(f.Now()-f.Begun()), touched>>20, n>>20)
	}
	return nil
}

// heap returns how many octets of the heap are in use, in a fabric with so many ports that this matters.
func (f *fabric) heap() int64 {
	if f.ports() < fewPorts {
		return 0
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (f *fabric) ports() (n int) {
	for _, s := range f.switches {
		n += len(s.config.Ports)
	}
	return n
}

// checkSwitches refuses a fabric whose switches take more memory than there is, when the first takes so many octets.
func (f *fabric) checkSwitches(first int64, o Options) error {
	if first <= 0 {
		return nil
	}
	ports := f.ports()
	need := first / int64(max(1, len(f.switches[0].config.Ports))) * int64(ports)
	if left := o.memoryLeft() + first; need > left {
		return f.topology.Errorf("switches", "their %d ports take %d MiB of memory, and %d MiB are left: write fewer "+
			"switches, hosts or ports", ports, need>>20, left>>20)
	}
	return nil
}

// checkFlows refuses flows that take more memory than there is: the pairs of all entries, and of those with poisson
// the fewest that random numbers give. Those of real links do not run here.
func (f *fabric) checkFlows(o Options) error {
	if f.real {
		return nil
	}
	need, largest, most := int64(0), &f.topology.Traffic[0], int64(0)
	for i := range f.topology.Traffic {
		t := &f.topology.Traffic[i]
		flows := int64(len(t.Pairs()))
		if t.Poisson != "" {
			if flows = f.fewest(t); flows > mostFlows {
				return f.tooManyFlows(t)
			}
		}
		octets := flows * (sim.FlowMemory(t.Poisson != "" || t.Size > 0, t.DCQCN) + int64(unsafe.Sizeof(labFlow{})))
		if need += octets; octets > most {
			largest, most = t, octets
		}
	}
	if left := o.memoryLeft(); need > left {
		return f.topology.Errorf("traffic."+largest.Name, "the flows of all traffic take %d MiB of memory, %d of them "+
			"these, and %d MiB are left: write fewer hosts, a smaller load or a shorter duration", need>>20, most>>20,
			left>>20)
	}
	return nil
}

// fewest is how many flows an entry with poisson has at least: six standard deviations below the mean.
func (f *fabric) fewest(t *config.LabTraffic) (flows int64) {
	mean, d := 0.0, distributionOf(t.Poisson)
	for _, from := range t.From {
		if others := len(t.To); slices.Contains(t.To, from) {
			mean -= float64(t.Duration) / f.gap(t, d, from) / float64(others)
		}
		mean += float64(t.Duration) / f.gap(t, d, from)
	}
	return int64(max(0, mean-6*math.Sqrt(mean)))
}

// warnOfMemory says what frames could take, where that is more than there is: all that the buffers hold, or all that
// the hosts can send.
func (f *fabric) warnOfMemory(length time.Duration, o Options) {
	if o.Warn == nil {
		return
	}
	var buffers, speeds int64
	for _, s := range f.switches {
		buffers += s.sw.MemoryMost()
	}
	shortest := slices.MinFunc(f.topology.Traffic, func(a, b config.LabTraffic) int {
		return cmp.Compare(a.Octets, b.Octets)
	}).Octets
	for _, speed := range f.speeds {
		speeds += speed
	}
	frames := float64(speeds) / 8 * length.Seconds() / float64(frame.WireOctets(shortest))
	sent := frames * float64(f.switches[0].sw.MemoryOf(shortest))
	if most, left := min(float64(buffers), sent), o.memoryLeft(); most > float64(left-memoryReserve) {
		o.Warn(fmt.Sprintf("frames that wait may take up to %.0f MiB of memory, and %d MiB are left: the run ends "+
			"early if they come to fill it", most/(1<<20), left>>20))
	}
}

// memoryLeft is how many octets of memory programs may still take of the machine and of the control groups of this
// process, whose caches of files can be given back; no limit where the system does not say.
func memoryLeft(root fs.FS) int64 {
	left := int64(math.MaxInt64)
	if kilobytes, ok := field(root, "proc/meminfo", "MemAvailable:"); ok {
		left = kilobytes << 10
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		of := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(of) < 3:
		case of[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				left = min(left, groupLeft(root, mount, of[2], "memory.max", "memory.current", "inactive_file"))
			}
		case slices.Contains(strings.Split(of[1], ","), "memory"):
			left = min(left, groupLeft(root, "sys/fs/cgroup/memory", of[2], "memory.limit_in_bytes",
				"memory.usage_in_bytes", "total_inactive_file"))
		}
	}
	return left
}

// groupLeft is memoryLeft of a control group and those that it is in.
func groupLeft(root fs.FS, mount, group, limit, used, cache string) int64 {
	left := int64(math.MaxInt64)
	for at := path.Join("/", group); ; at = path.Dir(at) {
		directory := path.Join(mount, at)
		most, limited := field(root, path.Join(directory, limit), "")
		if taken, ok := field(root, path.Join(directory, used), ""); ok && limited {
			files, _ := field(root, path.Join(directory, "memory.stat"), cache+" ")
			left = min(left, max(0, most-taken+files))
		}
		if at == "/" {
			return left
		}
	}
}

// field returns the number that follows a name in a file.
func field(root fs.FS, file, name string) (n int64, ok bool) {
	b, err := fs.ReadFile(root, file)
	_, rest, found := strings.Cut("\n"+string(b), "\n"+name)
	if err != nil || !found {
		return 0, false
	}
	_, err = fmt.Sscan(rest, &n)
	return n, err == nil
}
