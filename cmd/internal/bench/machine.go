package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
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
	m := machine{What: "machine", CPU: field("/proc/cpuinfo", "model name"), CPUs: runtime.NumCPU(), Kernel: line("/proc/sys/kernel/osrelease"),
		Governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), MemoryKB: field("/proc/meminfo", "MemTotal"), Load: line("/proc/loadavg"),
		Rounds: b.opt.rounds, Seconds: b.opt.seconds.Seconds(), Time: time.Now().UTC(), Versions: map[string]string{"go": runtime.Version()}}
	if m.Governor == "" {
		m.Governor = "none shown"
	}
	before, err := machineBusy()
	if b.sleep(3*b.opt.settle) == nil && err == nil {
		if after, err := machineBusy(); err == nil {
			m.Busy = (after - before) / (3 * b.opt.settle.Seconds() * float64(m.CPUs))
		}
	}
	for name, argv := range map[string][]string{
		ofPFC: {b.program, "version"}, "iproute2": {"ip", "-V"}, ofOVS: {b.peers.ovs, "--version"},
		"iperf3": {b.peers.iperf3, "--version"},
	} {
		m.Versions[name] = "missing"
		if argv[0] != "" {
			if said, err := b.do("", argv...); err == nil {
				m.Versions[name], _, _ = strings.Cut(said, "\n")
			}
		}
	}
	return m
}

// text describes the machine for people.
func (m *machine) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "machine: %d × %s, kernel %s, governor %s, memory %s, load %s; others take %.1f %% of the CPUs\n", m.CPUs, m.CPU, m.Kernel, m.Governor,
		m.MemoryKB, m.Load, 100*m.Busy)
	for _, name := range []string{ofPFC, "go", "iproute2", ofOVS, "iperf3"} {
		fmt.Fprintf(&s, "  %s: %s\n", name, m.Versions[name])
	}
	fmt.Fprintf(&s, "%d rounds, %g s each", m.Rounds, m.Seconds)
	return s.String()
}

// line returns a file of one line, "" where there is none.
func line(file string) string {
	b, _ := os.ReadFile(file) // said above
	return strings.TrimSpace(string(b))
}

// field returns the value of the first line "key : value" of a file.
func field(file, key string) string {
	b, _ := os.ReadFile(file) // as above
	for l := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
