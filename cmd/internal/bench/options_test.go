package bench

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	names := func(o options) (all []string) {
		for _, p := range o.parts {
			all = append(all, p.name)
		}
		return all
	}
	o, err := parseOptions(nil, io.Discard)
	if err != nil || o.rounds < 7 || o.search != o.rounds || !slices.Equal(o.octets, []int{60, 512, 1514}) ||
		!slices.Equal(o.priorities, []int{0, 3}) ||
		len(o.parts) != len(parts) || o.smoke {
		t.Errorf("defaults: %+v, %v", o, err)
	}
	o, err = parseOptions(strings.Split("--rounds 3 --seconds 0.5 --trial 10 --search 0 --octets 64 --json a --svg b",
		" "), io.Discard)
	if err != nil || o.rounds != 3 || o.seconds != 500*time.Millisecond || o.trial != 10*time.Second || o.search != 0 ||
		!slices.Equal(o.octets, []int{64}) ||
		o.json != "a" || o.svg != "b" {
		t.Errorf("given: %+v, %v", o, err)
	}
	o, err = parseOptions([]string{"--only", "tcp,pause flap"}, io.Discard)
	if got := names(o); err != nil || !slices.Equal(got, []string{"tcp", "pause", "flap"}) || !o.compares(dutOVS) {
		t.Errorf("only: %v, %v", got, err)
	}
	o, err = parseOptions([]string{"--switches", "pfcswitch, bridge"}, io.Discard)
	if err != nil || !o.compares(dutPFC) || !o.compares(dutBridge) || o.compares(dutOVS) {
		t.Errorf("switches: %v, %v", o.switches, err)
	}
	// What is given counts before and after --smoke.
	for _, args := range []string{"--smoke --rounds 2", "--rounds 2 --smoke"} {
		o, err = parseOptions(strings.Fields(args), io.Discard)
		if err != nil || o.rounds != 2 || o.search != 1 || !slices.Equal(o.octets, []int{60}) ||
			len(o.parts) != len(parts) {
			t.Errorf("%s: %+v, %v", args, o, err)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"more"}, {"--rounds", "0"}, {"--seconds", "0"}, {"--seconds", "NaN"},
		{"--seconds", "1e9"}, {"--trial", "-1"}, {"--octets", "59"}, {"--octets", "1515"}, {"--octets", ""},
		{"--octets", "x"}, {"--priorities", "8"}, {"--only", "everything"}, {"--switches", "vpp"},
		{"--json", "-", "--svg", "-"},
	} {
		var said strings.Builder
		if o, err := parseOptions(args, &said); err == nil || said.Len() == 0 {
			t.Errorf("%q was taken: %+v, and said was %q", args, o, said.String())
		}
	}
}

// Help is no fault.
func TestHelp(t *testing.T) {
	for args, want := range map[string]int{"--help": 0, "-h": 0, "--no-such-option": 2, "--rounds 0": 2} {
		if status := Run(strings.Fields(args)); status != want {
			t.Errorf("%s: status %d, want %d", args, status, want)
		}
	}
}

// Results and plot are written into the folder from which the script was called; a smoke run writes only what it is
// asked to.
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
		if err := writeFile(name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}); err != nil {
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

func TestStale(t *testing.T) {
	const gone = "4194305" // above the largest process number that Linux gives (2²²)
	for name, want := range map[string]bool{
		"pfcbench-" + gone + "-x": true, "pfcbench-" + gone + "-x-y": true, "pfcbench-1-x": false,
		"pfcbench-77-x": true, "pfcbench-x-y": false, "other-" + gone + "-x": false, "pfcbench-": false,
		"pfcbench-0-x": false, "pfcbench--1-x": false,
	} {
		if got := stale(name, 77); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
