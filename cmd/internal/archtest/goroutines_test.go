package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// listed matches a line of the list of goroutines in dataplane/doc.go: what stands behind "go" is the launch
// as the source has it, arguments left out.
//
//	//	go w.run()  — Runner: one per worker
var listed = regexp.MustCompile(`(?m)^\s*go\s+([\w.]+)`)

// checkGoroutines compares the goroutines that the data plane launches with those that its package comment lists.
func checkGoroutines(t *tree) (found []string) {
	list := map[string]bool{} // name → launched
	for _, f := range t.files {
		if f.path == "dataplane/doc.go" {
			for _, m := range listed.FindAllStringSubmatch(f.ast.Doc.Text(), -1) {
				list[m[1]] = false
			}
		}
	}
	for _, f := range t.files {
		if f.test || !matches(f.pkg, []string{"dataplane/..."}) {
			continue
		}
		each(f.ast, func(launch *ast.GoStmt) {
			name := callee(launch.Call.Fun)
			if name == "" {
				found = append(found, fmt.Sprintf("%s: launches a function without a name: make it a method runX, so "+
					"that stacks and the list in dataplane/doc.go tell what it is", t.at(launch.Pos())))
			} else if _, ok := list[name]; !ok {
				found = append(found, fmt.Sprintf("%s: go %s() is not in the list of dataplane/doc.go: add a line "+
					"\"//\tgo %s() — …\"", t.at(launch.Pos()), name, name))
			} else {
				list[name] = true
			}
		})
	}
	for name, launched := range list {
		if !launched {
			found = append(found, fmt.Sprintf("dataplane/doc.go: lists go %s(), which nobody launches", name))
		}
	}
	return found
}

// callee returns the launched function as it is written: f, x.f, x.y.f.
func callee(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x := callee(e.X); x != "" {
			return x + "." + e.Sel.Name
		}
	}
	return ""
}

func TestGoroutinesAreListed(t *testing.T) {
	doc := func(lines ...string) string {
		return "// Package dataplane is.\n//\n// Goroutines:\n//\n//\t" + strings.Join(lines, "\n//\t") +
			"\n//\n// And they go on.\npackage dataplane\n"
	}
	obeys(t, "dataplane/doc.go lists every goroutine of the data plane", checkGoroutines, []check{
		{"a list that is true", map[string]string{
			"dataplane/doc.go":         doc("go w.run()  — one per worker", "go runWatch  — links"),
			"dataplane/run.go":         "func f() { for { go w.run(1, 2) } }",
			"dataplane/port/a.go":      "func f() { go runWatch() }",
			"dataplane/port/a_test.go": "func f() { go func() {}() }",
			"cmd/internal/web/a.go":    "func f() { go serve() }",
		}, nil},
		{"one that is not", map[string]string{
			"dataplane/doc.go": doc("go w.run()", "go r.runGone()"),
			"dataplane/run.go": "func f() { go w.run(); go r.runNew() }",
		}, []string{"dataplane/doc.go: lists go r.runGone", "dataplane/run.go:2: go r.runNew() is not in the list"}},
		{"no list", map[string]string{"dataplane/sched/a.go": "func f() { go run() }"}, []string{"go run() is not"}},
		{"without a name", map[string]string{"dataplane/a.go": "func f() { go func() {}() }"},
			[]string{"dataplane/a.go:2: launches a function without a name"}},
	})
}
