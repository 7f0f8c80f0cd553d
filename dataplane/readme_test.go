package dataplane

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// README lists every reason for which a frame is dropped, and says which are faults.
func TestReadmeNamesDropReasons(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(strings.Join(strings.Fields(string(b)), " "), " ## Drop reasons ")
	list, rest, _ := strings.Cut(text, ". Of these ")
	faults, _, found := strings.Cut(rest, " are faults when they hit a lossless priority")
	if !found {
		t.Fatal("README.md does not say which reasons are faults when they hit a lossless priority")
	}
	var names, wrong []string
	for r := range NumDropReasons {
		names = append(names, r.String())
		if r.fault() {
			wrong = append(wrong, r.String())
		}
	}
	for _, tt := range []struct {
		what string
		got  string
		want []string
	}{{"reasons", list, names}, {"faults", faults, wrong}} {
		var said []string
		for i, part := range strings.Split(tt.got, "`") {
			if i%2 == 1 {
				said = append(said, part)
			}
		}
		slices.Sort(said)
		slices.Sort(tt.want)
		if !slices.Equal(said, tt.want) {
			t.Errorf("README.md: %s %v, want %v", tt.what, said, tt.want)
		}
	}
}
