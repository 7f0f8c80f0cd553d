package acceptance

import (
	"log/slog"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
)

func TestMain(m *testing.M) {
	Main(m, func(c *config.Config, log *slog.Logger) (Switch, error) { return daemon.New(c, log) })
}
