package dataplane

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// metrics/README.md has every reason for which a frame is dropped, and says which are faults.
func TestReadmeNamesDropReasons(t *testing.T) {
	b, err := os.ReadFile("../metrics/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "\n| reason | kind | the frame was dropped because |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var said, want []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		said = append(said, strings.Trim(cells[0], "|` ")+" "+cells[1])
	}
	for r := range NumDropReasons {
		kind := "decision"
		if r.fault() {
			kind = "fault"
		}
		want = append(want, r.String()+" "+kind)
	}
	slices.Sort(said)
	slices.Sort(want)
	if !slices.Equal(said, want) {
		t.Errorf("metrics/README.md: %q, want %q", said, want)
	}
}
