package judge

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An event is one line of go test -json ("go doc test2json").
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// A testRun adds up the events of one or several runs of go test.
type testRun struct {
	out                     io.Writer
	passed, failed, skipped int
	brokenPackages          int
	output                  map[string][]string // by package and test, until its verdict
	running                 map[string]bool     // likewise
	failedTests             map[string]int      // by package
	slow                    []event             // tests that took longer than slowTest
}

// The line about the slowest tests names at most slowest of those that took longer than slowTest seconds.
const (
	slowest  = 8
	slowTest = 5.0
)

// judgeTests prints a line per package, the output of what failed, the reason of what was skipped and, last, the
// slowest tests and the numbers. It passes when something ran and nothing failed (nor was skipped, where noSkips).
func judgeTests(in io.Reader, out io.Writer, noSkips bool) (ok bool, err error) {
	r := testRun{out: out, output: map[string][]string{}, running: map[string]bool{}, failedTests: map[string]int{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(out, lines.Text()) // the go command itself prints plain lines
			continue
		}
		r.see(e)
	}
	if err := lines.Err(); err != nil {
		return false, err
	}
	ok = r.failed == 0 && r.brokenPackages == 0 && r.passed > 0
	if noSkips && r.skipped > 0 {
		fmt.Fprintf(out, "skipped: %d, and here every test must run\n", r.skipped)
		ok = false
	}
	r.printSlowest()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed+r.brokenPackages, r.skipped)
	return ok, nil
}

// printSlowest says where a shorter test would save most.
func (r *testRun) printSlowest() {
	slices.SortStableFunc(r.slow, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	var names []string
	for _, e := range r.slow[:min(slowest, len(r.slow))] {
		names = append(names, fmt.Sprintf("%s %.0f s", e.Test, e.Elapsed))
	}
	if names != nil {
		fmt.Fprintf(r.out, "slowest: %s\n", strings.Join(names, ", "))
	}
}

func (r *testRun) see(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Action == "build-output" {
			key = e.ImportPath + " "
		}
		r.output[key] = append(r.output[key], e.Output)
		return
	case "run":
		r.running[key] = true
		return
	case "build-fail":
		r.print(e.ImportPath + " ")
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e)
		}
	default:
		return
	}
	delete(r.output, key)
	delete(r.running, key)
}

func (r *testRun) testEnded(e event) {
	if e.Elapsed > slowTest && !strings.Contains(e.Test, "/") {
		r.slow = append(r.slow, e)
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		fmt.Fprintf(r.out, "SKIP %s %s: %s\n", e.Package, e.Test, reason(r.output[e.Package+" "+e.Test]))
	case "fail":
		r.failed++
		r.failedTests[e.Package]++
		fmt.Fprintf(r.out, "FAIL %s %s\n", e.Package, e.Test)
		r.print(e.Package + " " + e.Test)
	}
}

// packageEnded prints the output that belongs to no failed test: of a failed build, a panic or a time-out, which may
// come after ordinary failures.
func (r *testRun) packageEnded(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok   %s %.1f s\n", e.Package, e.Elapsed)
	case "fail":
		fmt.Fprintf(r.out, "FAIL %s %.1f s\n", e.Package, e.Elapsed)
		if r.interrupted(e.Package) || r.failedTests[e.Package] == 0 {
			r.brokenPackages++
		}
		for _, key := range slices.Sorted(maps.Keys(r.output)) {
			if strings.HasPrefix(key, e.Package+" ") {
				r.print(key)
			}
		}
	}
	delete(r.failedTests, e.Package) // it may have been the first run of several
}

// interrupted tells whether tests of a package have no verdict: its process died.
func (r *testRun) interrupted(pkg string) (some bool) {
	for key := range r.running {
		if strings.HasPrefix(key, pkg+" ") {
			some = true
			delete(r.running, key)
		}
	}
	return some
}

func (r *testRun) print(key string) {
	for _, line := range r.output[key] {
		progress := strings.HasPrefix(line, "=== ") // RUN, PAUSE, CONT
		verdict := line == "FAIL\n" || strings.HasPrefix(line, "FAIL\t")
		if !progress && !verdict {
			fmt.Fprint(r.out, "    ", line)
		}
	}
	delete(r.output, key)
}

// reason is what a skipped test printed, without the lines by which go test frames it.
func reason(output []string) string {
	var lines []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "no reason given"
	}
	return strings.Join(lines, " ")
}
