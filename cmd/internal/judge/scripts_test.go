package judge

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// fakeGo stands for the go command: what it builds is a demo that notes each of its runs and says what DEMO_SAYS has,
// with status DEMO_STATUS or, where that is "host alone", with 1 as demo host and with 0 as others, and a judge that
// always passes.
const fakeGo = `#!/bin/sh
[ "$1" = build ] || { echo sh; exit 0; }
case $4 in
*pfcswitch) cat >"$3" <<'END' ;;
#!/bin/sh
echo "run, CI=$CI" >>"$DEMO_RUNS"
printf %s "$DEMO_SAYS"
name=$2
while [ $# -gt 1 ]; do
	[ "$1" != --report ] || echo "<svg>" >"$2"
	shift
done
case $DEMO_STATUS in
"$name alone") exit 1 ;;
*alone) exit 0 ;;
*) exit "$DEMO_STATUS" ;;
esac
END
*) printf '#!/bin/sh\n' >"$3" ;;
esac
chmod +x "$3"
`

// install writes a program.
func install(t *testing.T, path, text string) {
	t.Helper()
	assert.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)))
}

// demoStage runs a script's stage demo with a demo of the test's own, and returns what the demo noted.
func demoStage(t *testing.T, script, says, status string) (runs string, err error) {
	t.Helper()
	dir := t.TempDir()
	install(t, filepath.Join(dir, "go"), fakeGo)
	c := exec.Command(script, "demo")
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DEMO_RUNS="+filepath.Join(dir, "runs"),
		"DEMO_SAYS="+says, "DEMO_STATUS="+status, "CI=")
	out, err := c.CombinedOutput()
	_, ok := err.(*exec.ExitError)
	assert.MustBeTrue(t, err == nil || ok, "%v\n%s", err, out)
	b, readErr := os.ReadFile(filepath.Join(dir, "runs"))
	assert.MustBeTrue(t, readErr == nil, "the demo did not run: %v\n%s", readErr, out)
	return string(b), err
}

// demos is how many demos the stage runs.
const demos = 6

// A stage passes where every demo and the judge of its report pass; no demo is tried again.
func TestDemoStage(t *testing.T) {
	for _, test := range []struct {
		says, status string
		ok           bool
	}{
		{"{}", "0", true},
		{"{}", "1", false},
		{"{}", "2", false},
		{"", "2", false},
		{"", "0", false},
		{"{}", "3", false},
		{"{}", "137", false},
		{"{}", "host alone", false},
		{"{}", "trunk alone", false},
	} {
		runs, err := demoStage(t, "../../../scripts/test.sh", test.says, test.status)
		if got := strings.Count(runs, "run"); got != demos || (err == nil) != test.ok {
			t.Errorf("report %q, status %s: %d runs, %v, want %d and passed: %v", test.says, test.status, got, err,
				demos, test.ok)
		}
	}
}

func TestCIRunSaysThatItIsCI(t *testing.T) {
	runs, err := demoStage(t, "../../../.ci/run", "{}", "0")
	assert.True(t, err == nil && runs == strings.Repeat("run, CI=true\n", demos),
		"%q, %v, want %d runs with CI=true", runs, err, demos)
}

// ordinaryBench runs bench.sh as an ordinary user, who may read none of it: from standard input, with the programs in
// folder first, and with its temporary files there.
func ordinaryBench(t *testing.T, folder string, args ...string) (status int, out string) {
	t.Helper()
	script := assert.Got(os.Open("../../../scripts/bench.sh")).Must(t)
	defer func() { _ = script.Close() }()
	c := exec.Command("bash", append([]string{"-s", "--"}, args...)...)
	c.Stdin, c.Dir, c.Env = script, "/", append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "TMPDIR="+folder)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	b, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(b)
}

// What an ordinary user cannot run was not run, and did not pass; help is for everybody.
func TestBenchAsOrdinaryUser(t *testing.T) {
	dir := labtest.TempDir(t)
	assert.Must(t, os.Chmod(dir, 0o777))
	install(t, filepath.Join(dir, "go"), fakeGo)
	for option, want := range map[string]int{"--smoke": 77, "--help": 0} {
		got, out := ordinaryBench(t, dir, option)
		assert.True(t, got == want, "%s: exit status %d, want %d\n%s", option, got, want, out)
	}
}

// In CI the benchmark has to run; elsewhere an ordinary user passes without it.
func TestBenchStage(t *testing.T) {
	dir := t.TempDir()
	const fakeBench = "#!/bin/bash\n[ $BENCH_STATUS != 0 ] || tee \"$3\" \"$5\" <<< {}\nexit $BENCH_STATUS\n"
	text := assert.Got(os.ReadFile("../../../scripts/test.sh")).Must(t)
	install(t, filepath.Join(dir, "scripts/test.sh"), string(text))
	install(t, filepath.Join(dir, "scripts/bench.sh"), fakeBench)
	install(t, filepath.Join(dir, "bin/go"), fakeGo)
	for _, test := range []struct {
		status, ci string
		ok         bool
	}{
		{"0", "", true}, {"0", "true", true}, {"1", "", false}, {"1", "true", false}, {"77", "", true},
		{"77", "true", false},
	} {
		c := exec.Command(filepath.Join(dir, "scripts/test.sh"), "bench")
		c.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"),
			"BENCH_STATUS="+test.status, "CI="+test.ci)
		out, err := c.CombinedOutput()
		assert.True(t, (err == nil) == test.ok,
			"status %s of the benchmark, CI=%s: %v, want passed: %v\n%s", test.status, test.ci, err, test.ok, out)
	}
}

// installing is test.sh's stage tools with an apt-get of the test's, where only the programs exist that the script
// needs itself. policy is the file by which Debian is told to start no service.
func installing(t *testing.T, aptGet string, env ...string) (c *exec.Cmd, policy string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root installs programs")
	}
	dir := t.TempDir()
	policy = filepath.Join(dir, "policy-rc.d")
	for _, program := range []string{"bash", "sh", "dirname", "mktemp", "rm", "find", "sort", "touch", "chmod", "tail",
		"sleep", "comm", "awk", "cat", "tee"} {
		path, err := exec.LookPath(program)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, program))
		}
		assert.Must(t, err)
	}
	install(t, filepath.Join(dir, "go"), fakeGo)
	install(t, filepath.Join(dir, "apt-get"), aptGet)
	c = exec.Command("../../../scripts/test.sh", "tools")
	c.Env = append(os.Environ(), "PATH="+dir, "POLICY_RC_D="+policy, "INSTALL=", "CI=", "APT_LOG="+dir+"/apt")
	c.Env = append(c.Env, env...)
	return c, policy
}

// While Debian installs programs it is told to start no service; a policy of somebody's own stays. TOOLS are the only
// programs that are installed.
func TestInstallation(t *testing.T) {
	const aptGet = `#!/bin/sh
[ "$2" = update ] || echo "$*, policy: $(cat "$POLICY_RC_D")" >>"$APT_LOG"
`
	for _, own := range []bool{false, true} {
		c, policy := installing(t, aptGet, "TOOLS=iperf3 ip")
		inForce := "#!/bin/sh\nexit 101"
		if own {
			inForce = "somebody's"
			install(t, policy, inForce)
		}
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		log, err := os.ReadFile(filepath.Join(filepath.Dir(policy), "apt"))
		if want := "iperf3 iproute2, policy: " + inForce + "\n"; err != nil || !strings.HasSuffix(string(log), want) {
			t.Errorf("apt-get was called with %q, %v, want %q", log, err, want)
		}
		_, err = os.Stat(policy)
		assert.True(t, (err == nil) == own, "afterwards: %v; somebody's own policy: %v", err, own)
	}
}

// An interrupted installation takes its policy back.
func TestInterruptedInstallation(t *testing.T) {
	c, policy := installing(t, "#!/bin/sh\n[ \"$2\" = update ] || { touch \"$APT_LOG\"; exec sleep 60; }\n")
	started := filepath.Join(filepath.Dir(policy), "apt")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	assert.Must(t, c.Start())
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Error("nothing is installed")
			break
		}
	}
	_, err := os.Stat(policy)
	assert.NoError(t, err, "while something is installed")
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
	err = c.Wait()
	assert.True(t, err != nil, "it was ended, and passed")
	_, err = os.Stat(policy)
	assert.True(t, err != nil, "Debian may start no service any more")
}
