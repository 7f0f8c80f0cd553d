package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// expansions are some that were read again and were good, which depends on nothing but their text.
type expansions map[string]bool

// wantReadAgain reads an expansion, and wants the same of what it has read.
func (e expansions) wantReadAgain(t testing.TB, expanded []byte) {
	if e[string(expanded)] {
		return
	}
	again, _, err := Parse("expanded.yaml", expanded)
	assert.MustNoError(t, err, "the expansion is refused:\n%s", expanded)
	twice := Expand(again)
	assert.MustBeTrue(t, bytes.Equal(twice, expanded), "expanded again:\n%s\nwant\n%s", twice, expanded)
	if len(e) == 1024 {
		clear(e)
	}
	e[string(expanded)] = true
}

// sections splits a file before each of its lines that begins with a key. They take less time than the file.
func sections(data []byte) (all [][]byte) {
	for line := range bytes.Lines(data) {
		switch n := len(all); {
		case line[0] == '#':
		case n > 0 && strings.ContainsRune(" \t\n-]}", rune(line[0])):
			all[n-1] = append(all[n-1], line...)
		default:
			all = append(all, bytes.Clone(line))
		}
	}
	return all
}

// FuzzParse: whatever stands in a file, Parse returns a Config or errors with places, and what it
// returns survives being written out and read again.
func FuzzParse(f *testing.F) {
	good := expansions{}
	check := func(t testing.TB, data []byte) {
		c, _, err := Parse("fuzz.yaml", data)
		if err != nil {
			wantPlaced(t, err)
			return
		}
		c.Check(Machine{})
		good.wantReadAgain(t, Expand(c))
	}
	const short = 128 // octets of a file that is no longer to be split
	for _, file := range assert.Got(filepath.Glob("testdata/*/*.yaml")).Must(f) {
		data := assert.Got(os.ReadFile(file)).Must(f)
		check(f, data)
		if len(data) <= short {
			f.Add(data)
			continue
		}
		for _, section := range sections(data) {
			f.Add(section)
		}
	}
	for _, seed := range []string{
		"", "a", "[1]", "a: *b", "<<: *a", "a: &a {<<: *a}", "? [a]\n: b", "ports: {<<: [{p1: {}}, {p2: {}}]}",
		"name: !!str |\n x", "buffer: {cell: 0x10}", "---\n---\na: 1", "%YAML 1.2\n---\nname: x", "*a : 1", "&a x: *a",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}
