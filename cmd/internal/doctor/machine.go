package doctor

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/port"
)

// A Process is the one that opens the ports.
type Process struct {
	What               string // "the switch (process 12)", "this user"
	Program            string // path of its file
	Capabilities       uint64 // effective, bit n = capability n
	Netns              bool   // opens ports in other namespaces
	RaisesCapabilities bool   // raises the permitted capabilities of its file by itself
	Nice               Nice
}

// ReadMachine reads the machine's state from files below root, which is "/".
func ReadMachine(root string) api.Machine {
	m := api.Machine{CPUs: runtime.NumCPU(), BacklogDrops: port.BacklogDrops(
		filepath.Join(root, "proc/net/softnet_stat")),
		Governor: readWord(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Clock:    readWord(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")}
	if text := readWord(root, "proc/sys/net/core/netdev_max_backlog"); text != nil {
		if n, err := strconv.Atoi(*text); err == nil {
			m.BacklogMax = &n
		}
	}
	return m
}

func readWord(root, path string) *string {
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil
	}
	return optional(strings.TrimSpace(string(b)))
}

// ReadProcess reads the rights of a process; 0 is this one.
func ReadProcess(pid int) (*Process, error) {
	dir := "/proc/self"
	if pid != 0 {
		dir = fmt.Sprintf("/proc/%d", pid)
	}
	b, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return nil, err
	}
	p := &Process{What: "this user"}
	if pid != 0 {
		p.What = fmt.Sprintf("the switch (process %d)", pid)
	}
	if p.Program, err = os.Readlink(filepath.Join(dir, "exe")); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	p.RaisesCapabilities = canRaiseCapabilities(filepath.Join(dir, "exe"))
	if p.Capabilities, err = strconv.ParseUint(fieldOf(string(b), "CapEff:"), 16, 64); err != nil {
		return nil, fmt.Errorf("%s/status: capabilities: %w", dir, err)
	}
	if p.Nice, err = readNice(dir, string(b), p.Capabilities); err != nil {
		return nil, err
	}
	return p, nil
}

// canRaiseCapabilities tells whether a program can raise capabilities by itself (see package privilege): a build with
// cgo cannot.
func canRaiseCapabilities(program string) bool {
	info, err := buildinfo.ReadFile(program)
	return err == nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"})
}

// switchCapabilities are the capabilities of a switch, and what fails without them.
var switchCapabilities = []struct {
	bit  int
	name string
	why  string
}{
	{unix.CAP_NET_RAW, "cap_net_raw", "no port can be opened"},
	{unix.CAP_NET_ADMIN, "cap_net_admin", "no port can be opened: promiscuous mode, rings and IPv6 addresses of an " +
		"interface need it"},
	{unix.CAP_SYS_ADMIN, "cap_sys_admin", "no port with netns: can be opened"},
}

// sufficientBacklog holds one burst of a send call from each of many ports.
const sufficientBacklog = 10_000

// fastClocks are read without a system call or an exit from the virtual machine.
var fastClocks = map[string]bool{"tsc": true, "kvm-clock": true, "arch_sys_counter": true,
	"hyperv_clocksource_tsc_page": true}

func (f *Facts) judgeMachine() (all []api.Finding) {
	m := &f.Machine
	add := func(severity, trap, effect, seen, command string) {
		all = append(all, api.Finding{Trap: trap, Severity: severity, Effect: effect, Seen: seen,
			Command: optional(command)})
	}
	all = append(all, f.judgeCapabilities()...)
	all = append(all, f.judgeNice()...)
	if f.BacklogDrops > 0 && (m.BacklogMax == nil || *m.BacklogMax < sufficientBacklog) {
		remedy := fmt.Sprintf("sysctl -qw net.core.netdev_max_backlog=%d", sufficientBacklog)
		limit, command := fmt.Sprintf("it cannot be read here: run in the first network namespace: %s", remedy), ""
		if m.BacklogMax != nil {
			limit, command = fmt.Sprintf("it is %d", *m.BacklogMax), remedy
		}
		add(api.SeverityWarning, "kernel-backlog", "the kernel has dropped frames before any socket saw them: "+
			"neither ring nor headroom can hold these (pfcswitch_kernel_backlog_drops_total)",
			fmt.Sprintf("%d frames since the switch started, or its counters were cleared", f.BacklogDrops)+
				"; net.core.netdev_max_backlog: "+limit, command)
	}
	if m.CPUs < 2 {
		add(api.SeverityWarning, "one-cpu", "hosts and switch share one CPU: whoever sends keeps the switch from "+
			"running, and rings have to hold all of it",
			fmt.Sprintf("%d CPU", m.CPUs), "")
	}
	if m.Governor != nil && *m.Governor == "powersave" {
		add(api.SeverityNote, "governor", "the CPU begins slow: reactions of the first milliseconds after an idle "+
			"time are late", "the frequency governor is powersave",
			"for g in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance >$g; done")
	}
	if m.Clock != nil && !fastClocks[*m.Clock] {
		add(api.SeverityNote, "clock", "reading the clock costs a system call or a device access: stamps are coarse "+
			"and late", "the clock source is "+*m.Clock,
			"echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource")
	}
	return all
}

func (f *Facts) judgeCapabilities() []api.Finding {
	p := f.Process
	if p == nil {
		return nil
	}
	var lacks []string
	for _, n := range switchCapabilities {
		if slices.Contains(p.neededCapabilities(), n.name) && p.Capabilities>>n.bit&1 == 0 {
			lacks = append(lacks, n.name+" ("+n.why+")")
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return []api.Finding{{Trap: "capabilities", Severity: api.SeverityError,
		Effect:  "a switch cannot work without: " + strings.Join(lacks, "; "),
		Seen:    fmt.Sprintf("%s has the capabilities %016x", p.What, p.Capabilities),
		Command: optional(p.setcapCommand(p.neededCapabilities()))}}
}

func (p *Process) neededCapabilities() (names []string) {
	for _, n := range switchCapabilities {
		if n.bit != unix.CAP_SYS_ADMIN || p.Netns {
			names = append(names, n.name)
		}
	}
	return names
}

// setcapCommand is the command that gives the program's file capabilities; "" where the file is not known. A program
// that can raise them gets them as permitted only: effective ones would keep it from running in a container that lacks
// one of them.
func (p *Process) setcapCommand(names []string) string {
	if p.Program == "" {
		return ""
	}
	flags := "=ep"
	if p.RaisesCapabilities {
		flags = "=p"
	}
	return "setcap " + strings.Join(names, ",") + flags + " " + shellWord(p.Program)
}
