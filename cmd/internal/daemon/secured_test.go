package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
)

// A password, of bcrypt's least cost, keeps metrics and page from those who do not know it; the control socket has no need of it. A
// file that cannot be used keeps the switch from starting.
func TestPasswordOfMetrics(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yml")
	yaml := fmt.Sprintf("metrics: {listen: \"127.0.0.1:0\", web_config: %s}\napi: {socket: %s/api.sock}\n", file, dir)
	c, _, err := config.Parse("test.yaml", []byte(yaml))
	must(t, err)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if d, err := New(c, log); err == nil || !strings.Contains(err.Error(), "test.yaml:1: metrics.web_config: ") {
		t.Fatalf("a file that is missing: %v, %v", d, err)
	}
	must(t, os.WriteFile(file, []byte("basic_auth_users: {ann: $2a$04$6DtK3SCgCw9ZYvgCsvCbROYCOkTsuNqQDJoZsuMEp/ypyZGzPsg0K}\n"), 0o600))
	d, err := New(c, log)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx) }()
	defer func() { cancel(); must(t, <-served); must(t, d.Close()) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/", "/metrics", "/v1/state"} {
		for password, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, "secret": http.StatusOK} {
			q, err := http.NewRequest(http.MethodGet, "http://"+d.metricsListener.Addr().String()+path, nil)
			must(t, err)
			q.SetBasicAuth("ann", password)
			a, err := client.Do(q)
			must(t, err)
			_ = a.Body.Close()
			if a.StatusCode != want {
				t.Errorf("%s with password %q: %s, want %d", path, password, a.Status, want)
			}
		}
	}
	if _, err := api.NewClient(filepath.Join(dir, "api.sock")).Show(t.Context(), "ports"); err != nil {
		t.Errorf("the control socket: %v", err)
	}
}
