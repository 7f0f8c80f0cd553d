package config

import (
	_ "embed"
	"strings"
)

//go:embed keys.txt
var keysFile string

// keyTexts returns the description of each key, by its path.
func keyTexts() map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(keysFile) {
		if path, text, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && !strings.HasPrefix(line, "#") {
			texts[path] = text
		}
	}
	return texts
}
