package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fakeGo stands for the go command: what it builds is a demo that notes each of its runs and says what DEMO_SAYS has, with
// status DEMO_STATUS, and a judge that is always content.
const fakeGo = `#!/bin/sh
[ "$1" = build ] || { echo sh; exit 0; }
case $4 in
*pfcswitch) printf '#!/bin/sh\necho "run, CI=$CI" >>"$DEMO_RUNS"\nprintf %%s "$DEMO_SAYS"\nexit "$DEMO_STATUS"\n' >"$3" ;;
*) printf '#!/bin/sh\n' >"$3" ;;
esac
chmod +x "$3"
`

// demoStage runs a script's stage demo with a demo of the test's own, and returns what the demo noted.
func demoStage(t *testing.T, script, says, status string) (runs string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fakeGo), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(script, "demo")
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DEMO_RUNS="+filepath.Join(dir, "runs"), "DEMO_SAYS="+says,
		"DEMO_STATUS="+status, "CI=")
	out, err := c.CombinedOutput()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	b, readErr := os.ReadFile(filepath.Join(dir, "runs"))
	if readErr != nil {
		t.Fatalf("the demo did not run: %v\n%s", readErr, out)
	}
	return string(b), err
}

// demos is how many demos the stage runs.
const demos = 5

// Where the demo has a report and status 0 or 1, the judge decides; status 2 is tried three times.
func TestDemoStage(t *testing.T) {
	for _, test := range []struct {
		says, status string
		runs         int
		ok           bool
	}{
		{"{}", "0", demos, true},
		{"{}", "1", demos, true},
		{"{}", "2", 3, false},
		{"", "2", 1, false},
		{"{}", "3", 1, false},
		{"{}", "137", 1, false},
	} {
		runs, err := demoStage(t, "../test.sh", test.says, test.status)
		if got := strings.Count(runs, "run"); got != test.runs || (err == nil) != test.ok {
			t.Errorf("report %q, status %s: %d runs, %v, want %d and passed: %v", test.says, test.status, got, err, test.runs, test.ok)
		}
	}
}

func TestCIRunSaysThatItIsCI(t *testing.T) {
	if runs, err := demoStage(t, "../../.ci/run", "{}", "0"); err != nil || runs != strings.Repeat("run, CI=true\n", demos) {
		t.Errorf("%q, %v, want %d runs with CI=true", runs, err, demos)
	}
}

// What an ordinary user cannot run was not run, and did not pass.
func TestBenchAsOrdinaryUser(t *testing.T) {
	script, err := os.Open("../bench.sh")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = script.Close() }()
	c := exec.Command("bash", "-s", "--", "--smoke")
	c.Stdin, c.Dir = script, "/"
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, _ := c.CombinedOutput()
	if got := c.ProcessState.ExitCode(); got != 77 {
		t.Errorf("exit status %d, want 77\n%s", got, out)
	}
}
