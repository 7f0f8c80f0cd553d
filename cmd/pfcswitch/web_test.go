package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Wrong flags are refused before the page listens.
func TestWebRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	wantRefused(t, webCommand, map[string]string{
		"--listen 9809":                             "--listen 9809: is not an address",
		"--listen off":                              "--listen off: is not an address",
		"--host http://x":                           `--host "http://x"`,
		"--switch http://192.0.2.7:9808/":           `"http://192.0.2.7:9808/" is a URL: write host:port alone`,
		"--switch a:99999":                          `"a:99999" is no switch: write host:port`,
		"--switch a:0":                              "is no switch",
		"--switch a:http":                           "is no switch",
		"--switch a?b:80":                           "is no switch",
		"--switch no-such":                          "by the name no-such (looked for no-such.sock in ",
		"--switch 127.0.0.1:1 --switch 127.0.0.1:1": "stands twice",
		"--switch " + file:                          "is a file, not a socket",
		"--web-config /no/such.yml --switch 127.0.0.1:1": "/no/such.yml",
	})
}

// check reports faults of the web_config file at the key that names the file.
func TestCheckOfWebConfig(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "web.yml")
	path := filepath.Join(dir, "switch.yaml")
	assert.Must(t, os.WriteFile(path, []byte("preset: roce\nports: {p1: {}}\nmetrics: {web_config: "+web+"}\n"), 0o600))
	for _, tt := range []struct{ text, want string }{
		{"", "no such file or directory: name a file that exists"},
		{"tls: {}", "line 1: there is no such key"},
		{"basic_auth_users: {ann: $2a$04$6DtK3SCgCw9ZYvgCsvCbROYCOkTsuNqQDJoZsuMEp/ypyZGzPsg0K}", ""},
	} {
		if tt.text != "" {
			assert.Must(t, os.WriteFile(web, []byte(tt.text), 0o600))
		}
		_, _, err := loadWithFiles(path)
		if tt.want == "" {
			assert.NoError(t, err, "a good file")
			continue
		}
		assert.True(t, err != nil && strings.Contains(err.Error(), path+":3: metrics.web_config: ") &&
			strings.Contains(err.Error(), tt.want), "%q: %v\nwant %q", tt.text, err, tt.want)
	}
}

// check warns of a reachable address whose web_config file has no passwords.
func TestCheckOfExposedMetrics(t *testing.T) {
	dir := t.TempDir()
	web := filepath.Join(dir, "web.yml")
	path := filepath.Join(dir, "switch.yaml")
	for _, tt := range []struct {
		listen, text string
		warns        bool
	}{
		{"0.0.0.0:9808", "rate_limit: {interval: 1s, burst: 1}", true},
		{"127.0.0.1:9808", "rate_limit: {interval: 1s, burst: 1}", false},
		{"0.0.0.0:9808", "basic_auth_users: {ann: $2a$04$6DtK3SCgCw9ZYvgCsvCbROYCOkTsuNqQDJoZsuMEp/ypyZGzPsg0K}",
			false},
	} {
		for name, text := range map[string]string{web: tt.text,
			path: "preset: roce\nports: {p1: {}}\nmetrics: {listen: \"" + tt.listen + "\", web_config: " + web +
				"}\n"} {
			assert.Must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		warned := 0
		for _, f := range checkFile(path).Warnings {
			if f.Key != nil && *f.Key == "metrics.listen" && strings.Contains(f.Text, "whoever reaches this address") {
				warned++
			}
		}
		assert.True(t, warned != 0 == tt.warns && warned <= 1, "%s with %s: %d warnings", tt.listen, tt.text, warned)
	}
}
