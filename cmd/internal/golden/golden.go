// Package golden compares what tests make with files in their testdata.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"pfcswitch/dataplane/assert"
)

var update = flag.Bool("update", false, "write the golden files")

// Check fails the test where got differs from a file of testdata. With -update it writes the file first.
func Check(t testing.TB, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		assert.Must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := assert.Got(os.ReadFile(path)).Must(t)
	assert.True(t, got == string(want), "%s differs (go test -update writes it anew):\ngot\n%s\nwant\n%s", path, got,
		want)
}
