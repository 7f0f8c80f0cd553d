package main

import (
	"os"
	"strings"
	"testing"
)

// A probe against loops would be counted among the frames of a load, and be taken for its first.
func TestNoProbesAmongFrames(t *testing.T) {
	texts := map[string]string{"ports": portsYAML(4), "fdb": fdbYAML}
	for _, file := range []string{"../bench.yaml", "../bench-trunk.yaml"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(b)
	}
	for name, text := range texts {
		ports := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "  p") {
				continue
			}
			if ports++; !strings.Contains(line, "loop: off") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if ports < 3 {
			t.Errorf("%s: %d ports", name, ports)
		}
	}
}
