package sonic

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// write returns the JSON text of a database.
func write(t *testing.T, d *database) []byte {
	t.Helper()
	all := map[string]map[string]map[string]any{}
	for _, table := range d.tables {
		rows := map[string]map[string]any{}
		for _, r := range table.rows {
			fields := map[string]any{}
			for _, f := range r.fields {
				fields[f.at.Field] = f.text
				if f.list != nil {
					fields[f.at.Field] = f.list
				}
			}
			rows[r.at.Key] = fields
		}
		all[table.name] = rows
	}
	return assert.Got(json.Marshal(all)).Must(t)
}

// explained tells whether a place counts: it is in an error or in the list, or something else is written.
func explained(at Place, before string, im *Imported, err error) bool {
	if err != nil {
		row := Place{at.Table, at.Key, ""}
		if at.Key == "GLOBAL" { // the poll of all ports is compared with the times of each
			row = Place{Table: at.Table}
		}
		return strings.Contains(err.Error(), at.String()) || strings.Contains(err.Error(), row.String())
	}
	return string(im.YAML) != before || slices.ContainsFunc(im.Left, func(l Left) bool { return l.contains(at) })
}

// changes are other values of a field.
func changes(text string) []string {
	var n int
	if _, err := fmt.Sscan(text, &n); err == nil {
		return []string{fmt.Sprint(n + 1), fmt.Sprint(n - 1), fmt.Sprint(-2*n - 1), text + "x"}
	}
	return []string{text + "x", ""}
}

// Whatever is changed in a file, the configuration is another one, or an error or the list says where and why.
func TestChangesAreExplained(t *testing.T) {
	t.Parallel()
	tried := 0
	for path, data := range samples(t) {
		im := assert.Got(Import(path, data)).Must(t)
		before := string(im.YAML)
		d := assert.Got(readDatabase(data)).Must(t)
		alike := map[string]int{} // how often a public file has a field: at dozens of ports
		for _, table := range d.tables {
			for _, r := range table.rows {
				for _, f := range r.fields {
					left := slices.ContainsFunc(im.Left, func(l Left) bool { return l.contains(f.at) })
					kind := fmt.Sprint(f.at.Table, f.at.Field, left)
					if alike[kind]++; alike[kind] > 1 && public(path) {
						continue
					}
					old := *f
					for _, f.text = range changes(old.text) {
						if f.list = nil; f.text == old.text {
							continue
						}
						tried++
						im, err := Import(path, write(t, d))
						assert.True(t, explained(f.at, before, im, err),
							"%s: %s: %q instead of %q makes no difference, and nobody says so (%v)", path, f.at, f.text,
							old.text, err)
					}
					*f = old
				}
			}
		}
	}
	assert.True(t, tried >= 1000, "only %d changes were tried", tried)
}

func public(path string) bool {
	is, _ := filepath.Match(publicFiles, path)
	return is
}

// Whatever is added to a file, an error or the list says where and why.
func TestAdditionsAreExplained(t *testing.T) {
	t.Parallel()
	tried := 0
	for path, data := range read(t, "testdata/*.json", 4) {
		im := assert.Got(Import(path, data)).Must(t)
		before := string(im.YAML)
		try := func(d *database, at Place) {
			tried++
			im, err := Import(path, write(t, d))
			assert.True(t, explained(at, before, im, err), "%s: %s was added, and nobody says so (%v)", path, at, err)
		}
		d := assert.Got(readDatabase(data)).Must(t)
		known := map[string]map[string]bool{} // fields by table, of this file and of SONiC's manual
		for _, table := range d.tables {
			known[table.name] = map[string]bool{"never_seen": true}
			for _, r := range table.rows {
				for _, f := range r.fields {
					known[table.name][f.at.Field] = true
				}
			}
		}
		for _, table := range d.tables {
			for _, r := range table.rows {
				for name := range known[table.name] {
					if !slices.ContainsFunc(r.fields, func(f *field) bool { return f.at.Field == name }) {
						r.fields = append(r.fields, &field{at: Place{table.name, r.at.Key, name}, text: "6"})
						try(d, r.fields[len(r.fields)-1].at)
						r.fields = r.fields[:len(r.fields)-1]
					}
				}
			}
			for _, key := range []string{"NEW", "Ethernet77", "Vlan77", "Vlan77|Ethernet77", "Ethernet77|3", "N|3-4"} {
				for _, fields := range [][]*field{nil, {{at: Place{table.name, key, "never_seen"}, text: "6"}}} {
					at := Place{table.name, key, ""}
					rows := table.rows
					table.rows = append(slices.Clone(rows), &row{at: at, fields: fields})
					try(d, at)
					table.rows = rows
				}
			}
		}
		for _, name := range append(slices.Clone(tables), "NEVER_SEEN") {
			if known[name] == nil {
				at := Place{Table: name, Key: "NEW"}
				d.tables = append(d.tables, &table{name, []*row{{at: at, fields: []*field{{at: Place{name, "NEW",
					"never_seen"}, text: "6"}}}}})
				try(d, at)
				d.tables = d.tables[:len(d.tables)-1]
			}
		}
	}
	assert.True(t, tried >= 800, "only %d additions were tried", tried)
}

// The comments at the end name everything that is left: tables, keys, fields and reasons.
func TestTheListIsWritten(t *testing.T) {
	for path, data := range samples(t) {
		im := assert.Got(Import(path, data)).Must(t)
		plain := func(text string) string { return strings.ReplaceAll(text, " ", "") }
		text := strings.ReplaceAll(string(im.YAML), "\n#   ", "")
		var entries []string
		for line := range strings.Lines(text) {
			if entry, ok := strings.CutPrefix(line, "# "); ok {
				entries = append(entries, plain(strings.TrimSpace(entry)))
			}
		}
		used := map[int]bool{}
		for _, l := range im.Left {
			i := slices.IndexFunc(entries, func(entry string) bool {
				return strings.HasPrefix(entry, l.Table) && strings.HasSuffix(entry, ":"+plain(l.Why)) &&
					strings.Contains(","+strings.Replace(entry, "|", "|,", 1), ","+l.Key) &&
					strings.Contains(entry, l.Field)
			})
			assert.True(t, i >= 0, "%s: no comment has %s: %s", path, l.Place, l.Why)
			used[i] = true
		}
		if got, want := len(used), len(entries)-min(2, 1+len(im.Left)); got != want { // titles
			t.Errorf("%s: %d comments, and %d tell what is left: %v", path, want, got, slices.Sorted(maps.Keys(used)))
		}
	}
}
