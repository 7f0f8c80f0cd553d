package demo

import (
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// What a meter does with a stream may differ from the model by no more than the limit and what the machine withheld.
func TestCompareWithModel(t *testing.T) {
	model := outcome{Offered: 9000, Green: 7000, Yellow: 2000, Delivered: 9000}
	for _, tt := range []struct {
		name     string
		real     outcome
		behind   float64
		failed   string
		unjudged string
	}{
		{"as it should be", model, 0, "", ""},
		{"within the limit", outcome{9000, 6910, 2090, 0, 9000}, 0, "", ""},
		{"330 more yellow ones", outcome{9000, 6670, 2330, 0, 9000}, 0, "yellow", ""},
		{"330 more yellow ones, and a sender was late", outcome{9000, 6670, 2330, 0, 9000}, 0.03, "", "yellow"},
		{"far more than the sender was late", outcome{9000, 5500, 3500, 0, 9000}, 0.03, "green yellow", ""},
		{"red ones where there must be none", outcome{9000, 7000, 1990, 10, 8990}, 0, "red", ""},
		{"none arrives", outcome{9000, 7000, 2000, 0, 0}, 0.5, "delivered", ""},
	} {
		r := &Report{}
		p := &phase{name: "1", report: r, usage: usage{shortage: shortage{behind: tt.behind, slowestSender: "h2"}}}
		p.compareWithModel(&Metered{Priority: 2, What: "between its rates", Real: tt.real, Model: model})
		var failed, unjudged []string
		for _, c := range r.Checks {
			words := strings.Fields(c.Name)
			switch what := words[len(words)-2]; {
			case c.failed():
				failed = append(failed, what)
			case !c.Judged:
				unjudged = append(unjudged, what)
				assert.Equal(t, c.Reason, "h2 could not offer 3.0 % of its frames", "%s: reason", tt.name)
			}
		}
		assert.Equal(t, strings.Join(failed, " "), tt.failed, "%s: failed", tt.name)
		assert.Equal(t, strings.Join(unjudged, " "), tt.unjudged, "%s: not judged", tt.name)
	}
}
