package packaging

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"regexp"
	"strings"
	"testing"
)

// read returns a file of the project.
func read(t *testing.T, path string) string {
	t.Helper()
	b := assert.Got(os.ReadFile(filepath.Join(root, path))).Must(t)
	return string(b)
}

const unitFile = "scripts/systemd/pfcswitch@.service"

// unit returns the systemd unit as one of a switch leaf1 whose program is the one under test.
func unit(t *testing.T) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "pfcswitch@leaf1.service"),
		strings.ReplaceAll(read(t, unitFile), "/usr/bin/pfcswitch", program(t)))
}

func setting(t *testing.T, key string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(read(t, unitFile))
	assert.MustBeTrue(t, m != nil, "the unit has no %s", key)
	return m[1]
}

// analyze runs systemd-analyze where it is.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed (Debian: systemd)")
	}
	out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
	return string(out), err
}

func TestUnitIsWellFormed(t *testing.T) {
	out, err := analyze(t, "verify", unit(t))
	assert.True(t, err == nil && strings.TrimSpace(out) == "", "systemd-analyze verify: %v\n%s", err, out)
}

// exposure is what systemd-analyze security may find at most, of 100.
const exposure = "25"

func TestUnitIsConfined(t *testing.T) {
	out, err := analyze(t, "security", "--offline=true", "--threshold="+exposure, unit(t))
	assert.True(t, err == nil, "systemd-analyze security: %v\n%s", err, out)
	last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
	t.Log(last)
	var said, found float64
	_, text, _ := strings.Cut(read(t, "scripts/README.md"), "`systemd-analyze security`: ")
	_, level, _ := strings.Cut(last, "pfcswitch@leaf1.service: ")
	_, err = fmt.Sscanf(text, "%f", &said)
	assert.NoError(t, err, "scripts/README.md does not say what systemd-analyze security finds")
	// each version of systemd weighs otherwise
	if _, err := fmt.Sscanf(level, "%f", &found); err != nil || math.Abs(said-found) > 0.3 {
		t.Errorf("scripts/README.md says %.1f, systemd-analyze security %.1f (%v)", said, found, err)
	}
}

// hasCommand fails the test unless the program has the command that argv runs.
func hasCommand(t *testing.T, argv []string) {
	t.Helper()
	out, err := exec.Command(program(t), append(argv[1:], "--help")...).CombinedOutput()
	assert.True(t, err == nil && strings.Contains(string(out), "pfcswitch "+argv[1]), "%q: %v, %s", argv, err, out)
}

// The unit runs commands that the program has.
func TestUnitCommands(t *testing.T) {
	for _, key := range []string{"ExecStart", "ExecReload"} {
		hasCommand(t, strings.Fields(setting(t, key)))
	}
	assert.True(t, setting(t, "Type") == "notify" && setting(t, "WatchdogSec") != "",
		"the unit does not wait until the switch is ready, or has no watchdog")
}
