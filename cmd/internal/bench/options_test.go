package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestParseOptions(t *testing.T) {
	const usual = "7 7 3s 3s [60 512 1514] [0 3] all [pfcswitch bridge ovs ovs-tso]"
	for args, want := range map[string]string{
		"": usual,
		"--rounds 3 --seconds 0.5 --trial 10 --search 0 --octets 64 --priorities 1,2": "3 0 500ms 10s [64] [1 2] " +
			"all [pfcswitch bridge ovs ovs-tso]",
		"--only tcp,flap,pause":             strings.Replace(usual, "all", "[tcp pause flap]", 1),
		"--switches bridge,pfcswitch":       strings.Replace(usual, " ovs ovs-tso", "", 1),
		"--smoke":                           "1 1 200ms 100ms [60] [3] all [pfcswitch bridge ovs ovs-tso]",
		"--smoke --rounds 2 --switches ovs": "2 1 200ms 100ms [60] [3] all [ovs]",
		"--rounds 2 --smoke --switches ovs": "2 1 200ms 100ms [60] [3] all [ovs]",
	} {
		o, err := parseOptions(strings.Fields(args), io.Discard)
		chosen := "all"
		if len(o.parts) != len(parts) {
			names := []string{}
			for _, p := range o.parts {
				names = append(names, p.name)
			}
			chosen = fmt.Sprint(names)
		}
		got := fmt.Sprint(o.rounds, " ", o.search, " ", o.seconds, " ", o.trial, " ", o.octets, " ", o.priorities, " ",
			chosen, " ", o.switches)
		assert.True(t, err == nil && got == want && o.smoke == strings.Contains(args, "--smoke"),
			"%s: got  %s, %v\nwant %s", args, got, err, want)
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"more"}, {"--rounds", "0"}, {"--seconds", "0"}, {"--seconds", "NaN"},
		{"--seconds", "1e9"}, {"--trial", "-1"}, {"--octets", "59"}, {"--octets", "1515"}, {"--octets", ""},
		{"--octets", "x"}, {"--priorities", "8"}, {"--only", "everything"}, {"--switches", "vpp"},
		{"--json", "-", "--svg", "-"},
	} {
		var printed strings.Builder
		if o, err := parseOptions(args, &printed); err == nil || printed.Len() == 0 {
			t.Errorf("%q was taken: %+v, and printed was %q", args, o, printed.String())
		}
	}
	for args, want := range map[string]int{"--help": 0, "-h": 0, "--no-such-option": 2, "--rounds 0": 2} {
		assert.Equal(t, Run(strings.Fields(args)), want, "%s: status", args)
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
		got := [2]string{o.json, o.svg}
		assert.True(t, err == nil && got == want, "%q: %q, want %q (%v)", args, got, want, err)
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
		assert.True(t, errors.Is(err, c.err) && strings.Count(said.String(), "\n") == len(c.said),
			"%s: %q, %v", name, said.String(), err)
		for _, want := range c.said {
			assert.True(t, strings.Contains(said.String(), want), "%s: %q does not name %s", name, said.String(), want)
		}
	}
	left, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(left) == 0, "announced, and there is %v (%v)", left, err)
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
		got, err := os.ReadFile(name)
		assert.True(t, err == nil && string(got) == text, "%q, want %q (%v)", got, text, err)
	}
	err := writeFile("", func(io.Writer) error { return errors.New("written") })
	assert.True(t, err == nil, "no file was %v", err)
}

func TestRemoveFolders(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	const ended = "4194305" // above the largest process number that Linux gives (2²²)
	mine := fmt.Sprintf("pfcbench-%d-x", os.Getpid())
	others := []string{"other-" + ended + "-x", "pfcbench--1-x", "pfcbench-0-x", "pfcbench-1-x", "pfcbench-x-y"}
	for _, name := range append(others, mine, "pfcbench-"+ended+"-x", "pfcbench-"+ended+"-x-y") {
		assert.Must(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	for _, step := range []struct {
		matches func(string) bool
		left    []string
	}{{gone, append(slices.Clone(others), mine)}, {own, others}} {
		err := removeFolders(step.matches)
		left, _ := filepath.Glob(folder + "/*")
		for i := range left {
			left[i] = filepath.Base(left[i])
		}
		slices.Sort(step.left)
		assert.True(t, err == nil && slices.Equal(left, step.left), "%v: left are %q, want %q", err, left, step.left)
	}
}
