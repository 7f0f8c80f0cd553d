// Package doctor inspects a topology and reports its faults, each with the command that repairs it.
//
//	doctor.go   Facts, Judge, which makes findings of them, and the commands that repair
//	facts.go    Facts of a running switch, of a configuration file, of this network namespace
//	machine.go  faults of the machine and of the rights of the process
//	nice.go     the nice value of the switch
//	threads.go  threads of the switch that do not look at their ports
//	link.go     faults of an interface and of the link behind it
//	host.go     faults of the host at the far end
//	switch.go   faults of a configuration and of a running switch
//
// Only facts.go does I/O. Every rule is a function from facts to findings.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// Facts are the input of Judge.
type Facts struct {
	Looked  string
	Switch  string // "" where none runs
	Socket  string // of the switch that runs
	Config  *config.Config
	Targets []Target
	Machine api.Machine
	Process *Process // that opens the ports; nil where there is none
	NotSeen []string

	// of the switch that runs
	PID     int
	Threads []api.Thread
	// also of ports that it no longer has
	LosslessDrops, LosslessDiscarded uint64
	BacklogDrops                     uint64 // of the whole machine, since that switch counts
}

// A Target is a port, or an interface that may be one.
type Target struct {
	Port      string // "" where there is no configuration
	Interface string
	Netns     string       // as port.InNetns takes it
	Config    *config.Port // nil where there is none
	Lossless  uint8        // priorities

	Survey *port.Survey // nil where the interface does not exist, and of a TAP
	Absent error        // why the interface does not exist
	Live   *api.Port    // the running switch's answer, nil where none runs
	LLDP   *api.LLDPPort
	Manual bool // the running switch asks for a headroom by configuration
	Late   lateness
	Remedy string

	Swallows bool // the link passes frames, but no MAC Control frames
}

func (t *Target) isTAP() bool { return t.Config != nil && t.Config.Kind == config.KindTAP }

type rule func(*Facts, *Target) []api.Finding

// The rules, in the order in which a person should read the findings. linkRules judge the interface, which has to
// exist.
var (
	absenceRules = []rule{missingNamespace, missingInterface}
	linkRules    = []rule{linkDown, hasMaster, hasAddress, bridgeBetween, xdpAttached, mtuEnds, hardwarePause,
		receiveOffload, receiveReordering, packetSteering, queueingDiscipline, hostWithoutNIC, segmentationOffload,
		vlanUnmapped, vlanFiltered, ipv6Noise}
	switchRules = []rule{portDown, controlSwallowed, untaggedToBridge, dcbxMismatch, manualHeadroom, severalNeighbors,
		overspeed, xoffLate, losslessLost, losslessDiscarded}
)

var severities = map[string]int{api.SeverityError: 0, api.SeverityWarning: 1, api.SeverityNote: 2}

// Judge applies all rules and sorts the findings by severity.
func Judge(f *Facts) *api.Doctor {
	r := &api.Doctor{Schema: api.Schema, Looked: f.Looked, Ports: len(f.Targets), Machine: f.Machine,
		Findings: []api.Finding{}, NotSeen: f.NotSeen}
	if r.NotSeen == nil {
		r.NotSeen = []string{}
	}
	if f.Switch != "" {
		r.Switch = &f.Switch
	}
	all := slices.Concat(f.judgeMachine(), f.judgeThreads(), f.lostByRemoved())
	for i := range f.Targets {
		t := &f.Targets[i]
		rules := absenceRules
		if t.Survey != nil {
			rules = linkRules
			if t.Survey.Peer != nil {
				r.FarEnds++
			}
		}
		for _, judge := range slices.Concat(rules, switchRules) {
			all = append(all, judge(f, t)...)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Finding) int {
		return cmp.Compare(severities[a.Severity], severities[b.Severity])
	})
	seen := map[findingKey]bool{}
	for i := range all { // both ends of a link may be ports: one fault of an interface is one finding
		if id := keyOf(&all[i]); !seen[id] {
			seen[id] = true
			r.Findings = append(r.Findings, all[i])
		}
	}
	r.Healthy = len(r.Findings) == 0
	return r
}

// A findingKey is equal for two findings that are one fault, seen from both ends of a link.
type findingKey struct{ trap, netns, name, remedy string }

func keyOf(f *api.Finding) findingKey {
	id := findingKey{trap: f.Trap, remedy: f.Seen}
	if f.Interface != nil {
		id.name = *f.Interface
	}
	if f.Netns != nil {
		id.netns = port.NetnsPath(*f.Netns)
	}
	switch {
	case f.Command != nil:
		id.remedy = *f.Command
	case f.Key != nil:
		id.remedy = *f.Key
	}
	return id
}

// finding makes a finding about the interface of a survey: the port's own or its far end.
func (t *Target) finding(severity, trap string, s *port.Survey, effect, seen, command string) []api.Finding {
	f := api.Finding{Trap: trap, Severity: severity, Port: optional(t.Port), Effect: effect, Seen: seen,
		Command: optional(command)}
	f.Interface, f.Netns = optional(t.Interface), optional(t.Netns)
	if s != nil {
		f.Interface, f.Netns = optional(s.Name), optional(s.Netns)
	}
	return []api.Finding{f}
}

// withKey adds the key of the configuration that repairs a finding.
func withKey(key string, found []api.Finding) []api.Finding {
	found[0].Key = optional(key)
	return found
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// commandIn makes a command that runs in the namespace of an interface, shellWord quotes a word for the shell.
var commandIn, shellWord = port.CommandIn, port.ShellWord

// interfaceCommand is a command about an interface. The format has %s for its name.
func interfaceCommand(s *port.Survey, format string, args ...any) string {
	return commandIn(s.Netns, fmt.Sprintf(format, append([]any{shellWord(s.Name)}, args...)...))
}

// applyCommand is a command that changes lines in the configuration of a running switch: of a port, or of the whole
// switch where port is "". The command relies on show config, which writes every key on a line of its own. It is ""
// where no switch runs, or there is nothing to change.
func (f *Facts) applyCommand(port string, lines ...string) string {
	if f.Socket == "" || len(lines) == 0 {
		return ""
	}
	var script []string
	for _, line := range lines {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		change := fmt.Sprintf("s|^%s%s: .*|%s|", indent, key, line)
		if port != "" {
			change = fmt.Sprintf("/^  %s:$/,/^  [^ ]/%s", port, change)
		}
		script = append(script, change)
	}
	return fmt.Sprintf("pfcswitch show config -s %[1]s | sed %[2]s | pfcswitch apply /dev/stdin -s %[1]s",
		shellWord(f.Socket), shellWord(strings.Join(script, ";")))
}
