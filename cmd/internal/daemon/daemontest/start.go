// Package daemontest runs switches inside of tests of the programs that ask them.
package daemontest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// Start runs a switch in this process until the test ends, and returns when it is ready. Its name is that of the
// socket; yaml has its other keys. It serves no metrics.
func Start(t testing.TB, socket, yaml string) {
	t.Helper()
	c, _, err := config.Parse("test.yaml", fmt.Appendf(nil, "name: %s\nmetrics: {listen: off}\napi: {socket: %s}\n%s",
		strings.TrimSuffix(filepath.Base(socket), ".sock"), socket, yaml))
	assert.Must(t, err)
	d := assert.Got(daemon.New(c, slog.New(slog.DiscardHandler))).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-served, "the switch")
		assert.NoError(t, d.Close(), "the switch")
	})
	labtest.Eventually(t, "the switch is ready", func() bool {
		r, err := api.NewClient(socket).Show(ctx, "health")
		return err == nil && r.(*api.Health).Ready
	})
}
