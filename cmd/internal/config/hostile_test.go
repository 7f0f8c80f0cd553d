package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// Files that are no configurations are refused with the place of the fault, at once, and without taking memory for
// them.
func TestHostileFiles(t *testing.T) {
	var nested strings.Builder
	nested.WriteString("a0: &a0 [x, x]\n")
	for i := range 40 {
		name, below := string(rune('b'+i%20))+string(rune('a'+i/20)), "a0"
		if i > 0 {
			below = string(rune('b'+(i-1)%20)) + string(rune('a'+(i-1)/20))
		}
		nested.WriteString(name + ": &" + name + " [*" + below + ", *" + below + ", *" + below + "]\n")
	}
	laughs := nested.String() + "priorities: {lossless: *va}\n"
	for _, tt := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"a NUL byte", "name: x\nports: {p1\x00: {}}\n", 2,
			"byte 11 of the line is the control character 0x00: write the file as plain text"},
		{"UTF-16", "n\x00a\x00m\x00e\x00", 1, "byte 2 of the line is the control character 0x00"},
		{"an escape sequence", "name: x\n\x1b[31mports: {}\n", 2, "the control character 0x1b"},
		{"Latin 1", "name: x\n# caf\xe9\n", 2, "is no UTF-8: save the file as UTF-8"},
		{"a program", "\x7fELF\x02\x01\x01", 1, "the control character 0x7f"},
		{"a billion laughs", laughs, 1, "unknown key"},
		{"half a line", "name: x\nports: {p1: {speed: 1", 2, "not YAML"},
		{"half a key", "name: x\nbuffer:\n  cel", 2, "want a mapping (key: value)"},
		{"half a value", "name: x\nbuffer: {cell: \"25", 2, "not YAML"},
		{"half a word", "name: x\npreset: roc", 2, "did you mean roce?"},
		{"a list", "name: x\nports: [p1]\n", 2, "want a mapping (key: value), not a list"},
		{"an unknown key", "name: x\nprots: {}\n", 2, "did you mean ports?"},
		{"too many bytes", strings.Repeat("#\n", 200_000), 1, "at most 262144"},
		{"a long line", "name: x\n# " + strings.Repeat("x", 5000), 2, "at most 4096"},
		{"too many brackets", "name: x\nports: " + strings.Repeat("[", 100), 2, "brackets are open"},
		{"too many brackets over lines", strings.Repeat("{a:\n", 100), 33, "brackets are open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			wantFault(t, tt.text, tt.line, "", tt.want)
			took := time.Since(begun)
			assert.True(t, took <= 5*time.Second, "it took %v", took)
		})
	}
}

// A file that was cut off is refused with a line, or is a configuration.
func TestCutOffFiles(t *testing.T) {
	whole := assert.Got(os.ReadFile("testdata/expand/documented.golden")).Must(t)
	refused := 0
	for n := 0; n < len(whole); n += 7 {
		if _, _, err := Parse("cut.yaml", whole[:n]); err != nil {
			refused++
			wantPlaced(t, err)
		}
	}
	assert.True(t, refused >= len(whole)/7/4, "%d of %d beginnings of a file are refused", refused, len(whole)/7)
}

// A file of 100 MB, or one that never ends, is not read to its end.
func TestHugeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.yaml")
	assert.Must(t, os.WriteFile(path, []byte("name: x\n"), 0o600))
	assert.Must(t, os.Truncate(path, 100<<20))
	for _, file := range []string{path, "/dev/zero"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Load(file)
		runtime.ReadMemStats(&after)
		assert.Fails(t, err, ":1: the file is too long, a configuration has at most 262144 bytes", "%s: error", file)
		took := after.TotalAlloc - before.TotalAlloc
		assert.True(t, took <= 4<<20, "%s: %d bytes were taken to refuse it", file, took)
	}
}
