package acceptance

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// The test binary, started again by a test with this in its environment, is a switch and runs no tests.
const (
	configKey  = "DAEMON_TEST_CONFIG"  // path of its configuration
	withoutKey = "DAEMON_TEST_WITHOUT" // number of a capability that it has to do without
	serveKey   = "DAEMON_TEST_SERVE"   // it serves what others ask
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

// without returns the environment of a switch that lacks a capability.
func without(capability int) string { return fmt.Sprintf("%s=%d", withoutKey, capability) }

// switchProcess is a switch that ends by SIGTERM or SIGINT.
func switchProcess(path string) int {
	if text := os.Getenv(withoutKey); text != "" {
		fmt.Println(dropAndRestart(text))
		return 1
	}
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

// dropAndRestart becomes the same program again without a capability. Only a new program loses it in all threads at
// once.
func dropAndRestart(text string) error {
	var capability uintptr
	if _, err := fmt.Sscan(text, &capability); err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if err := os.Unsetenv(withoutKey); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}
