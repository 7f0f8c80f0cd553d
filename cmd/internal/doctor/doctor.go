// Package doctor looks at a topology and names what spoils it, each with the command that mends it.
//
//	doctor.go   Facts, and Judge, which makes findings of them
//	facts.go    Facts of a running switch, of a configuration file, of this network namespace
//	machine.go  what the machine is like, and what is wrong with that
//	nice.go     how the switch may come before other programs
//	link.go     traps of an interface and of the link behind it
//	host.go     traps of the host at the far end
//	switch.go   traps of a configuration and of a running switch
//	command.go  commands that mend
//
// Gathering does the I/O; every rule is a function from facts to findings.
package doctor

import (
	"cmp"
	"slices"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// Facts are what there is to judge.
type Facts struct {
	Looked  string
	Switch  string // "" where none runs
	Socket  string // of the switch that runs
	Config  *config.Config
	Targets []Target
	Machine api.Machine
	Process *Process // that has, or will have, the ports; nil where nobody is meant to
	NotSeen []string
}

// A Target is a port, or an interface that may be one.
type Target struct {
	Port      string // "" where there is no configuration
	Interface string
	Netns     string       // as port.InNetns takes it
	Config    *config.Port // nil where there is none
	Lossless  uint8        // priorities

	Survey *port.Survey // nil where the interface does not exist
	Absent error        // then: why not
	Live   *api.Port    // what a running switch says, nil where none runs
	LLDP   *api.LLDPPort
	Manual bool // the running switch wants the headroom to be set by hand
	Remedy string
}

// rules of a port, in the order in which a person should read what they find.
var rules = []func(*Facts, *Target) []api.Finding{
	missingNamespace, missingInterface, linkDown, hasMaster, hasAddress, bridgeBetween, xdpAttached, mtuEnds, hardwarePause, receiveOffload, receiveReordering, packetSteering, queueingDiscipline,
	hostWithoutNIC, segmentationOffload, vlanUnmapped, vlanFiltered, ipv6Noise, untaggedToBridge, dcbxMismatch, manualHeadroom, severalNeighbors, overspeed, losslessLost,
}

var severities = map[string]int{api.SeverityError: 0, api.SeverityWarning: 1, api.SeverityNote: 2}

// Judge names what is wrong.
func Judge(f *Facts) *api.Doctor {
	r := &api.Doctor{Schema: api.Schema, Looked: f.Looked, Ports: len(f.Targets), Machine: f.Machine, Findings: []api.Finding{}, NotSeen: f.NotSeen}
	if r.NotSeen == nil {
		r.NotSeen = []string{}
	}
	if f.Switch != "" {
		r.Switch = &f.Switch
	}
	all := f.judgeMachine()
	for i := range f.Targets {
		t := &f.Targets[i]
		if t.Survey != nil && t.Survey.Peer != nil {
			r.FarEnds++
		}
		for _, rule := range rules {
			all = append(all, rule(f, t)...)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Finding) int { return cmp.Compare(severities[a.Severity], severities[b.Severity]) })
	said := map[findingKey]bool{}
	for i := range all { // both ends of a link may be ports: what is wrong with one interface is said once
		if id := keyOf(&all[i]); !said[id] {
			said[id] = true
			r.Findings = append(r.Findings, all[i])
		}
	}
	r.Healthy = len(r.Findings) == 0
	return r
}

// A findingKey is what two findings have in common that are one, seen from both ends of a link.
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

// finding makes a finding about the interface of a survey, which is that of the port or its far end.
func (t *Target) finding(severity, trap string, s *port.Survey, effect, seen, command string) []api.Finding {
	f := api.Finding{Trap: trap, Severity: severity, Port: optional(t.Port), Effect: effect, Seen: seen, Command: optional(command)}
	f.Interface, f.Netns = optional(t.Interface), optional(t.Netns)
	if s != nil {
		f.Interface, f.Netns = optional(s.Name), optional(s.Netns)
	}
	return []api.Finding{f}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
