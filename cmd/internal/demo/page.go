package demo

import (
	_ "embed"
	"errors"
	"html/template"
	"io"
	"strings"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/web"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// A section is a phase on the page.
type section struct {
	PhaseResult
	Closed  bool // there are many
	Seconds float64
	Plots   []template.HTML
	Text    string
}

// manySections is up to how many phases a page shows at once.
const manySections = 8

// Page writes the report as one HTML page, which needs nothing from elsewhere and looks like that of the switch. It has
// plots where Options.Record was set.
func (r *Report) Page(out io.Writer) error {
	var took, end strings.Builder
	if err := errors.Join(r.speedText(&took), r.linksText(&end), r.verdict(&end)); err != nil {
		return err
	}
	tops := map[string]float64{} // of plots with the same title
	for _, a := range r.Phases {
		for _, p := range a.course.panels() {
			tops[p.Title] = max(tops[p.Title], p.Top, plot.Most(p.Lines))
		}
	}
	var sections []section
	for _, a := range r.Phases {
		s := section{PhaseResult: a, Closed: len(r.Phases) > manySections}
		for _, p := range a.course.panels() {
			if r.Speed > 0 { // else phases have different ones
				p.Top = tops[p.Title]
			}
			s.Plots = append(s.Plots, template.HTML(p.SVG())) // texts in it are escaped
			if n := len(p.At); n > 0 {
				s.Seconds = float64(p.At[n-1]) / 1e9
			}
		}
		var text strings.Builder
		if err := r.phaseText(&text, a); err != nil {
			return err
		}
		_, s.Text, _ = strings.Cut(strings.TrimPrefix(text.String(), "\n"), "\n") // the title stands above the plots
		sections = append(sections, s)
	}
	return page.Execute(out, struct {
		*Report
		Style         template.CSS
		Took, Verdict string
		Seen          []string
		Sections      []section
		End           string
	}{r, template.CSS(web.Stylesheet), strings.TrimSpace(took.String()), r.verdictWord(), r.seen(), sections,
		strings.TrimSpace(end.String())})
}
