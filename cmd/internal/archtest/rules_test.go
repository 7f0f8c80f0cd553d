package archtest

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"pfcswitch/metrics"
)

// ruleFile is the part of a file of Prometheus alert rules that is checked.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			Annotations map[string]string
		}
	}
}

var (
	metricName = regexp.MustCompile(`\bpfcswitch_\w+`)
	ruleLabel  = regexp.MustCompile(`\$labels\.(\w+)`)
)

// checkRules finds alert rules that Prometheus could not read, or that ask for metrics or labels that nobody exports.
func checkRules(t *tree, families map[string][]string) (found []string) {
	files, err := fs.Glob(t.fs, "metrics/rules/*.yml")
	if err != nil || len(files) == 0 {
		return []string{fmt.Sprintf("metrics/rules: no alert rules: %v", err)}
	}
	for _, file := range files {
		b, err := fs.ReadFile(t.fs, file)
		var r ruleFile
		if err == nil {
			err = yaml.Unmarshal(b, &r)
		}
		if err != nil || len(r.Groups) == 0 {
			found = append(found, fmt.Sprintf("%s: no groups of rules: %v", file, err))
		}
		for _, g := range r.Groups {
			for _, rule := range g.Rules {
				found = append(found, checkRule(file+": "+rule.Alert, rule.Expr, rule.Annotations, families)...)
			}
		}
	}
	return found
}

func checkRule(at, expr string, annotations map[string]string, families map[string][]string) (found []string) {
	names := metricName.FindAllString(expr, -1)
	if strings.HasSuffix(at, ": ") || len(names) == 0 || annotations["summary"] == "" || annotations["description"] == "" {
		found = append(found, at+": wants a name, a metric of ours, a summary and a description")
	}
	for _, n := range names {
		labels, ok := families[n]
		if !ok {
			found = append(found, fmt.Sprintf("%s: nobody exports %s", at, n))
			continue
		}
		for _, l := range ruleLabel.FindAllStringSubmatch(annotations["summary"], -1) {
			if l[1] != "instance" && !strings.Contains(" "+strings.Join(labels, " ")+" ", " "+l[1]+" ") {
				found = append(found, fmt.Sprintf("%s: %s has no label %s", at, n, l[1]))
			}
		}
	}
	return found
}

func TestAlertRules(t *testing.T) {
	report(t, "alert rules ask for what is exported", checkRules(project(t), metrics.Families()))
}

func TestCheckRules(t *testing.T) {
	rule := func(expr, summary string) map[string]string {
		return map[string]string{"metrics/rules/a.yml": "groups:\n- rules:\n  - alert: A\n    expr: " + expr + "\n    annotations: {summary: '" + summary + "', description: d}\n"}
	}
	verify(t, func(t *tree) []string { return checkRules(t, map[string][]string{"pfcswitch_x_total": {"port"}}) }, []check{
		{"fine", rule("rate(pfcswitch_x_total[5m]) > 0", "{{ $labels.port }} at {{ $labels.instance }}"), nil},
		{"a metric that is not there", rule("pfcswitch_y > 0", "s"), []string{"nobody exports pfcswitch_y"}},
		{"a label that is not there", rule("pfcswitch_x_total > 0", "{{ $labels.priority }}"), []string{"has no label priority"}},
		{"no metric", rule("up == 0", "s"), []string{"wants a name"}},
		{"not YAML", map[string]string{"metrics/rules/a.yml": "groups: ["}, []string{"no groups of rules"}},
		{"none", nil, []string{"no alert rules"}},
	})
}
