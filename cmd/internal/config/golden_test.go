package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/*/*.golden anew")

// golden runs text on every testdata/kind/*.yaml and compares what it returns with the golden
// file beside it.
func golden(t *testing.T, kind string, text func(t *testing.T, name string, data []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", kind, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of kind %s: %v", kind, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := text(t, filepath.Base(file), data)
			goldenFile := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(goldenFile)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s (run with -update when the change is meant)\n got\n%s\nwant\n%s", goldenFile, got, want)
			}
		})
	}
}

func TestErrorTexts(t *testing.T) {
	golden(t, "errors", func(t *testing.T, name string, data []byte) string {
		_, _, err := Parse(name, data)
		if err == nil {
			t.Fatalf("%s is accepted", name)
		}
		wantPlaced(t, err)
		return err.Error() + "\n"
	})
}

func TestWarningTexts(t *testing.T) {
	golden(t, "warnings", func(t *testing.T, name string, data []byte) string {
		c, _, err := Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, w := range c.Check(Machine{WakeGap: 13 * time.Millisecond, WakeDelay: 300 * time.Microsecond}) {
			if w.Note {
				b.WriteString("note: ")
			}
			b.WriteString(w.String() + "\n")
		}
		return b.String()
	})
}

func TestExpansions(t *testing.T) {
	golden(t, "expand", func(t *testing.T, name string, data []byte) string {
		c, _, err := Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		return string(Expand(c))
	})
}
