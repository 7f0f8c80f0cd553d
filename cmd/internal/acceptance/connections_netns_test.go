package acceptance

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// occupy opens connections that stay, half of them silent, the others after a request.
func occupy(t *testing.T, n int, network, address string) {
	t.Helper()
	for i := range n {
		c := assert.Got(net.Dial(network, address)).Must(t)
		t.Cleanup(func() { _ = c.Close() })
		if i%2 == 0 {
			// It may be closed already for being too many. Its answer, which costs the switch little, is awaited: what
			// is asked here is not whether the switch answers a thousand at the same moment.
			_, _ = io.WriteString(c, "GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(Timeout))
			_, _ = c.Read(make([]byte, 1))
		}
	}
}

// A thousand connections at each address, that say nothing or no more, neither stop the data path nor show, scrape and
// apply. What changes the switch is there on the control socket alone.
func TestThousandConnections(t *testing.T) {
	const each = 1000
	r := NewRig(t, 3)
	s := Setup{Keys: SmallBuffers, Each: At100M}
	host := r.serveHere(s)
	_, h2, _, end := r.Incast(macctl.ModePFC, 100e6)

	socket := filepath.Join(r.Dir, "api.sock")
	occupy(t, each, "tcp", host)
	occupy(t, each, "unix", socket)
	client, scraper := api.NewClient(socket), &http.Client{Timeout: Timeout,
		Transport: &http.Transport{DisableKeepAlives: true}}
	fastest := Timeout // the others may have waited for a CPU
	for range 20 {
		begun := time.Now()
		if _, err := client.Show(t.Context(), "pfc"); err != nil {
			t.Fatal(err)
		}
		a := assert.Got(scraper.Get("http://" + host + "/metrics")).Must(t)
		b := assert.Got(io.ReadAll(a.Body)).Must(t)
		_ = a.Body.Close()
		assert.MustBeTrue(t, strings.Contains(string(b), "pfcswitch_up 1"), "a scrape: %s: %.200s", a.Status, b)
		fastest = min(fastest, time.Since(begun))
	}
	assert.True(t, fastest <= 2*time.Second, "show and a scrape together took %v and more", fastest)
	_, err := client.Apply(t.Context(), "again.yaml", r.Source().ConfigYAML(), false)
	assert.NoError(t, err, "apply")
	h2.GoesOn(1, 200)

	for _, path := range []string{"/v1/apply", "/v1/clear/counters", "/v1/clear/watermarks", "/v1/capture"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			q := assert.Got(http.NewRequest(method, "http://"+host+path, strings.NewReader("name: other\n"))).Must(t)
			a := assert.Got(scraper.Do(q)).Must(t)
			_ = a.Body.Close()
			assert.True(t, a.StatusCode == http.StatusNotFound || a.StatusCode == http.StatusMethodNotAllowed,
				"%s %s over TCP: %s", method, path, a.Status)
		}
	}
	end()
}
