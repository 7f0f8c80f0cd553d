package bench

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// README shows every aim, what was measured, and whether that reaches it.
func TestReadmeShowsAims(t *testing.T) {
	b, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range aims {
		a := &aims[i]
		line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(a.text) + ` \|.*`).FindString(string(b))
		f := strings.Split(line, " | ")
		if len(f) != 5 || f[1] != a.wanted() || f[2] != a.hoped() {
			t.Errorf("README.md has no line of the aim %q (%s, %s): %q", a.text, a.wanted(), a.hoped(), line)
			continue
		}
		value, _, _ := strings.Cut(f[3], " ")
		v, err := strconv.ParseFloat(value, 64)
		if want := a.verdict(v); err != nil || f[4] != want+" |" {
			t.Errorf("README.md: %q: %s, want %s (%v)", a.text, f[4], want, err)
		}
	}
}
