package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// walksFile describes ways through the code, each below a heading that begins with walkHeading.
const (
	walksFile   = "dataplane/README.md"
	walkHeading = "### The way of "
	walks       = 3
	maxStations = 15
)

// station matches a numbered station of a walk: the function in a file.
var station = regexp.MustCompile("^\\d+\\. `([\\w/]+\\.go):(\\w+)`: .")

// checkWalks finds stations of a walk whose function is not in the named file.
func checkWalks(t *tree) (found []string) {
	b, err := fs.ReadFile(t.fs, walksFile)
	if err != nil {
		return []string{err.Error()}
	}
	functions := map[string]bool{}
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				functions[f.path+":"+fn.Name.Name] = true
			}
		}
	}
	n := 0
	for _, part := range strings.Split("\n"+string(b), "\n#") {
		title, body, _ := strings.Cut("#"+part, "\n")
		if !strings.HasPrefix(title, walkHeading) {
			continue
		}
		n++
		stations := 0
		for line := range strings.Lines(body) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			m := station.FindStringSubmatch(line)
			if m == nil {
				found = append(found, fmt.Sprintf("%s: %q is no station (1. `file.go:function`: what it does)",
					walksFile, line))
				continue
			}
			if stations++; !functions[m[1]+":"+m[2]] {
				found = append(found, fmt.Sprintf("%s: %s has no function %s", walksFile, m[1], m[2]))
			}
		}
		if stations == 0 || stations > maxStations {
			found = append(found, fmt.Sprintf("%s: %q has %d stations, want 1 to %d", walksFile, title, stations,
				maxStations))
		}
	}
	if n != walks {
		found = append(found, fmt.Sprintf("%s: %d walks, want %d", walksFile, n, walks))
	}
	return found
}

func TestWalks(t *testing.T) {
	way := func(stations ...string) string {
		return "# X\n\n## How it works\n\n### The way of a\n\n" + strings.Join(stations, "\n") +
			"\n\n### The way of b\n\n1. `a/a.go:f`: x\n\n### The way of c\n\n1. `a/a.go:f`: x\n\n## Limits\n\nx\n"
	}
	obeys(t, "every station of a walk is in the code", checkWalks, []check{
		{"true ones", map[string]string{walksFile: way("1. `a/a.go:f`: x", "2. `a/a.go:g`: x"),
			"a/a.go": "func f() {}\nfunc (x *int) g() {}"}, nil},
		{"a function that is elsewhere", map[string]string{walksFile: way("1. `a/a.go:h`: x"), "a/a.go": "func f() {}",
			"b/b.go": "func h() {}"}, []string{"a/a.go has no function h"}},
		{"no station", map[string]string{walksFile: way("1. f, in a/a.go"), "a/a.go": "func f() {}"},
			[]string{"has 0 stations", "is no station"}},
		{"none", map[string]string{walksFile: "# X\n"}, []string{"0 walks, want 3"}},
	})
}
