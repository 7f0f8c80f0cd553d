package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// A change is another value of a key, or of a mapping of them, while the switch runs.
type change struct {
	path    string // ports.p1.speed
	value   any
	also    tree   // what has to change with it, by path
	shows   string // what the configuration in force says instead of value; "-": nothing
	refused string // in the error of a change that the switch refuses; empty: it takes it
	// effect tells whether the switch does what the change says. It holds once the change has been made, or soon, where
	// later is set. A refused change has none.
	effect func(r *rig) bool
	later  bool
}

// tree is a configuration, or a part of one.
type tree = map[string]any

// put puts a value at a path.
func put(in tree, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := in[key].(tree)
		if !ok {
			next = tree{}
			in[key] = next
		}
		in = next
	}
	in[keys[len(keys)-1]] = value
}

// in makes the change in a configuration.
func (c *change) in(whole tree) {
	put(whole, c.path, c.value)
	for path, value := range c.also {
		put(whole, path, value)
	}
}

// inForce fails the test where the change has been made and has no effect.
func (c *change) inForce(t *testing.T, r *rig) {
	t.Helper()
	switch {
	case c.effect == nil:
	case c.later:
		eventually(t, c.path+" has its effect", func() bool { return c.effect(r) })
	case !c.effect(r):
		t.Errorf("the change of %s has been made, and is not in force", c.path)
	}
}

// get returns what stands at a path.
func get(in tree, path string) any {
	var found any = in
	for key := range strings.SplitSeq(path, ".") {
		in, _ = found.(tree)
		found = in[key]
	}
	return found
}

// leaves returns the single values below a path, and lists of them.
func leaves(path string, value any) map[string]any {
	all := map[string]any{}
	switch v := value.(type) {
	case tree:
		for key, below := range v {
			maps.Copy(all, leaves(path+"."+key, below))
		}
	default:
		all[path] = value
	}
	return all
}

// schemaPaths are the paths of the schema that a change covers.
func (c *change) schemaPaths() (paths []string) {
	for path, value := range leaves(c.path, c.value) {
		keys := strings.Split(path, ".")
		for i, key := range keys {
			if _, err := strconv.Atoi(key); err == nil || i == 1 && (keys[0] == "ports" || keys[0] == "trunks") {
				keys[i] = "*"
			}
		}
		path = strings.Join(keys, ".")
		list, ok := value.([]any)
		if !ok {
			paths = append(paths, path)
			continue
		}
		for _, item := range list {
			for below, value := range leaves(path+"[]", item) {
				if _, list := value.([]any); list {
					below += "[]"
				}
				paths = append(paths, below)
			}
		}
	}
	return paths
}

func load(t testing.TB, text []byte) tree {
	t.Helper()
	in := tree{}
	must(t, yaml.Unmarshal(text, &in))
	return in
}

// Every key that a file may have is changed by a test: a new key without a change fails here.
func TestEveryKeyIsChanged(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range slices.Concat(bridgeChanges, trunkChanges) {
		assert.True(t, c.refused != "" || c.effect != nil,
			"nothing tells whether a change of %s is in force: give it an effect", c.path)
		for _, path := range c.schemaPaths() {
			covered[path] = true
		}
	}
	known := map[string]bool{}
	var paths []string
	config.NewSchema().Walk(func(path string, s *config.Schema) {
		paths = append(paths, path)
		known[path] = s.Not == nil || s.Type != nil
	})
	for i, path := range paths {
		leaf := i+1 == len(paths) || !strings.HasPrefix(paths[i+1], path+".") && !strings.HasPrefix(paths[i+1],
			path+"[")
		assert.True(t, !leaf || !known[path] || covered[path],
			"no test changes %s while the switch runs: add a change of it", path)
	}
	for path := range covered {
		assert.True(t, known[path], "%s is changed, and no key", path)
	}
	assert.True(t, len(covered) >= 100, "only %d keys: is the schema whole?", len(covered))
	t.Logf("%d keys", len(covered))
}

// written compares a value with that of another YAML.
func written(v any) string { return fmt.Sprint(v) }
