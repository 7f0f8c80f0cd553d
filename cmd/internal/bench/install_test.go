package bench

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// While something is installed Debian is told to start nothing, and nothing is left of that.
func TestWithoutServices(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy-rc.d")
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		ran := false
		err := withoutServices(policy, func() error {
			ran = true
			var exit *exec.ExitError
			if err := exec.Command(policy, "openvswitch-switch", "start").Run(); !errors.As(err, &exit) ||
				exit.ExitCode() != 101 {
				t.Errorf("asked whether a daemon may be started: %v, want exit status 101", err)
			}
			return want
		})
		if !ran || !errors.Is(err, want) {
			t.Errorf("ran %v, %v, want %v", ran, err, want)
		}
		if _, err := os.Lstat(policy); err == nil {
			t.Error("the policy is left behind")
		}
	}
	if err := os.WriteFile(policy, []byte("theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := withoutServices(policy, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(policy); err != nil || string(b) != "theirs" {
		t.Errorf("somebody's own policy is now %q, %v", b, err)
	}
	if err := withoutServices(filepath.Join(policy, "x"),
		func() error { t.Error("it was installed all the same"); return nil }); err == nil {
		t.Error("no policy could be written: no error")
	}
}
