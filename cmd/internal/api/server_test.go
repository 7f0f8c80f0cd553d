package api

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Every error is JSON, also of a path or a method that there is not.
func TestErrorsAreJSON(t *testing.T) {
	server := NewServer(&fake{}, start, 0)
	for _, tt := range []struct {
		method, path string
		status       int
		allow, want  string
	}{
		{"DELETE", "/v1/ports", 405, "GET, HEAD", "/v1/ports cannot be asked for by DELETE, only by GET"},
		{"GET", "/v1/apply", 405, "POST", "/v1/apply cannot be asked for by GET, only by POST"},
		{"PUT", "/v1/clear/counters", 405, "POST", "only by POST"},
		{"POST", "/v1/capture", 405, "GET, HEAD", "only by GET"},
		{"GET", "/v1/nothing", 404, "", `\"nothing\" is nothing that can be shown`},
		{"POST", "/v1/nothing", 404, "", `\"nothing\" is nothing that can be shown`},
		{"GET", "/x", 404, "", `there is no \"/x\": every request is below /v1/`},
		{"GET", "/", 404, "", "every request is below /v1/"},
		{"GET", "/v1/", 404, "", "every request is below /v1/"},
		{"GET", "/v1/../../x", 404, "", "every request is below /v1/"},
		{"GET", "/v1//ports", 404, "", "every request is below /v1/"},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		body := w.Body.String()
		if w.Code != tt.status || w.Header().Get("Allow") != tt.allow || w.Header().Get("Content-Type") != "application/json" ||
			!strings.HasPrefix(body, `{"schema":1,"error":"`) || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: status %d, Allow %q, %s; want %d, %q, %s", tt.method, tt.path, w.Code, w.Header().Get("Allow"), body, tt.status, tt.allow, tt.want)
		}
	}
}

// What counters cover, and shares are part of, is told by the switch's own clock: whoever sets the machine's clock changes neither.
func TestElapsedTimeIsOfTheSwitch(t *testing.T) {
	f := &fake{}
	s := NewServer(f, time.Now().Add(24*time.Hour), 15e9) // the clock was set back by a day since
	m := s.moment(0)
	if share := m.share(1e9); m.ElapsedNs != 5e9 || share != 0.2 {
		t.Errorf("%d ns since the start, of which a second is %v; want 5 s", m.ElapsedNs, share)
	}
	s.clearCounters()
	f.later = 2e9
	if m, state := s.moment(0), s.State(); m.ElapsedNs != 2e9 || state.ElapsedNs != 7e9 {
		t.Errorf("%d ns since the clear and %d since the start, want 2 s and 7 s", m.ElapsedNs, state.ElapsedNs)
	}
}
