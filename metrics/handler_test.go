package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// get scrapes a handler, accepting a format.
func get(t *testing.T, h http.Handler, accept string) (contentType, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, error %v: %s", w.Code, err, b)
	}
	return w.Result().Header.Get("Content-Type"), string(b)
}

func TestHandler(t *testing.T) {
	h := Handler(NewCollector(config()))
	contentType, body := get(t, h, "*/*")
	if !strings.HasPrefix(contentType, "text/plain") || !strings.Contains(body, "\npfcswitch_up 1\n") {
		t.Errorf("content type %s, want text with pfcswitch_up:\n%s", contentType, body)
	}
	contentType, body = get(t, h,
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	if !strings.HasPrefix(contentType, "application/vnd.google.protobuf") ||
		!strings.Contains(body, "pfcswitch_pause_reaction_seconds") {
		t.Errorf("content type %s: native histograms need protobuf", contentType)
	}
}

func TestConcurrentScrapes(t *testing.T) {
	h := Handler(NewCollector(config()))
	want := text(t, config())
	var scrapes sync.WaitGroup
	for range 8 {
		scrapes.Go(func() {
			if _, body := get(t, h, "text/plain"); body != want {
				t.Error("two scrapes at once disturb each other")
			}
		})
	}
	scrapes.Wait()
}
