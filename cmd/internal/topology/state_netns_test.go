package topology

import (
	"fmt"
	"os"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// A lab that is up is found by its name, whatever else in the current folder has that name; a topology comes first.
func TestNameOf(t *testing.T) {
	labtest.Require(t)
	name := fmt.Sprintf("t%d.nameof", os.Getpid())
	path := assert.Got(statePath(name)).Must(t)
	t.Chdir(t.TempDir())
	write := func(text string) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(text), 0o600) }
	}
	for _, tt := range []struct {
		what     string
		create   func(string) error
		down, up string // the name that is found; "" for an error
	}{
		{"nothing", func(string) error { return nil }, "", name},
		{"a folder", func(name string) error { return os.Mkdir(name, 0o700) }, "", name},
		{"a file without a name", write("switches: {}\n"), "", name},
		{"a file of another kind", write("\x7fELF\x00"), "", name},
		{"a topology", write("name: other\n"), "other", "other"},
	} {
		must(t, tt.create(name))
		check := func(how, want string) {
			t.Helper()
			if got, err := nameOf(name, ""); got != want || (err == nil) != (want != "") {
				t.Errorf("%s, the lab is %s: %q, %v, want %q", tt.what, how, got, err, want)
			}
		}
		check("down", tt.down)
		lock := assert.Got(lab.LockFile(path)).Must(t)
		check("up", tt.up)
		must(t, removeState(path))
		must(t, lock.Close())
		must(t, os.RemoveAll(name))
	}
}
