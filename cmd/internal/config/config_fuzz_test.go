package config

import (
	"os"
	"path/filepath"
	"testing"

	"pfcswitch/dataplane/assert"
)

// FuzzParse: whatever stands in a file, Parse returns a Config or errors with places, and what it
// returns survives being written out and read again.
func FuzzParse(f *testing.F) {
	files := assert.Got(filepath.Glob("testdata/*/*.yaml")).Must(f)
	for _, file := range files {
		data := assert.Got(os.ReadFile(file)).Must(f)
		f.Add(data)
	}
	for _, seed := range []string{
		"", "a", "[1]", "a: *b", "<<: *a", "a: &a {<<: *a}", "? [a]\n: b", "ports: {<<: [{p1: {}}, {p2: {}}]}",
		"name: !!str |\n x", "buffer: {cell: 0x10}", "---\n---\na: 1", "%YAML 1.2\n---\nname: x", "*a : 1", "&a x: *a",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := Parse("fuzz.yaml", data)
		if err != nil {
			wantPlaced(t, err)
			return
		}
		c.Check(Machine{})
		expanded := Expand(c)
		again, _, err := Parse("expanded.yaml", expanded)
		if err != nil {
			t.Fatalf("the expansion is refused: %v\n%s", err, expanded)
		}
		assert.Equal(t, string(Expand(again)), string(expanded), "expanded again")
	})
}
