package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// stateMachines take frames and time and return decisions, so that every rule can be tested as a table and the
// same code can run under virtual time.
var stateMachines = append([]string{"dataplane", "dataplane/classify", "dataplane/bridge", "dataplane/sched",
	"dataplane/trunk", "dataplane/capture", "dataplane/ack", "dataplane/dcqcn", "dataplane/sim"}, leaves...)

// sequential packages need no race detector in their tests.
var sequential = append([]string{"cmd/internal/simulation", "cmd/internal/config", "cmd/internal/paper",
	"cmd/internal/plot", "cmd/internal/sonic"},
	stateMachines...)

// impure are the clocks and timers, and the packages that do I/O (all names).
var impure = map[string][]string{
	"time":                  {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"os":                    nil,
	"os/exec":               nil,
	"syscall":               nil,
	"golang.org/x/sys/unix": nil,
	"net/http":              nil,
}

// locks would be needed only where goroutines share something. The readers of a capture do, and the kernel shares the
// gates of the fast path.
var (
	locks      = []string{"sync", "sync/atomic"}
	lockedOnly = "dataplane/capture"
	gatesOnly  = "dataplane/fastpath.go"
)

// checkPure finds locks and goroutines in sequential packages, and clocks and I/O in the state machines; their tests
// may.
func checkPure(t *tree) (found []string) {
	for _, f := range t.files {
		if f.test || !matches(f.pkg, sequential) {
			continue
		}
		f.uses(func(at token.Pos, importPath, name string) {
			names, ok := impure[importPath]
			if ok && matches(f.pkg, stateMachines) && (names == nil || slices.Contains(names, name)) {
				found = append(found, fmt.Sprintf("%s: uses %s.%s: %s is a state machine: take time and frames as "+
					"arguments", t.at(at), importPath, name, f.pkg))
			}
		})
		for _, imported := range f.imports() {
			if slices.Contains(locks, imported) && f.pkg != lockedOnly &&
				!(imported == "sync/atomic" && f.path == gatesOnly) {
				found = append(found, fmt.Sprintf("%s: imports %s: %s is sequential, who drives it locks it", f.path,
					imported, f.pkg))
			}
		}
		each(f.ast, func(g *ast.GoStmt) {
			found = append(found, fmt.Sprintf("%s: starts a goroutine: %s is sequential, dataplane/runner and "+
				"dataplane/port run it", t.at(g.Pos()), f.pkg))
		})
	}
	return found
}

// checkPanics finds panics outside functions called Must… or must…; tests may.
func checkPanics(t *tree) (found []string) {
	for _, f := range t.files {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(strings.ToLower(fn.Name.Name), "must") {
				continue
			}
			each(d, func(call *ast.CallExpr) {
				if named(call.Fun, "panic") {
					found = append(found, fmt.Sprintf("%s: panic outside a Must… function: return an error",
						t.at(call.Pos())))
				}
			})
		}
	}
	return found
}

func TestStateMachinesArePure(t *testing.T) {
	obeys(t, "state machines have no clock, goroutine or I/O", checkPure, []check{
		{"durations, and all in tests", map[string]string{
			"macctl/a.go":             "import \"time\"\nconst d = time.Second",
			"macctl/a_test.go":        "import \"time\"\nfunc f() { go time.Sleep(time.Now().Sub(time.Time{})) }",
			"dataplane/runner/run.go": "import \"time\"\nfunc f() { go time.Sleep(1) }",
		}, nil},
		{"a clock", map[string]string{"lldp/a.go": "import \"time\"\nvar n = time.Now()"},
			[]string{"lldp/a.go:3: uses time.Now"}},
		{"a goroutine", map[string]string{"buffer/a.go": "func f() { go f() }"},
			[]string{"buffer/a.go:2: starts a goroutine"}},
		{"a goroutine beside I/O", map[string]string{
			"cmd/internal/simulation/a.go": "import \"os\"\nvar n = os.Stdout\nfunc f() { go f() }"},
			[]string{"cmd/internal/simulation/a.go:4: starts a goroutine"}},
		{"a lock", map[string]string{"dataplane/a.go": "import \"sync\"\nvar m sync.Mutex",
			"dataplane/fastpath.go": "import (\n\"sync\"\n\"sync/atomic\"\n)\nvar m sync.Mutex\nvar n atomic.Int64"},
			[]string{"dataplane/a.go: imports sync", "dataplane/fastpath.go: imports sync:"}},
		{"I/O", map[string]string{"headroom/a.go": "import \"os\"\nvar n = os.Stdout"}, []string{"uses os.Stdout"}},
	})
}

func TestNoPanic(t *testing.T) {
	obeys(t, "no panic outside Must…", checkPanics, []check{
		{"where it may be", map[string]string{
			"a/a.go":      "func MustParse() { panic(1) }\nfunc mustBe() { panic(1) }",
			"a/a_test.go": "func f() { panic(1) }",
		}, nil},
		{"where it may not", map[string]string{"a/a.go": "func f() { func() { panic(1) }() }\nvar x = func() int { " +
			"panic(2) }()"}, []string{"a/a.go:2: panic", "a/a.go:3: panic"}},
	})
}
