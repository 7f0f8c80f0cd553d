package api

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Every error is JSON, also of a path or a method that there is not.
func TestErrorsAreJSON(t *testing.T) {
	server := NewServer(&fake{}, start)
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
