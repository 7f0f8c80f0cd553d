package paper

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
)

// A Study is what others have published, done again.
type Study struct {
	Name   string
	Source string // who published it, and where
	Claim  string // what they found, in a sentence
	run    func(context.Context, Options, *Result) error
}

// Options say how to run a study.
type Options struct {
	Seed     uint64
	Links    int               // of study measured; 0: 100
	Progress func(text string) // nil: none
}

// A Result is what a study found: one table, one picture. Its JSON keys are fixed; new ones may be added.
type Result struct {
	Name    string     `json:"name"`
	Source  string     `json:"source"`
	Claim   string     `json:"claim"`
	Seed    uint64     `json:"seed"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Remark  string     `json:"remark"` // where the figures differ from the published ones, and why
	panels  []plot.Panel
}

func (r *Result) add(cells ...string) { r.Rows = append(r.Rows, cells) }

// Studies are all studies, in the order in which they are listed.
var Studies = []Study{dynamicThreshold, sharedHeadroom, headroomUse, deadlockThreshold, pauseSpreading,
	calculatedHeadroom, congestionControl, meteredShares, softwareHeadroom, measuredHeadroom,
	deadlockCounters}

// Find returns the study with a name.
func Find(name string) (*Study, error) {
	var names []string
	for i := range Studies {
		if Studies[i].Name == name {
			return &Studies[i], nil
		}
		names = append(names, Studies[i].Name)
	}
	return nil, fmt.Errorf("there is no study %q: there are %s", name, strings.Join(names, ", "))
}

// DrawsLinks reports whether Options.Links counts.
func (s *Study) DrawsLinks() bool { return s.Name == measuredHeadroom.Name }

// List writes the names of the studies with a sentence each.
func List(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := range Studies {
		fmt.Fprintf(w, "%s\t%s (%s)\n", Studies[i].Name, Studies[i].Claim, Studies[i].Source)
	}
	return w.Flush()
}

// Run does a study. The same seed gives the same result.
func (s *Study) Run(ctx context.Context, o Options) (*Result, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &Result{Name: s.Name, Source: s.Source, Claim: s.Claim, Seed: o.Seed}
	if err := s.run(ctx, o, r); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return r, nil
}

// Text writes the result for a person.
func (r *Result) Text(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s\nSource: %s\n\n", r.Name, r.Claim, r.Source)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{r.Columns}, r.Rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", r.Remark)
	return err
}

// Picture writes the picture as an SVG.
func (r *Result) Picture(out io.Writer) error { return plot.Draw(out, r.Name+": "+r.Claim, r.panels) }

// simulate runs the text of a topology file in virtual time. Where o has no response of the hosts, it is the limit of
// the standard.
func simulate(ctx context.Context, text string, o simulation.Options) (*simulation.Report, error) {
	t, err := config.ParseTopology("study.yaml", []byte(text), func(path string) ([]byte, error) {
		return nil, fmt.Errorf("%s: a study has no other files", path)
	})
	if err != nil {
		return nil, err
	}
	o.Response = cmp.Or(o.Response, -1)
	return simulation.RunTopology(ctx, t, o)
}

// percent writes how far a figure is from the published one.
func percent(got, want float64) string { return fmt.Sprintf("%+.1f %%", 100*(got/want-1)) }
