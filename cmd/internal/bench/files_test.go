package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Results and plot are written into the folder from which the script was called; a smoke run writes only what it is asked to.
func TestFilesOfOptions(t *testing.T) {
	for args, want := range map[string][2]string{
		"":                           {"/from/bench.json", "/from/bench.svg"},
		"--json a/b --svg /c":        {"/from/a/b", "/c"},
		"--json= --svg=":             {"", ""},
		"--json -":                   {"-", "/from/bench.svg"},
		"--smoke":                    {"", ""},
		"--smoke --json a":           {"/from/a", ""},
		"--svg bench.svg --smoke":    {"", "/from/bench.svg"},
		"--only tcp --switches ovs ": {"/from/bench.json", "/from/bench.svg"},
	} {
		o, err := parseOptions(strings.Fields(args), io.Discard)
		o.filesIn("/from")
		if got := [2]string{o.json, o.svg}; err != nil || got != want {
			t.Errorf("%q: %q, want %q (%v)", args, got, want, err)
		}
	}
}

// What is written is said before it is measured, and what cannot be is an error then.
func TestAnnounce(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing", "b.svg")
	for name, c := range map[string]struct {
		json, svg string
		said      []string // of a line each
		err       error
	}{
		"both":    {folder + "/a.json", folder + "/a.svg", []string{folder + "/a.json", folder + "/a.svg"}, nil},
		"one":     {"", folder + "/a.svg", []string{folder + "/a.svg"}, nil},
		"none":    {"", "", nil, nil},
		"output":  {standardOutput, "", []string{"standard output"}, nil},
		"missing": {folder + "/a.json", missing, []string{folder + "/a.json", missing}, os.ErrNotExist},
	} {
		var said strings.Builder
		err := (&options{json: c.json, svg: c.svg}).announce(&said)
		if !errors.Is(err, c.err) || strings.Count(said.String(), "\n") != len(c.said) {
			t.Errorf("%s: %q, %v", name, said.String(), err)
		}
		for _, want := range c.said {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s: %q does not name %s", name, said.String(), want)
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("announced, and there is %v (%v)", left, err)
	}
}

func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	for _, text := range []string{"longer than the next", "short"} {
		if err := writeFile(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%q, want %q (%v)", got, text, err)
		}
	}
	if err := writeFile("", func(io.Writer) error { return errors.New("written") }); err != nil {
		t.Error("no file was", err)
	}
}
