package archtest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pfcswitch/metrics"
)

// backticked matches a name in a cell of a table.
var backticked = regexp.MustCompile("`([a-z0-9_]+)`")

func namesIn(cell string) (names []string) {
	for _, m := range backticked.FindAllStringSubmatch(cell, -1) {
		names = append(names, m[1])
	}
	return names
}

// metricsTable adds the labels of each metric by the table of metrics of a README, by its name without prefix. A cell
// of labels that begins with the word "of" is about one metric of its row.
func metricsTable(file, markdown string, labels map[string][]string) (found []string) {
	_, table, _ := strings.Cut(markdown, "\n| metrics | labels | |\n")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			break
		}
		said, of := namesIn(cells[2]), ""
		if strings.HasPrefix(strings.TrimSpace(cells[2]), "of ") {
			of, said = said[0], said[1:]
		}
		for _, name := range namesIn(cells[1]) {
			if _, twice := labels[name]; twice {
				found = append(found, fmt.Sprintf("%s: metric %s stands twice", file, name))
			}
			if labels[name] = said; of != "" && of != name {
				labels[name] = nil
			}
		}
	}
	return found
}

// checkMetricsTable compares the tables of all READMEs with the families.
func checkMetricsTable(t *tree, families map[string][]string) (found []string) {
	said := map[string][]string{}
	all := readmes(t)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		found = append(found, metricsTable(file, all[file], said)...)
	}
	for full, labels := range families {
		name := strings.TrimPrefix(full, "pfcswitch_")
		told, ok := said[name]
		delete(said, name)
		if slices.Sort(labels); !ok {
			found = append(found, fmt.Sprintf("no table of a README has the metric %s", name))
		} else if slices.Sort(told); !slices.Equal(told, labels) {
			found = append(found, fmt.Sprintf("a README says that metric %s has the labels %v, and it has %v", name,
				told, labels))
		}
	}
	for name := range said {
		found = append(found, fmt.Sprintf("a README names the metric %s, which does not exist", name))
	}
	return found
}

func TestReadmeHasEveryMetric(t *testing.T) {
	report(t, "the tables of READMEs have every metric once, with its labels",
		checkMetricsTable(project(t), metrics.Families()))
}

func TestCheckMetricsTable(t *testing.T) {
	families := func() map[string][]string {
		return map[string][]string{"pfcswitch_up": {}, "pfcswitch_info": {"version"},
			"pfcswitch_drops": {"port", "reason"}}
	}
	const head = "text\n\n| metrics | labels | |\n|---|---|---|\n"
	verify(t, func(t *tree) []string { return checkMetricsTable(t, families()) }, []check{
		{"as it is", map[string]string{"README.md": head + "| `up`, `info` | of `info`: `version` | x |\n| `drops` | " +
			"`reason` `port` | y |\n\n`more`\n"}, nil},
		{"one is missing", map[string]string{"README.md": head + "| `up`, `info` | of `info`: `version` | x |\n"},
			[]string{"no table of a README has the metric drops"}},
		{"two tables", map[string]string{"README.md": head + "| `up`, `info` | of `info`: `version` | x |\n",
			"x/README.md": head + "| `drops` | `reason` `port` | y |\n"}, nil},
		{"one too many, and twice", map[string]string{"README.md": head + "| `up`, `info` | of `info`: `version` | x " +
			"|\n| `drops` | `reason` `port` | |\n| `drops` | `port` `reason` | |\n| `more` | | |\n"},
			[]string{"metric drops stands twice", "the metric more, which does not exist"}},
		{"another label", map[string]string{"README.md": head + "| `up` | | x |\n| `info` | `version` | |\n| `drops` " +
			"| `port` | y |\n"}, []string{"metric drops has the labels [port], and"}},
	})
}
