package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Switches of one process that would take each other's socket or address are refused before any starts.
func TestChooseGuestsRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name+".yaml")
		assert.Must(t, os.WriteFile(path, []byte("name: "+name+"\npreset: roce\nports: {none0: {}}\n"), 0o600))
		return path
	}
	a, b := file("a"), file("b")
	for _, c := range []struct {
		files, namespaces []string
		metrics, want     string // empty: accepted
	}{
		{[]string{a, a}, nil, "off", "same control socket"},
		{[]string{a, b}, nil, "127.0.0.1:9810", "same network namespace"},
		{[]string{a, b}, []string{"x", "y"}, "127.0.0.1:9810", ""},
		{[]string{a, b}, nil, "off", ""},
		{[]string{a}, []string{"x/y"}, "off", "is not a network namespace"},
	} {
		_, err := chooseGuests(t.Context(), c.files, c.namespaces, nil, c.metrics, "text")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %s: %v, want %q", c.files, c.namespaces, c.metrics, err, c.want)
		}
	}
}
