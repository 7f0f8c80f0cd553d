package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/metrics"
)

// metricUse matches the name of a metric in a dashboard or a rule.
var metricUse = regexp.MustCompile(`\bpfcswitch_[a-z0-9_]+\b`)

// artefacts are the folders whose files use metrics.
var artefacts = []string{"metrics/grafana", "metrics/rules"}

// checkArtefacts finds metrics in dashboards and rules that are neither exported nor promised: lines of metrics.txt
// that begin with "pending". It returns also the names that are used.
func checkArtefacts(t *tree, promised []fixedName, exported func(name string) bool) (found, used []string) {
	for _, folder := range artefacts {
		files, err := fs.Glob(t.fs, folder+"/*")
		if err != nil {
			return append(found, err.Error()), nil
		}
		for _, file := range files {
			b, err := fs.ReadFile(t.fs, file)
			if err != nil {
				return append(found, err.Error()), nil
			}
			for _, name := range metricUse.FindAllString(string(b), -1) {
				if name == "pfcswitch_test" { // the name of a file
					continue
				}
				used = append(used, name)
				known := exported(name) || slices.ContainsFunc(promised, func(n fixedName) bool {
					return "pfcswitch_"+n.name == name && n.pending
				})
				if finding := fmt.Sprintf("%s: uses %s, which nobody exports or promises (testdata/metrics.txt): its "+
					"panel or alert would stay empty", path.Base(file), name); !known &&
					!slices.Contains(found, finding) {
					found = append(found, finding)
				}
			}
		}
	}
	slices.Sort(used)
	return found, slices.Compact(used)
}

func TestMetricsOfArtefacts(t *testing.T) {
	source, families := project(t), metrics.Families()
	found, used := checkArtefacts(source, table(t, "metrics.txt"), func(name string) bool {
		_, ok := families[name]
		return ok
	})
	report(t, "dashboards and rules use metrics that there are or will be", found)
	assert.True(t, source.packages()["metrics"] == nil || len(used) >= 30,
		"dashboards and rules use only %d metrics: %s", len(used), strings.Join(used, " "))
}

func TestCheckArtefacts(t *testing.T) {
	promised := []fixedName{{name: "later", pending: true}, {name: "gone"}}
	verify(t, func(t *tree) []string {
		found, _ := checkArtefacts(t, promised, func(name string) bool { return name == "pfcswitch_up" })
		return found
	}, []check{
		{"there, and promised", map[string]string{"metrics/rules/a.yml": "expr: pfcswitch_up + " +
			"pfcswitch_later{port=~\"pfcswitch.*\"}", "metrics/x.json": "pfcswitch_x"}, nil},
		{"neither", map[string]string{"metrics/grafana/a.json": "rate(pfcswitch_gone[1m]) + pfcswitch_gone"},
			[]string{"a.json: uses pfcswitch_gone"}},
	})
}
