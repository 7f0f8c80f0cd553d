package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
)

//go:embed static
var static embed.FS

// Stylesheet is that of the page.
//
//go:embed static/page.css
var Stylesheet string

// A Config says what is served.
type Config struct {
	Poller  *Poller
	State   func() *api.State // of this program's own switch; nil: it has none
	Metrics http.Handler      // nil: there are none
	Listen  string            // the address as it was written
	Hosts   []string          // more names by which browsers may reach it
}

// policy holds headers that let a browser run and load only this page's files, and forbid others to frame or read it.
var policy = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
		"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// Handler serves
//
//	GET /            the page, and /page.css, /page.js, /topology.js, /history.js, /icon.svg
//	GET /v1/view     what it shows: server-sent events, a View each
//	GET /v1/history  the last five minutes of the switch that ?switch= names by its label, by default the first
//	GET /v1/state    the switch's own state as JSON
//	GET /metrics     for Prometheus
//
// and nothing that changes anything.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	handlePage(mux)
	mux.HandleFunc("GET /v1/view", c.Poller.stream)
	paced := newPacer()
	mux.Handle("GET /v1/history", paced.handler(http.HandlerFunc(c.Poller.history)))
	if c.State != nil {
		mux.Handle("GET /v1/state", paced.handler(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, c.State()) })))
	}
	if c.Metrics != nil {
		mux.Handle("GET /metrics", paced.handler(c.Metrics))
	}
	return guard(c.names(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for key, value := range policy {
			w.Header().Set(key, value)
		}
		mux.ServeHTTP(w, r)
	}))
}

// names are the names of this machine. Addresses and names without a dot need not be listed.
func (c *Config) names() (names []string) {
	names = append(names, c.Hosts...)
	if host, _, err := net.SplitHostPort(c.Listen); err == nil {
		names = append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	return names
}

// files are those of the page by name, which all switches of a process share.
var files = sync.OnceValue(func() map[string][]byte {
	all := map[string][]byte{}
	names, _ := fs.Glob(static, "static/*") // only a malformed pattern is an error
	for _, name := range names {
		all[path.Base(name)], _ = static.ReadFile(name) // part of the program
	}
	return all
})

func handlePage(mux *http.ServeMux) {
	for name, content := range files() {
		mux.HandleFunc("GET /"+strings.Replace(name, "index.html", "{$}", 1), serveFile(name, content))
	}
}

// serveFile serves a file with an ETag, so that browsers revalidate it each time.
func serveFile(name string, content []byte) http.HandlerFunc {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = api.WriteJSONLine(w, v) // a client that is gone needs no answer
}

// guard accepts only requests to a name of this machine. With DNS rebinding, a foreign page makes a browser send its
// own name to this address.
func guard(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Host, names) {
			http.Error(w, fmt.Sprintf("%q is no name of this switch: use its address, or add the name to metrics.hosts",
				r.Host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowed tells whether a Host header is harmless: an address, a name without a dot, which nobody can own in the public
// DNS, or one of names. HTTP/1.0 clients send none.
func allowed(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") || slices.Contains(names, host)
}
