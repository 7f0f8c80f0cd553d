package bench

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// counters are the kernel's of an interface: what was received, and the frames that were sent.
type counters struct{ frames, octets, sent uint64 }

// received reads the counters of an interface of the node.
func (n *node) received(name string) (counters, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", n.holder.pid()))
	if err != nil {
		return counters{}, err
	}
	return parseNetDev(string(b), name)
}

// parseNetDev reads a line of /proc/net/dev: octets, frames and six numbers more received, octets and frames sent.
func parseNetDev(text, name string) (c counters, err error) {
	for line := range strings.Lines(text) {
		of, values, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(of) != name {
			continue
		}
		var skipped [7]uint64
		s := &skipped
		if _, err := fmt.Sscan(values, &c.octets, &c.frames, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &c.sent); err != nil {
			return c, fmt.Errorf("/proc/net/dev: %q: %w", line, err)
		}
		return c, nil
	}
	return c, fmt.Errorf("/proc/net/dev has no %s", name)
}

// ticksPerSecond is USER_HZ, which /proc/stat counts in on every architecture of Linux.
const ticksPerSecond = 100

// cpuTimes are seconds of all CPUs together since the machine started.
type cpuTimes struct {
	busy   float64 // at work
	stolen float64 // ready to work while the machine's host ran something else: nobody's work here
}

// machineTimes reads /proc/stat.
func machineTimes() (cpuTimes, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}, err
	}
	return parseStat(string(b))
}

// machineBusy returns the seconds that all CPUs together were at work.
func machineBusy() (float64, error) {
	t, err := machineTimes()
	return t.busy, err
}

// parseStat adds up user, nice, system, irq and softirq of the line "cpu user nice system idle iowait irq softirq steal …"; steal stands
// apart.
func parseStat(text string) (t cpuTimes, err error) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Fields(line)
	const stealing = 8
	if len(f) <= stealing || f[0] != "cpu" {
		return t, fmt.Errorf("/proc/stat: %q: not the line of all CPUs", line)
	}
	for _, i := range [...]int{1, 2, 3, 6, 7, stealing} {
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return t, fmt.Errorf("/proc/stat: %q: %w", line, err)
		}
		if i == stealing {
			t.stolen = float64(n) / ticksPerSecond
		} else {
			t.busy += float64(n) / ticksPerSecond
		}
	}
	return t, nil
}

// stolenShare returns the share of all CPUs' time that was stolen between two moments.
func stolenShare(from, until cpuTimes, took time.Duration) float64 {
	return (until.stolen - from.stolen) / (took.Seconds() * float64(runtime.NumCPU()))
}

// memory is what processes have in RAM, octets. Of a page that several share, pss has a share.
type memory struct{ rss, pss float64 }

// resident adds up the memory of processes.
func resident(all []*process) (m memory, err error) {
	for _, p := range all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid()))
		if err != nil {
			return m, err
		}
		one, err := parseRollup(string(b))
		if err != nil {
			return m, fmt.Errorf("%s: %w", p.name, err)
		}
		m.rss += one.rss
		m.pss += one.pss
	}
	return m, nil
}

// parseRollup reads the lines "Rss: N kB" and "Pss: N kB" of /proc/PID/smaps_rollup.
func parseRollup(text string) (m memory, err error) {
	found := 0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "Rss:" && f[0] != "Pss:" {
			continue
		}
		kib, err := strconv.ParseUint(f[1], 10, 54)
		if err != nil {
			return m, fmt.Errorf("smaps_rollup: %q: %w", line, err)
		}
		if found++; f[0] == "Rss:" {
			m.rss = float64(kib) * 1024
		} else {
			m.pss = float64(kib) * 1024
		}
	}
	if found != 2 {
		return m, fmt.Errorf("smaps_rollup: no Rss and Pss in %q", text)
	}
	return m, nil
}
