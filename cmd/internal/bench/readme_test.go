package bench

import (
	"io"
	"os"
	"pfcswitch/dataplane/assert"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// readme is the package's README.md, from the top.
const readme = "cmd/internal/bench/README.md"

// README shows every aim, what was measured, and whether that reaches it.
func TestReadmeShowsAims(t *testing.T) {
	b := assert.Got(os.ReadFile("README.md")).Must(t)
	for i := range aims {
		a := &aims[i]
		line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(a.text) + ` \|.*`).FindString(string(b))
		f := strings.Split(line, " | ")
		if len(f) != 5 || f[1] != a.wanted() || f[2] != a.hoped() {
			t.Errorf("README.md has no line of the aim %q (%s, %s): %q", a.text, a.wanted(), a.hoped(), line)
			continue
		}
		value, _, _ := strings.Cut(f[3], " ")
		v, err := strconv.ParseFloat(value, 64)
		want := a.verdict(v)
		assert.True(t, err == nil && f[4] == want+" |", "README.md: %q: %s, want %s (%v)", a.text, f[4], want, err)
	}
}

// README and the script's own text say how long runs take, each in the words that are right to a tenth.
func TestEstimatesOfTexts(t *testing.T) {
	const script = "scripts/bench.sh"
	for _, c := range []struct {
		args    string
		minutes float64
		texts   map[string]string
	}{
		{"", 145, map[string]string{readme: "# everything: about two and a half hours,",
			script: "everything, 7 rounds (about two and a half hours,"}},
		{"--only lossfree", 80, map[string]string{readme: "80 minutes of it the loss-free search",
			script: "80 minutes of them for the loss-free rate"}},
		{"--priorities 3", 85, map[string]string{readme: "the lossless priority alone: an hour and a half",
			script: "the lossless priority alone (an hour and a half)"}},
		{"--switches pfcswitch,bridge,ovs", 116, map[string]string{
			readme: "without Open vSwitch's TSO: two hours",
			script: "without Open vSwitch's TSO (two hours)"}},
	} {
		b := benchWith(t, c.args)
		sum := 0.0
		for _, p := range b.opt.parts {
			sum += b.estimatePart(p.name).Minutes()
		}
		assert.True(t, sum >= 0.9*c.minutes && sum <= 1.1*c.minutes,
			"%q takes %.1f minutes, not about %g", c.args, sum, c.minutes)
		for name, text := range c.texts {
			if all, err := os.ReadFile("../../../" + name); err != nil || !strings.Contains(string(all), text) {
				t.Errorf("%s does not say %q (%v): mend this list with it", name, text, err)
			}
		}
	}
}

// Every call of the benchmark in the README is one that it takes.
func TestReadmeCalls(t *testing.T) {
	b := assert.Got(os.ReadFile("README.md")).Must(t)
	text := regexp.MustCompile(`<!--.*-->`).ReplaceAll(b, nil)
	options := regexp.MustCompile("scripts/bench\\.sh((?:\\s+--[a-z]+(?:\\s+(?:\"[^\"]*\"|[^-\"`#\\s][^`#\\s]*))?)+)")
	calls := options.FindAllStringSubmatch(string(text), -1)
	for _, call := range calls {
		var args []string
		for _, m := range regexp.MustCompile(`"([^"]*)"|\S+`).FindAllStringSubmatch(call[1], -1) {
			args = append(args, strings.Trim(m[0], `"`))
		}
		o, err := parseOptions(args, io.Discard)
		assert.True(t, err == nil && len(o.parts) != 0, "README.md: bench.sh %q: %v", args, err)
	}
	assert.True(t, len(calls) >= 5, "the README has only %d calls", len(calls))
}
