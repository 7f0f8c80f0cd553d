package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAllowedHosts(t *testing.T) {
	names := []string{"leaf1.example.net"}
	for host, want := range map[string]bool{
		"127.0.0.1:9808": true, "127.0.0.1": true, "[::1]:9808": true, "[::1]": true, "192.0.2.7:80": true, "localhost:9808": true, "LOCALHOST": true,
		"a.localhost": true, "leaf1:9808": true, "clab-lab-leaf1:9808": true, "": true, "leaf1.example.net:9808": true, "Leaf1.Example.Net.": true,
		"evil.example": false, "evil.example:9808": false, "127.0.0.1.evil.example": false, "localhost.evil.example:9808": false,
		"leaf1.example.net.evil.example": false, "evil.example.": false, "xlocalhost.example": false, "[evil.example]:1": false,
	} {
		if got := allowed(host, names); got != want {
			t.Errorf("%q: allowed %v, want %v", host, got, want)
		}
	}
}

// A request by a foreign name gets nothing, whatever it asks for.
func TestRebinding(t *testing.T) {
	h := handler(t, Config{Metrics: http.NotFoundHandler()})
	for _, path := range []string{"/", "/page.js", "/v1/view", "/v1/state", "/metrics"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "evil.example:9808"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusMisdirectedRequest || !strings.Contains(w.Body.String(), "metrics.hosts") {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	}
}
