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
	Governor     *string `json:"governor"` // null: the kernel has none
	Clock        *string `json:"clock"`    // null: it cannot be read
	BacklogDrops uint64  `json:"backlog_drops"`
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
	SeverityError   = "error"   // something does not work
	SeverityWarning = "warning" // frames are lost, or a measurement is wrong, in cases that will come
	SeverityNote    = "note"    // good to know
)

// Text implements Reply.
func (r *Doctor) Text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "looked at %s: %d ports, %d far ends, %d CPUs: ", r.Looked, r.Ports, r.FarEnds, r.Machine.CPUs)
	kinds := r.kinds()
	switch {
	case r.Healthy:
		s.WriteString("nothing found\n")
	case len(r.Findings) == 1:
		s.WriteString("1 finding\n")
	case len(kinds) == len(r.Findings):
		fmt.Fprintf(&s, "%d findings\n", len(r.Findings))
	default:
		fmt.Fprintf(&s, "%d findings of %d kinds\n", len(r.Findings), len(kinds))
	}
	for i, of := range kinds {
		f := of[0]
		fmt.Fprintf(&s, "\n%d. %s %s: %s\n   %s\n", i+1, strings.ToUpper(f.Severity),
			strings.Join(slices.Compact(each(of, (*Finding).where)), ", "), f.Trap, f.Effect)
		line(&s, "seen", of, func(f *Finding) string { return f.Seen })
		line(&s, "write", of, func(f *Finding) string { return textOr(f.Key, "") })
		line(&s, "mend", of, func(f *Finding) string { return textOr(f.Command, "") })
	}
	for _, n := range r.NotSeen {
		fmt.Fprintf(&s, "\nnot looked at: %s\n", n)
	}
	return s.String()
}

// kinds groups the findings that differ only in where they are, in the order of the first of each kind.
func (r *Doctor) kinds() (kinds [][]Finding) {
	type kind struct{ severity, trap, effect string }
	number := map[kind]int{}
	for i := range r.Findings {
		f := &r.Findings[i]
		k := kind{f.Severity, f.Trap, f.Effect}
		n, ok := number[k]
		if !ok {
			n = len(kinds)
			number[k], kinds = n, append(kinds, nil)
		}
		kinds[n] = append(kinds[n], *f)
	}
	return kinds
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
	default:
		where = "machine"
	}
	return where
}
