package bench

import (
	"io"
	"os"
	"regexp"
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
	if err != nil || o.rounds < 7 || o.search != o.rounds || !slices.Equal(o.octets, []int{60, 512, 1514}) || !slices.Equal(o.priorities, []int{0, 3}) ||
		len(o.parts) != len(parts) || o.smoke {
		t.Errorf("defaults: %+v, %v", o, err)
	}
	o, err = parseOptions(strings.Split("--rounds 3 --seconds 0.5 --trial 10 --search 0 --octets 64 --json a --svg b", " "), io.Discard)
	if err != nil || o.rounds != 3 || o.seconds != 500*time.Millisecond || o.trial != 10*time.Second || o.search != 0 || !slices.Equal(o.octets, []int{64}) ||
		o.json != "a" || o.svg != "b" {
		t.Errorf("given: %+v, %v", o, err)
	}
	o, err = parseOptions([]string{"--only", "tcp,pause flap"}, io.Discard)
	if got := names(o); err != nil || !slices.Equal(got, []string{"tcp", "pause", "flap"}) || !o.compares(ofOVS) {
		t.Errorf("only: %v, %v", got, err)
	}
	o, err = parseOptions([]string{"--switches", "pfcswitch, bridge"}, io.Discard)
	if err != nil || !o.compares(ofPFC) || !o.compares(ofBridge) || o.compares(ofOVS) {
		t.Errorf("switches: %v, %v", o.switches, err)
	}
	// What is given counts before and after --smoke.
	for _, args := range []string{"--smoke --rounds 2", "--rounds 2 --smoke"} {
		o, err = parseOptions(strings.Fields(args), io.Discard)
		if err != nil || o.rounds != 2 || o.search != 1 || !slices.Equal(o.octets, []int{60}) || len(o.parts) != len(parts) {
			t.Errorf("%s: %+v, %v", args, o, err)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"--nonsense"}, {"more"}, {"--rounds", "0"}, {"--seconds", "0"}, {"--seconds", "NaN"}, {"--seconds", "1e9"}, {"--trial", "-1"}, {"--octets", "59"},
		{"--octets", "1515"}, {"--octets", ""}, {"--octets", "x"}, {"--priorities", "8"}, {"--only", "everything"}, {"--switches", "vpp"},
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

// Every call of the benchmark in the README is one that it takes.
func TestReadmeCalls(t *testing.T) {
	b, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`<!--.*-->`).ReplaceAll(b, nil)
	calls := regexp.MustCompile("scripts/bench\\.sh((?:\\s+--[a-z]+(?:\\s+(?:\"[^\"]*\"|[^-\"`#\\s][^`#\\s]*))?)+)").FindAllStringSubmatch(string(text), -1)
	for _, call := range calls {
		var args []string
		for _, m := range regexp.MustCompile(`"([^"]*)"|\S+`).FindAllStringSubmatch(call[1], -1) {
			args = append(args, strings.Trim(m[0], `"`))
		}
		if o, err := parseOptions(args, io.Discard); err != nil || len(o.parts) == 0 {
			t.Errorf("README.md: bench.sh %q: %v", args, err)
		}
	}
	if len(calls) < 5 {
		t.Errorf("the README has only %d calls", len(calls))
	}
}
