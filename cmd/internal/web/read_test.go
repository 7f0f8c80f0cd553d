package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// A switch is read at its address alone. Other services give an error.
func TestRead(t *testing.T) {
	good := assert.Got(json.Marshal(sampleState())).Must(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(good)
	}))
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
		{"another service", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
			"is not the state of a switch"},
		{"another object", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
			"is not the state of a switch"},
		{"half of it", func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = io.WriteString(w, `{"schema":1,"ports":[]}`)
		}, "not the whole state"},
		{"another schema", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"schema":2}`) },
			"schema 2"},
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
			sw := assert.Got(SwitchAt(strings.TrimPrefix(s.URL, "http://"))).Must(t)
			ctx, cancel := context.WithTimeout(t.Context(), pollTimeout)
			defer cancel()
			state, err := sw.Read(ctx)
			assert.True(t, (err == nil) == (tt.want == "") && (err == nil || strings.Contains(err.Error(), tt.want)) &&
				(err != nil || state.SwitchNs == 1e9), "got %+v, %v, want %q", state, err, tt.want)
		})
	}
}

// The history is read at the same address.
func TestReadHistory(t *testing.T) {
	answer := `{"schema":1,"ports":[{"port":"p1","sample_times_ns":[7]}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/history" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer s.Close()
	sw := assert.Got(SwitchAt(strings.TrimPrefix(s.URL, "http://"))).Must(t)
	h, err := sw.History(t.Context())
	assert.True(t, err == nil && h.Ports[0].Port == "p1" && h.Ports[0].TimesNs[0] == 7, "%+v, %v", h, err)
	answer = `{"schema":2}`
	_, err = sw.History(t.Context())
	assert.Fails(t, err, "schema 2", "another schema")
}

// A malformed address is refused.
func TestAt(t *testing.T) {
	for address, want := range map[string]bool{
		"192.0.2.7:9808": true, "[2001:db8::1]:9808": true, "[fe80::1%eth0]:9808": true, "leaf1:1": true,
		"leaf-1.example.:65535": true, "/run/a b.sock": true, "./x": true,
		"": false, "no-such-switch": false, ":9808": false, "leaf1:": false, "leaf1:0": false, "leaf1:65536": false,
		"leaf1:-1": false, "a b:9808": false, "a b:99999": false,
		"-a:9808": false, "http://x/": false, "http://x:9808": false, "a@b:9808": false, "a\n:9808": false,
	} {
		_, err := SwitchAt(address)
		assert.True(t, (err == nil) == want, "%q: %v", address, err)
	}
}

// A switch that runs here may be called by its name, as for -s.
func TestAtName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	assert.Must(t, os.Mkdir(filepath.Join(dir, "pfcswitch"), 0o700))
	assert.Must(t, os.WriteFile(filepath.Join(dir, "pfcswitch", "web-here.sock"), nil, 0o600))
	sw := assert.Got(SwitchAt("web-here")).Must(t)
	assert.Equal(t, sw.Label, "web-here", "label")
	t.Chdir(dir)
	assert.Must(t, os.Mkdir("web-here", 0o700)) // a file of that name is not meant
	all := assert.Got(find([]string{"web-here"})).Must(t)
	assert.Equal(t, len(all), 1, "switches")
}

// A missing switch gives a plain error.
func TestReadNobody(t *testing.T) {
	l := assert.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	_ = l.Close()
	for _, address := range []string{l.Addr().String(), filepath.Join(t.TempDir(), "none.sock")} {
		sw, err := SwitchAt(address)
		assert.Must(t, err)
		_, err = sw.Read(t.Context())
		assert.True(t, err != nil && err.Error() == "it does not run", "%s: %v", address, err)
	}
}

// Every answer of a switch is an error, or a state that can be written and read again.
func FuzzDecode(f *testing.F) {
	good := assert.Got(json.Marshal(sampleState())).Must(f)
	f.Add(good)
	f.Add([]byte(`{"schema":1,"pfc":[{"port":"p1","priorities":[{"priority":"all"}]},` +
		`{"port":"p1","priorities":null}]}`))
	f.Add([]byte(`{"schema":1,"switch_time_ns":-9223372036854775808,` +
		`"pfc":[{"priorities":[{"received_paused_ns":-1},{}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decode(bytes.NewReader(b), maxState, checkState)
		if err != nil {
			return
		}
		text := assert.Got(json.Marshal(s)).Must(t)
		_, err = decode(bytes.NewReader(text), maxState, checkState)
		assert.MustBeTrue(t, err == nil, "what was read cannot be read again: %v\n%s", err, text)
	})
}

// The page relies on arrays: those that a switch leaves out of its state are shown empty. Other switches do not change.
func TestOddSwitch(t *testing.T) {
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"schema":1,"ports":[{"port":"x"}],"pfc":[{"port":"x"}],"pools":[{}],"buffer":[{}],` +
			`"queues":[{}],"headroom":[{}],"watchdog":[{}],"lldp":[{"neighbors":[{}]}],"events":[{}]}`))
	}))
	defer odd.Close()
	sw := assert.Got(SwitchAt(strings.TrimPrefix(odd.URL, "http://"))).Must(t)
	good := samplePoller().switches[0].Switch
	w, _ := watchAt(t, serve(t, Config{Poller: fastPoller(sw, good)}))
	v := w.next()
	assert.MustBeTrue(t, v.Switches[0].Answers && v.Switches[1].Answers, "%+v", v)
	s := v.Switches[0].State // decoded: null would be a nil slice
	for name, missing := range map[string]bool{
		"ports.lossless_priorities": s.Ports[0].LosslessPriorities == nil, "pfc.priorities": s.PFC[0].Priorities == nil,
		"pfc.ignored":           s.PFC[0].Ignored == nil,
		"buffer.ingress_queues": s.Buffer[0].IngressQueues == nil, "queues.queues": s.Queues[0].Queues == nil,
		"headroom.queues":              s.Headroom[0].Queues == nil,
		"lldp.neighbors.dcbx_versions": s.LLDP[0].Neighbors[0].DCBXVersions == nil,
	} {
		assert.True(t, !missing, "%s is null", name)
	}
	p := v.Switches[1].State.PFC
	assert.True(t, len(p) == 1 && p[0].Ignored != nil && len(p[0].Priorities) == 1, "the other switch: %+v", p)
}
