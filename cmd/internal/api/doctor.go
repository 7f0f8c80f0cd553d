package api

import (
	"fmt"
	"slices"
	"strings"
)

// Doctor is the answer to doctor: what keeps a topology from being lossless, or spoils an experiment.
type Doctor struct {
	Schema   int       `json:"schema"`
	Looked   string    `json:"looked"`   // at what: switch NAME, a file, or this network namespace
	Switch   *string   `json:"switch"`   // null where none runs
	Ports    int       `json:"ports"`    // that were looked at
	FarEnds  int       `json:"far_ends"` // of their links, that could be looked at
	Healthy  bool      `json:"healthy"`  // there is no finding
	Findings []Finding `json:"findings"` // the worst first
	NotSeen  []string  `json:"not_seen"` // what could not be looked at, and why
	Machine  Machine   `json:"machine"`
}

// Machine is what the machine is like.
type Machine struct {
	CPUs         int     `json:"cpus"`
	Governor     *string `json:"governor"`           // null: the kernel has none
	Clock        *string `json:"clock"`              // null: it cannot be read
	BacklogDrops uint64  `json:"backlog_drops"`      // since the machine started
	BacklogMax   *int    `json:"backlog_max_frames"` // null: it cannot be read
}

// Finding is one problem.
type Finding struct {
	Trap      string  `json:"trap"`
	Severity  string  `json:"severity"` // error, warning or note
	Port      *string `json:"port"`     // null: it concerns the machine or the switch
	Interface *string `json:"interface"`
	Netns     *string `json:"netns"`   // of the interface; null: this one
	Effect    string  `json:"effect"`  // on the experiment
	Seen      string  `json:"seen"`    // the figure that says so
	Command   *string `json:"command"` // that mends it; null: there is none
	Key       *string `json:"key"`     // of the configuration, with its value, where one mends it
}

// Severities of a Finding.
const (
	SeverityError   = "error"   // frames are lost, or nothing passes
	SeverityWarning = "warning" // frames may be lost, were dropped on purpose, or a measurement is wrong
	SeverityNote    = "note"    // good to know
)

// Text implements Reply. Each kind of finding has a line.
func (r *Doctor) Text() string {
	s := r.headline(r.kinds(func(f *Finding) kind { return kind{trap: f.Trap} }))
	if r.Healthy {
		return s + r.notSeen()
	}
	t := newTable("SEVERITY", "FINDING", "AT", "WHAT IT IS, AND WHAT TO DO")
	for _, of := range r.kinds(func(f *Finding) kind { return kind{trap: f.Trap} }) {
		t.row(strings.ToUpper(of[0].Severity), of[0].Trap, places(of), summaries[of[0].Trap])
	}
	const more = "-v explains each one, with what was seen and the command that mends it\n"
	return s + "\n" + t.String() + "\n" + more + r.notSeen()
}

// Detail is the text with what each finding means, what was seen, and what mends it.
func (r *Doctor) Detail() string {
	kinds := r.kinds(func(f *Finding) kind { return kind{f.Severity, f.Trap, f.Effect} })
	var s strings.Builder
	s.WriteString(r.headline(kinds))
	for i, of := range kinds {
		f := of[0]
		fmt.Fprintf(&s, "\n%d. %s %s: %s\n   %s\n", i+1, strings.ToUpper(f.Severity),
			strings.Join(slices.Compact(each(of, (*Finding).where)), ", "), f.Trap, f.Effect)
		line(&s, "seen", of, func(f *Finding) string { return f.Seen })
		line(&s, "write", of, func(f *Finding) string { return textOr(f.Key, "") })
		line(&s, "mend", of, func(f *Finding) string { return textOr(f.Command, "") })
	}
	return s.String() + r.notSeen()
}

// headline says what was looked at, and how much was found.
func (r *Doctor) headline(kinds [][]Finding) string {
	s := fmt.Sprintf("looked at %s: %d ports, %d far ends, %d CPUs: ", r.Looked, r.Ports, r.FarEnds, r.Machine.CPUs)
	switch {
	case r.Healthy:
		return s + "nothing found\n"
	case len(r.Findings) == 1:
		return s + "1 finding\n"
	case len(kinds) == len(r.Findings):
		return s + fmt.Sprintf("%d findings\n", len(r.Findings))
	case len(kinds) == 1:
		return s + fmt.Sprintf("%d findings of a kind\n", len(r.Findings))
	}
	return s + fmt.Sprintf("%d findings of %d kinds\n", len(r.Findings), len(kinds))
}

func (r *Doctor) notSeen() (s string) {
	for _, n := range r.NotSeen {
		s += "\nnot looked at: " + n + "\n"
	}
	return s
}

// A kind is what findings have in common that stand together.
type kind struct{ severity, trap, effect string }

// kinds groups the findings by kind, in the order of the first of each kind.
func (r *Doctor) kinds(of func(*Finding) kind) (kinds [][]Finding) {
	number := map[kind]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		k := of(f)
		n, ok := number[k]
		if !ok {
			n = len(kinds)
			number[k], kinds = n, append(kinds, nil)
		}
		kinds[n] = append(kinds[n], *f)
	}
	return kinds
}

// mostPlaces is how many places of a kind a line has room for.
const mostPlaces = 6

// places are the ports of findings, or else their interfaces.
func places(of []Finding) string {
	var names []string
	for i := range of {
		name := of[i].where()
		switch f := &of[i]; {
		case f.Port != nil:
			name = *f.Port
		case f.Interface != nil:
			name = *f.Interface
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return someOf(names)
}

// line writes what findings of one kind say, once where all say the same, else for each.
func line(s *strings.Builder, name string, of []Finding, says func(*Finding) string) {
	all := each(of, says)
	if len(slices.Compact(slices.Clone(all))) == 1 {
		of, all = of[:1], all[:1]
	}
	for i, text := range all {
		switch {
		case text == "":
		case len(of) == 1:
			fmt.Fprintf(s, "   %s: %s\n", name, text)
		default:
			fmt.Fprintf(s, "   %s, %s: %s\n", name, of[i].where(), text)
		}
	}
}

// where is the place of a finding: the port, its interface and the namespace of that.
func (f *Finding) where() string {
	where := optionalText(f.Interface)
	if f.Port != nil && *f.Port != where {
		where = *f.Port + " (" + where + ")"
	}
	if f.Netns != nil {
		where += " in " + *f.Netns
	}
	switch {
	case f.Interface != nil || f.Port != nil:
	case strings.HasPrefix(f.Trap, "lossless-"):
		where = "removed ports"
	case f.Trap == "thread-hangs":
		where = "switch"
	default:
		where = "machine"
	}
	return where
}
