package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// handler completes a configuration with a switch that has one port.
func handler(t *testing.T, c Config) http.Handler {
	t.Helper()
	if c.Poller == nil {
		c.Poller = samplePoller()
		t.Cleanup(c.Poller.Close)
	}
	c.State = func() *api.State { return sampleState() }
	return Handler(c)
}

// sampleState is that of a switch with one port.
func sampleState() *api.State {
	return &api.State{Header: api.Header{Schema: api.Schema, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		SwitchNs: 1e9}, Ports: []api.Port{}, Pools: []api.Pool{}, Buffer: []api.BufferPort{},
		Queues: []api.QueuesPort{}, Headroom: []api.HeadroomPort{}, Watchdog: []api.WatchdogQueue{},
		LLDP: []api.LLDPPort{}, Events: []api.Event{},
		PFC: []api.PFCPort{{Port: "p1", FlowControl: "pfc", Priorities: []api.PFCPriority{{}}}}}
}

func sampleSwitch() Switch {
	return Switch{"s1", func(context.Context) (*api.State, error) { return sampleState(), nil },
		func(context.Context) (*api.History, error) { return sampleHistory("p1"), nil }}
}

func sampleHistory(port string) *api.History {
	return &api.History{Header: api.Header{Schema: api.Schema}, Ports: []api.PortHistory{{Port: port,
		TimesNs: []int64{5e8}}}}
}

func samplePoller() *Poller { return NewPoller([]Switch{sampleSwitch()}) }

func ask(h http.Handler, method, path string) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "http://127.0.0.1:9808"+path, strings.NewReader("name: other\n")))
	return w.Result()
}

// Nothing can be changed, cleared or captured here, by whatever method.
func TestOnlyReading(t *testing.T) {
	h := handler(t, Config{Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	for _, path := range []string{"/v1/apply", "/v1/apply?name=x", "/v1/clear/counters", "/v1/clear/watermarks",
		"/v1/capture", "/v1/config", "/v1/fdb", "/", "/v1/state", "/v1/view", "/metrics", "/page.js"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodConnect, http.MethodTrace, http.MethodOptions} {
			r := ask(h, method, path)
			assert.True(t, r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusMethodNotAllowed,
				"%s %s: status %d, want 404 or 405", method, path, r.StatusCode)
		}
	}
	for _, path := range []string{"/v1/apply", "/v1/clear/counters", "/v1/clear/watermarks", "/v1/capture"} {
		assert.Equal(t, ask(h, http.MethodGet, path).StatusCode, http.StatusNotFound, "GET %s: status", path)
	}
}

// No path leads to a file outside of the page.
func TestNoFiles(t *testing.T) {
	h := handler(t, Config{})
	for _, path := range []string{"/static/page.js", "/index.html", "/../handler.go", "/%2e%2e/handler.go",
		"/..%2fhandler.go", "/etc/passwd", "//etc/passwd", "/page.js/../../go.mod", "/v1/view/../../../etc/passwd",
		"/?file=/etc/passwd&switch=http://192.0.2.1/", "/%00"} {
		r := ask(h, http.MethodGet, path)
		b, _ := io.ReadAll(r.Body)
		page := r.StatusCode == http.StatusOK && strings.Contains(string(b), "<!doctype html>")
		if moved := r.StatusCode == http.StatusMovedPermanently ||
			r.StatusCode == http.StatusTemporaryRedirect; !moved && r.StatusCode != http.StatusNotFound && !page {
			t.Errorf("GET %s: status %d: %.80s", path, r.StatusCode, b)
		}
	}
}

// Every answer forbids what the page does not need, and lets no other origin read it.
func TestHeaders(t *testing.T) {
	h := handler(t, Config{})
	for _, path := range []string{"/", "/page.css", "/page.js", "/icon.svg", "/v1/state", "/nothing"} {
		r := ask(h, http.MethodGet, path)
		csp := r.Header.Get("Content-Security-Policy")
		assert.True(t, strings.Contains(csp, "default-src 'none'") && !strings.Contains(csp, "unsafe") &&
			!strings.Contains(csp, "*") && !strings.Contains(csp, "http"), "%s: policy %q", path, csp)
		for key, want := range policy {
			assert.Equal(t, r.Header.Get(key), want, "%s: %s", path, key)
		}
		for key := range r.Header {
			assert.True(t, !strings.HasPrefix(key, "Access-Control"), "%s: %s allows other origins", path, key)
		}
	}
}

// foreign matches what would load or run something outside of the page's files.
var foreign = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]+|@import|url\(|style="|<script>|\son[a-z]+="|` +
	`innerHTML|eval\(`)

// The page is small, and names nothing outside of itself.
func TestPageIsSmallAndAlone(t *testing.T) {
	total := 0
	err := fs.WalkDir(static, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := static.ReadFile(p)
		total += len(b)
		for _, m := range foreign.FindAllString(string(b), -1) {
			assert.True(t, m == "http://www.w3.org", "%s has %q", p, m) // the name of SVG, which nobody fetches
		}
		return err
	})
	assert.True(t, err == nil && total <= 100_000, "the page has %d bytes, want less than 100 kB (%v)", total, err)
	t.Logf("the page has %d bytes", total)
	readme := assert.Got(os.ReadFile("README.md")).Must(t)
	var said float64
	_, text, _ := strings.Cut(string(readme), "It is part of the program (")
	if _, err := fmt.Sscanf(text, "%f kB", &said); err != nil || math.Abs(said*1000-float64(total)) > 2000 {
		t.Errorf("the page has %d bytes; README.md says %v kB (%v)", total, said, err)
	}
}

// The large figures, which are green where nothing was lost, are not there before a switch has answered.
func TestNothingIsGreenBeforeAnAnswer(t *testing.T) {
	page := assert.Got(io.ReadAll(ask(handler(t, Config{}), http.MethodGet, "/").Body)).Must(t)
	assert.Contains(t, string(page), `<div id="figures" hidden>`, "the page before its first numbers")
}

// A browser that has the current page gets 304.
func TestPageIsKept(t *testing.T) {
	h := handler(t, Config{})
	first := ask(h, http.MethodGet, "/page.js")
	r := httptest.NewRequest(http.MethodGet, "/page.js", nil)
	r.Host = "localhost"
	r.Header.Set("If-None-Match", first.Header.Get("ETag"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusNotModified, "status")
}

// The state can be read by programs too.
func TestState(t *testing.T) {
	var s api.State
	err := json.NewDecoder(ask(handler(t, Config{}), http.MethodGet, "/v1/state").Body).Decode(&s)
	assert.True(t, err == nil && s.SwitchNs == 1e9, "%+v, %v", s, err)
}

// The history of each switch of the page can be asked for by its label, and of no other.
func TestHistory(t *testing.T) {
	second := sampleSwitch()
	second.Label, second.History = "s 2", func(context.Context) (*api.History, error) {
		return sampleHistory("p2"), nil
	}
	silent := Switch{Label: "s3", History: func(context.Context) (*api.History, error) { return nil, errSilent }}
	h := handler(t, Config{Poller: NewPoller([]Switch{sampleSwitch(), second, silent})})
	for path, want := range map[string]string{"": "p1", "?switch=s1": "p1", "?switch=s+2": "p2"} {
		var got api.History
		r := ask(h, http.MethodGet, "/v1/history"+path)
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || len(got.Ports) != 1 ||
			got.Ports[0].Port != want || got.Ports[0].TimesNs[0] != 5e8 || got.Ports[0].SentPaused == nil {
			t.Errorf("%s: %+v, %v, want that of %s", path, got, err, want)
		}
	}
	for path, want := range map[string]int{"?switch=s4": http.StatusNotFound, "?switch=s3": http.StatusNoContent} {
		assert.Equal(t, ask(h, http.MethodGet, "/v1/history"+path).StatusCode, want, "%s: status", path)
	}
}

var errSilent = errors.New("it does not run")

func TestAllowedHosts(t *testing.T) {
	names := []string{"leaf1.example.net"}
	for host, want := range map[string]bool{
		"127.0.0.1:9808": true, "127.0.0.1": true, "[::1]:9808": true, "[::1]": true, "192.0.2.7:80": true,
		"localhost:9808": true, "LOCALHOST": true,
		"a.localhost": true, "leaf1:9808": true, "clab-lab-leaf1:9808": true, "": true, "leaf1.example.net:9808": true,
		"Leaf1.Example.Net.": true,
		"evil.example":       false, "evil.example:9808": false, "127.0.0.1.evil.example": false,
		"localhost.evil.example:9808":    false,
		"leaf1.example.net.evil.example": false, "evil.example.": false, "xlocalhost.example": false,
		"[evil.example]:1": false,
	} {
		assert.Equal(t, allowed(host, names), want, "%q: allowed", host)
	}
}

// Every request by a foreign name is refused.
func TestRebinding(t *testing.T) {
	h := handler(t, Config{Metrics: http.NotFoundHandler()})
	for _, path := range []string{"/", "/page.js", "/v1/view", "/v1/state", "/metrics"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "evil.example:9808"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.True(t, w.Code == http.StatusMisdirectedRequest && strings.Contains(w.Body.String(), "metrics.hosts"),
			"%s: status %d: %s", path, w.Code, w.Body)
	}
}
