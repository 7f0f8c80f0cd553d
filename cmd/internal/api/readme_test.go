package api

import (
	"net/http"
	"net/url"
	"os"
	"pfcswitch/dataplane/assert"
	"regexp"
	"strings"
	"testing"
	"time"
)

// README's table of requests has exactly the requests that the server answers.
func TestReadmeNamesRequests(t *testing.T) {
	b := assert.Got(os.ReadFile("README.md")).Must(t)
	_, table, _ := strings.Cut(string(b), "| request | answer |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	s := NewServer(&fake{}, time.Now(), 0)
	said := map[string]bool{}
	for row := range strings.Lines(table) {
		method := ""
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, m := range regexp.MustCompile("`([A-Z]+ )?(/[^`]*)`").FindAllStringSubmatch(cell, -1) {
			if m[1] != "" {
				method = strings.TrimSpace(m[1])
			}
			path, _, _ := strings.Cut(m[2], "?")
			for _, noun := range Nouns() {
				_, pattern := s.mux.Handler(&http.Request{Method: method,
					URL: &url.URL{Path: strings.Replace(path, "NOUN", noun, 1)}})
				assert.True(t, pattern != "", "README.md: nothing answers %s %s", method, m[2])
				said[pattern] = true
			}
		}
	}
	for pattern := range s.requests() {
		assert.True(t, said[pattern], "README.md: the table of requests has no %s", pattern)
	}
}
