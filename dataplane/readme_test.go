package dataplane

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// The READMEs have every reason for which a frame is dropped: this one says how each counts, that of the metrics which
// are faults.
func TestReadmesNameDropReasons(t *testing.T) {
	for _, tt := range []struct {
		file, head string
		words      [noLoss + 1]string // for the classes
	}{
		{"../metrics/README.md", "| reason | kind | the frame was dropped because |",
			[...]string{fault: "fault", deliberate: "decision", noLoss: "decision"}},
		{"README.md", "| reason | counts as | why |",
			[...]string{fault: "lossless drop", deliberate: "discarded", noLoss: "neither"}},
	} {
		b := assert.Got(os.ReadFile(tt.file)).Must(t)
		_, table, _ := strings.Cut(string(b), "\n"+tt.head+"\n|---|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var said, want []string
		for row := range strings.Lines(table) {
			cells := strings.Split(row, " | ")
			said = append(said, strings.Trim(cells[0], "|` ")+" "+cells[1])
		}
		for r := range NumDropReasons {
			want = append(want, r.String()+" "+tt.words[dropReasons[r].class])
		}
		slices.Sort(said)
		slices.Sort(want)
		assert.Same(t, said, want, "%s", tt.file)
	}
}
