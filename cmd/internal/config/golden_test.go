package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane/assert"
)

// compareAll compares what text returns for each testdata/kind/*.yaml with the golden file beside it.
func compareAll(t *testing.T, kind string, text func(t *testing.T, name string, data []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", kind, "*.yaml"))
	assert.MustBeTrue(t, err == nil && len(files) != 0, "no files of kind %s: %v", kind, err)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data := assert.Got(os.ReadFile(file)).Must(t)
			golden.Check(t, filepath.Join(kind, strings.TrimSuffix(name, ".yaml")+".golden"), text(t, name, data))
		})
	}
}

func TestErrorTexts(t *testing.T) {
	compareAll(t, "errors", func(t *testing.T, name string, data []byte) string {
		_, _, err := Parse(name, data)
		assert.MustBeTrue(t, err != nil, "%s is accepted", name)
		wantPlaced(t, err)
		return err.Error() + "\n"
	})
}

func TestWarningTexts(t *testing.T) {
	compareAll(t, "warnings", func(t *testing.T, name string, data []byte) string {
		c, _, err := Parse(name, data)
		assert.Must(t, err)
		var b strings.Builder
		for _, w := range c.Check(Machine{WakeGap: 13 * time.Millisecond, WakeDelay: 300 * time.Microsecond}) {
			if w.Note {
				b.WriteString("note: ")
			}
			b.WriteString(w.String() + "\n")
		}
		for _, s := range c.RingSpans() {
			fmt.Fprintf(&b, "%+v\n", s)
		}
		return b.String()
	})
}

func TestExpansions(t *testing.T) {
	compareAll(t, "expand", func(t *testing.T, name string, data []byte) string {
		c, _, err := Parse(name, data)
		assert.Must(t, err)
		return string(Expand(c))
	})
}
