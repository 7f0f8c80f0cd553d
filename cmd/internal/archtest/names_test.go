package archtest

import (
	"embed"
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pfcswitch/dataplane/assert"
	"pfcswitch/metrics"
)

//go:embed testdata/*.txt
var tables embed.FS

// A fixedName is a line of a table of testdata: a name that others rely on.
type fixedName struct {
	name    string
	labels  []string // of a metric; "..." at the end allows more
	pending bool     // promised, not delivered
}

func table(t *testing.T, file string) []fixedName {
	t.Helper()
	b := assert.Got(tables.ReadFile("testdata/" + file)).Must(t)
	return parseTable(string(b), file == "metrics.txt")
}

func parseTable(text string, labels bool) (names []fixedName) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var n fixedName
		line, n.pending = strings.CutPrefix(line, "pending ")
		n.name = strings.TrimSpace(line)
		if f := strings.Fields(line); labels {
			n.name, n.labels = f[0], f[1:]
		}
		names = append(names, n)
	}
	return names
}

// checkDelivered compares a table with the names that the source has. A name that the table calls pending and the
// source has is a finding too: else nobody would notice when it went away again.
func checkDelivered(what string, fixed []fixedName, has func(name string) bool) (found []string) {
	for _, n := range fixed {
		switch {
		case !n.pending && !has(n.name):
			found = append(found, fmt.Sprintf("%s %s is gone: others rely on the name (if it was never there, mark "+
				"it pending)", what, n.name))
		case n.pending && has(n.name):
			found = append(found, fmt.Sprintf("%s %s is delivered: take the word pending from its line in testdata",
				what, n.name))
		}
	}
	return found
}

// checkFamilies compares the table of metrics with gathered families (name with prefix → label names): names
// and labels.
func checkFamilies(fixed []fixedName, families map[string][]string) []string {
	found := checkDelivered("metric", fixed, func(name string) bool { _, ok := families["pfcswitch_"+name]; return ok })
	for _, n := range fixed {
		got, ok := families["pfcswitch_"+n.name]
		if !ok {
			continue
		}
		want, more := n.labels, false
		if len(want) > 0 && want[len(want)-1] == "..." {
			want, more = want[:len(want)-1], true
		}
		for _, l := range want {
			if !slices.Contains(got, l) {
				found = append(found, fmt.Sprintf("metric %s lacks the label %s: others select by it", n.name, l))
			}
		}
		for _, l := range got {
			if !more && !slices.Contains(want, l) {
				found = append(found, fmt.Sprintf("metric %s has the label %s more: sums of others would change",
					n.name, l))
			}
		}
	}
	return found
}

// literals returns the strings in the code of a package and those below it, tests left out.
func literals(t *tree, pkg string) map[string]bool {
	set := map[string]bool{}
	for _, f := range t.files {
		if f.test || !matches(f.pkg, []string{pkg + "/..."}) {
			continue
		}
		each(f.ast, func(lit *ast.BasicLit) {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				set[s] = true
			}
		})
	}
	return set
}

// commands returns the commands that a package's cobra.Commands take: the first word of Use, and with it each further
// word of Use and ValidArgs ("show ports|pfc", "demo [incast]").
func commands(t *tree, pkg string) map[string]bool {
	set := map[string]bool{}
	for _, f := range t.files {
		if f.test || !matches(f.pkg, []string{pkg + "/..."}) {
			continue
		}
		each(f.ast, func(lit *ast.CompositeLit) {
			words := append(wordsOf(lit, "Use"), wordsOf(lit, "ValidArgs")...)
			for i, w := range words {
				if i == 0 {
					set[w] = true
				} else {
					set[words[0]+" "+w] = true
				}
			}
		})
	}
	return set
}

// wordsOf returns the words in the strings of a field of a composite literal.
func wordsOf(lit *ast.CompositeLit, field string) (words []string) {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && named(kv.Key, field) {
			each(kv.Value, func(s *ast.BasicLit) {
				words = append(words, strings.FieldsFunc(s.Value, func(r rune) bool { return !unicode.IsLower(r) })...)
			})
		}
	}
	return words
}

func checkDropReasons(fixed []fixedName, t *tree) []string {
	said := literals(t, "dataplane")
	return checkDelivered("drop reason", fixed, func(name string) bool { return said[name] })
}

func checkCommands(fixed []fixedName, t *tree) []string {
	uses := commands(t, "cmd/pfcswitch")
	return checkDelivered("command", fixed, func(name string) bool {
		_, last, nested := strings.Cut(name, " ")
		return uses[name] || nested && uses[last]
	})
}

func TestMetricNames(t *testing.T) {
	report(t, "names and labels of metrics.txt", checkFamilies(table(t, "metrics.txt"), metrics.Families()))
}

func TestDropReasonNames(t *testing.T) {
	report(t, "names of drop_reasons.txt", checkDropReasons(table(t, "drop_reasons.txt"), project(t)))
}

func TestCommandNames(t *testing.T) {
	report(t, "names of commands.txt", checkCommands(table(t, "commands.txt"), project(t)))
}

func TestParseTable(t *testing.T) {
	got := parseTable("# comment\n\nup\npending drops_total  port   reason ...\n", true)
	assert.True(t, len(got) == 2 && got[0].name == "up" && !got[0].pending && len(got[0].labels) == 0 &&
		got[1].name == "drops_total" && got[1].pending && strings.Join(got[1].labels, ",") == "port,reason,...",
		"metrics: got %+v", got)
	got = parseTable("show ports\n", false)
	assert.True(t, len(got) == 1 && got[0].name == "show ports", "commands: got %+v", got)
}

func TestCheckNamesInSource(t *testing.T) {
	fixed := []fixedName{{name: "up"}, {name: "later", pending: true}}
	on := func(run func([]fixedName, *tree) []string) func(*tree) []string {
		return func(t *tree) []string { return run(fixed, t) }
	}
	verify(t, on(checkDropReasons), []check{
		{"there", map[string]string{"dataplane/a.go": "var a = []string{`up`}"}, nil},
		{"gone", map[string]string{"dataplane/a.go": `var up = "down"`, "macctl/a.go": `var a = "up"`},
			[]string{"drop reason up is gone"}},
	})
	verify(t, on(checkCommands), []check{
		{"there", map[string]string{"cmd/pfcswitch/a.go": `var a = cobra.Command{Use: "up FILE", Short: "later"}`},
			nil},
		{"gone", map[string]string{"cmd/pfcswitch/a.go": `var a = cobra.Command{Use: "later", Short: "up"}`},
			[]string{"command later is delivered", "command up is gone"}},
	})
	nested := []fixedName{{name: "show ports"}, {name: "show later", pending: true}}
	verify(t, func(t *tree) []string { return checkCommands(nested, t) }, []check{
		{"in Use", map[string]string{"cmd/pfcswitch/a.go": `var a = cobra.Command{Use: "show ports|pfc"}`}, nil},
		{"in ValidArgs",
			map[string]string{"cmd/pfcswitch/a.go": `var a = cobra.Command{Use: "show", ValidArgs: []string{"ports"}}`},
			nil},
		{"a command of its own", map[string]string{"cmd/pfcswitch/a.go": `var a = cobra.Command{Use: "ports"}`}, nil},
		{"of another command",
			map[string]string{"cmd/pfcswitch/a.go": `var a = cobra.Command{Use: "clear ports|later"}`},
			[]string{"show ports is gone"}},
	})
}

func TestCheckFamilies(t *testing.T) {
	fixed := []fixedName{
		{name: "up"}, {name: "drops", labels: []string{"port", "reason"}},
		{name: "trunk", labels: []string{"trunk", "..."}}, {name: "later", pending: true},
	}
	for _, test := range []struct {
		name     string
		families map[string][]string
		want     []string
	}{
		{"as fixed", map[string][]string{"pfcswitch_up": nil, "pfcswitch_drops": {"reason", "port"},
			"pfcswitch_trunk": {"trunk", "any"}, "more": nil}, nil},
		{"a label less", map[string][]string{"pfcswitch_up": nil, "pfcswitch_drops": {"port"},
			"pfcswitch_trunk": {"any"}}, []string{"drops lacks the label reason", "trunk lacks the label trunk"}},
		{"a label more", map[string][]string{"pfcswitch_up": {"port"}, "pfcswitch_drops": {"port", "reason"},
			"pfcswitch_trunk": {"trunk"}}, []string{"up has the label port more"}},
		{"gone, and there at last", map[string][]string{"pfcswitch_drops": {"port", "reason"},
			"pfcswitch_trunk": {"trunk"}, "pfcswitch_later": nil}, []string{"later is delivered", "up is gone"}},
	} {
		t.Run(test.name, func(t *testing.T) { says(t, checkFamilies(fixed, test.families), test.want) })
	}
}
