package metrics

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/protobuf/encoding/protodelim"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// protobuf is what asks for that format.
const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

func ask(h http.Handler, url, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get scrapes a handler, accepting a format.
func get(t *testing.T, h http.Handler, accept string) (contentType, body string) {
	t.Helper()
	w := ask(h, "/metrics", accept)
	assert.MustEqual(t, w.Code, http.StatusOK, "status: %s", w.Body)
	return w.Header().Get("Content-Type"), w.Body.String()
}

func TestHandler(t *testing.T) {
	h := Handler(NewCollector(config()), none)
	contentType, body := get(t, h, "*/*")
	assert.True(t, strings.HasPrefix(contentType, "text/plain") && strings.Contains(body, "\npfcswitch_up 1\n"),
		"content type %s, want text with pfcswitch_up:\n%s", contentType, body)
	contentType, body = get(t, h, protobuf)
	assert.True(t, strings.HasPrefix(contentType, "application/vnd.google.protobuf") &&
		strings.Contains(body, "pfcswitch_pause_reaction_seconds"), "content type %s: native histograms need protobuf",
		contentType)
}

// none is no metric of the process.
var none = prometheus.Gatherers{}

// What is known of the process stands beside what is known of the switch, in each format.
func TestProcess(t *testing.T) {
	h := Handler(NewCollector(config()), Process())
	for _, accept := range []string{"text/plain", protobuf} {
		_, body := get(t, h, accept)
		for _, name := range []string{"pfcswitch_up", "go_goroutines", "process_resident_memory_bytes",
			"process_cpu_seconds_total"} {
			assert.True(t, strings.Contains(body, name), "%s: no %s", accept, name)
		}
	}
}

// TestProtobuf compares every octet of an answer with what the library makes of what is gathered.
func TestProtobuf(t *testing.T) {
	for _, cfg := range []Config{config(), wide(), {Snapshot: func(*dataplane.Snapshot) {}}} {
		c := NewCollector(cfg)
		gathered := assert.Got(c.Gather()).Must(t)
		var want bytes.Buffer
		for _, f := range gathered {
			assert.Got(protodelim.MarshalTo(&want, f)).Must(t)
		}
		contentType, body := get(t, Handler(c, none), protobuf)
		assert.True(t, body == want.String(), "%d octets, which differ from the library's %d", len(body), want.Len())
		w := ask(promhttp.HandlerFor(c, promhttp.HandlerOpts{}), "/metrics", protobuf)
		assert.Equal(t, contentType, w.Header().Get("Content-Type"), "content type")
	}
}

// A label that cannot be exported fails the scrape in every format; a selection of names is the library's work.
func TestHandlerErrorsAndSelection(t *testing.T) {
	c := config()
	c.Ports = func() []Port { return []Port{{Name: "p\xff"}} }
	for _, accept := range []string{"text/plain", protobuf} {
		if w := ask(Handler(NewCollector(c), none), "/metrics", accept); w.Code != http.StatusInternalServerError ||
			!strings.Contains(w.Body.String(), "UTF-8") {
			t.Errorf("%s: status %d, %q, want an error about UTF-8", accept, w.Code, w.Body)
		}
		w := ask(Handler(NewCollector(config()), none), "/metrics?name[]=pfcswitch_up", accept)
		if body := w.Body.String(); !strings.Contains(body, "pfcswitch_up") || strings.Contains(body, "fdb") {
			t.Errorf("%s: one name selects %q", accept, body)
		}
	}
}

func TestConcurrentScrapes(t *testing.T) {
	h := Handler(NewCollector(config()), none)
	want := text(t, config())
	var scrapes sync.WaitGroup
	for range 8 {
		scrapes.Go(func() {
			_, body := get(t, h, "text/plain")
			assert.True(t, body == want, "two scrapes at once disturb each other")
		})
	}
	scrapes.Wait()
}
