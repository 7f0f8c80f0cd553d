package bench

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
)

// A machine is what the figures were measured on.
type machine struct {
	What     string            `json:"what"`
	CPU      string            `json:"cpu"`
	CPUs     int               `json:"cpus"`
	Kernel   string            `json:"kernel"`
	Governor string            `json:"governor"`
	MemoryKB string            `json:"memory"`
	Load     string            `json:"load"`
	Busy     float64           `json:"busy_cpu_share"`   // of all CPUs, by others, before the run
	Stolen   float64           `json:"stolen_cpu_share"` // of all CPUs, by the machine's host, during the run
	Rounds   int               `json:"rounds"`
	Seconds  float64           `json:"seconds"`
	Time     time.Time         `json:"time"`
	Versions map[string]string `json:"versions"`
}

func (b *bench) describe() machine {
	m := machine{
		What: "machine", CPU: field("/proc/cpuinfo", "model name"), CPUs: runtime.NumCPU(),
		Kernel:   line("/proc/sys/kernel/osrelease"),
		Governor: cmp.Or(line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "none shown"),
		MemoryKB: field("/proc/meminfo", "MemTotal"), Load: line("/proc/loadavg"),
		Rounds: b.opt.rounds, Seconds: b.opt.seconds.Seconds(), Time: time.Now().UTC(),
		Versions: map[string]string{"go": runtime.Version()},
	}
	before, _ := (*network)(nil).usageOf(func() error { return b.sleep(3 * b.opt.settle) })
	m.Busy = before.share
	for name, argv := range map[string][]string{
		dutPFC: {b.program, "version"}, "iproute2": {"ip", "-V"}, dutOVS: {b.peers.ovs, "--version"},
		"iperf3": {b.peers.iperf3, "--version"},
	} {
		m.Versions[name] = "missing"
		if text, err := b.local(patience, nil, argv...); err == nil {
			m.Versions[name], _, _ = strings.Cut(string(text), "\n")
		}
	}
	return m
}

// text describes the machine for people.
func (m *machine) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "machine: %d × %s, kernel %s, governor %s, memory %s, load %s; others take %.1f %% of the CPUs\n",
		m.CPUs, m.CPU, m.Kernel, m.Governor, m.MemoryKB, m.Load, 100*m.Busy)
	for _, name := range []string{dutPFC, "go", "iproute2", dutOVS, "iperf3"} {
		fmt.Fprintf(&s, "  %s: %s\n", name, m.Versions[name])
	}
	fmt.Fprintf(&s, "%d rounds, %g s each", m.Rounds, m.Seconds)
	return s.String()
}

// line returns a file of one line, "" where there is none.
func line(file string) string {
	b, _ := os.ReadFile(file)
	return strings.TrimSpace(string(b))
}

// field returns the value of the first line "key : value" of a file, "" where there is none.
func field(file, key string) string {
	b, _ := os.ReadFile(file)
	m := regexp.MustCompile(`(?m)^` + key + `\s*:(.*)`).FindSubmatch(b)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(string(m[1]))
}

// A cpuUsage is what a switch's programs and all CPUs did in some time.
type cpuUsage struct {
	took    time.Duration
	process time.Duration // CPU time of the switch's programs, those of their threads that are gone included
	busy    time.Duration // of all CPUs, for whomever
	share   float64       // busy, of what all CPUs could
}

// usageOf returns the CPU time that was used while run ran. A nil network has no programs.
func (n *network) usageOf(run func() error) (u cpuUsage, err error) {
	before, err := n.cpuTime()
	if err != nil {
		return u, err
	}
	machine, err := lab.ReadCPUTimes()
	if err != nil {
		return u, err
	}
	start := time.Now()
	if err := run(); err != nil {
		return u, err
	}
	after, err := n.cpuTime()
	if err != nil {
		return u, err
	}
	u.process, u.took = after-before, time.Since(start)
	now, err := lab.ReadCPUTimes()
	u.busy, u.share = now.Busy-machine.Busy, now.Since(machine).Busy
	return u, err
}

// cpuTime adds up the CPU time of the switch's programs.
func (n *network) cpuTime() (sum time.Duration, err error) {
	if n == nil {
		return 0, nil
	}
	for _, d := range n.daemons {
		t, err := cpuTime(d.Pid())
		if err != nil {
			return 0, fmt.Errorf("CPU time of %s: %w", d.Name(), err)
		}
		sum += t
	}
	return sum, nil
}

// cpuTime reads the CPU clock of a process, in ns: /proc/PID/stat counts in hundredths of a second, and schedstat lags
// by a tick.
func cpuTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED, as clock_getcpuclockid(3) makes the number of a clock
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// shares are parts of what was possible: of a core, by the switch, and of all CPUs.
func (u cpuUsage) shares() []value {
	return []value{{coreShare, 100 * u.process.Seconds() / u.took.Seconds()}, u.machineShare()}
}

// machineShare is what all CPUs did, for whomever, of what they could.
func (u cpuUsage) machineShare() value { return value{allCores, 100 * u.share} }

// resident adds up what processes have in RAM, octets. Of a page that several share, pss has a share.
func resident(all []*program) (rss, pss float64, err error) {
	for _, p := range all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.Pid()))
		if err != nil {
			return 0, 0, err
		}
		r, s, err := parseRollup(b)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", p.Name(), err)
		}
		rss, pss = rss+r, pss+s
	}
	return rss, pss, nil
}

// rollup matches what resident reads of /proc/PID/smaps_rollup.
var rollup = regexp.MustCompile(`\nRss: +([0-9]+) kB\nPss: +([0-9]+) kB\n`)

func parseRollup(text []byte) (rss, pss float64, err error) {
	f := rollup.FindSubmatch(text)
	if f == nil {
		return 0, 0, fmt.Errorf("smaps_rollup: no Rss and Pss in %q", text)
	}
	rss, _ = strconv.ParseFloat(string(f[1]), 64) // these are digits
	pss, _ = strconv.ParseFloat(string(f[2]), 64)
	return rss * 1024, pss * 1024, nil
}
