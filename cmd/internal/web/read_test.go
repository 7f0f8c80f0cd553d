package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A switch is read at its address and nowhere else, and what is none says so.
func TestRead(t *testing.T) {
	good, err := json.Marshal(sampleState())
	must(t, err)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(good) }))
	defer elsewhere.Close()
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // the error; empty: the state
	}{
		{"a state", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/state" || r.Method != http.MethodGet {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write(good)
		}, ""},
		{"a redirection", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/v1/state", http.StatusFound)
		}, "it answers 302 Found"},
		{"another service", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "is not the state of a switch"},
		{"another object", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, "is not the state of a switch"},
		{"half of it", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"schema":1,"ports":[]}`) }, "not the whole state"},
		{"another schema", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"schema":2}`) }, "schema 2"},
		{"no end", func(w http.ResponseWriter, _ *http.Request) {
			for w.Header().Set("Content-Type", "text/plain"); ; {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, "too long"},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "in time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(tt.answer)
			defer s.Close()
			sw, err := SwitchAt(strings.TrimPrefix(s.URL, "http://"))
			must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), pollTimeout)
			defer cancel()
			state, err := sw.Read(ctx)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && state.SwitchNs != 1e9 {
				t.Errorf("got %+v, %v, want %q", state, err, tt.want)
			}
		})
	}
}

// What can be no address is refused before anybody is asked.
func TestAt(t *testing.T) {
	for address, want := range map[string]bool{
		"192.0.2.7:9808": true, "[2001:db8::1]:9808": true, "[fe80::1%eth0]:9808": true, "leaf1:1": true, "leaf-1.example.:65535": true, "/run/a b.sock": true, "./x": true,
		"": false, "leaf1": false, ":9808": false, "leaf1:": false, "leaf1:0": false, "leaf1:65536": false, "leaf1:-1": false, "a b:9808": false, "a b:99999": false,
		"-a:9808": false, "http://x/": false, "http://x:9808": false, "a@b:9808": false, "a\n:9808": false,
	} {
		if _, err := SwitchAt(address); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// What is not there is said in words.
func TestReadNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_ = l.Close()
	for _, address := range []string{l.Addr().String(), filepath.Join(t.TempDir(), "none.sock")} {
		sw, err := SwitchAt(address)
		must(t, err)
		if _, err := sw.Read(t.Context()); err == nil || err.Error() != "it does not run" {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Whatever another switch sends is a state that can be shown, or an error, and what is a state stays one.
func FuzzDecode(f *testing.F) {
	good, err := json.Marshal(sampleState())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":1,"pfc":[{"port":"p1","priorities":[{"priority":"all"}]},{"port":"p1","priorities":null}]}`))
	f.Add([]byte(`{"schema":1,"switch_time_ns":-9223372036854775808,"pfc":[{"priorities":[{"received_paused_ns":-1},{}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decode(bytes.NewReader(b))
		if err != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(bytes.NewReader(text)); err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, text)
		}
	})
}
