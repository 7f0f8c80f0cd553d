package acceptance

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// The test binary, started again by a test with this in its environment, is a switch and runs no tests.
const (
	configKey = "DAEMON_TEST_CONFIG" // path of its configuration
	serveKey  = "DAEMON_TEST_SERVE"  // it serves what others ask
)

// Main runs the tests, which start switches in this process by start. A test binary that is started as a switch runs
// one.
func Main(m *testing.M, start func(c *config.Config, log *slog.Logger) (Switch, error)) {
	NewSwitch = start
	if path := os.Getenv(configKey); path != "" {
		os.Exit(switchProcess(path))
	}
	labtest.Main(m)
}

// SwitchCommand returns the command that runs a switch as a process of its own.
func SwitchCommand(path string, env ...string) lab.Command {
	return lab.Command{Name: "switch", Argv: []string{lab.Self}, Env: append(env, configKey+"="+path)}
}

// started is what the process prints when its switch has started, with its programs in the kernel.
const started = "started"

// switchProcess is a switch that ends by SIGTERM or SIGINT.
func switchProcess(path string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	c, _, err := config.Load(path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	d, err := NewSwitch(c, slog.New(slog.NewTextHandler(os.Stdout, nil)))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(started)
	if os.Getenv(serveKey) == "" {
		d.Run(ctx)
	} else if err := d.Serve(ctx); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := d.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
