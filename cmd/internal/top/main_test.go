package top

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/cmd/internal/lab/labtest"
)

// The test binary, started again with one of these in its environment, is top on the terminal that it was given, or the
// switch that top asks.
const (
	topKey    = "TOP_TEST_SOCKET" // socket of the switch; "panic" is a source that panics
	daemonKey = "TOP_TEST_CONFIG" // or it is a switch with this configuration
)

func TestMain(m *testing.M) {
	if file := os.Getenv(daemonKey); file != "" {
		os.Exit(daemonProcess(file))
	}
	if socket := os.Getenv(topKey); socket != "" {
		os.Exit(topProcess(socket))
	}
	labtest.Main(m)
}

func topProcess(socket string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var s Source = Switch{api.NewClient(socket)}
	if socket == "panic" {
		s = broken{}
	}
	if err := Run(ctx, s, socket, 200*time.Millisecond); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// broken is a source that panics.
type broken struct{}

func (broken) Read(context.Context) (*api.State, []api.Event, error) { panic("the source is broken") }

func daemonProcess(file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, _, err := config.Load(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	d, err := daemon.New(c, slog.New(slog.NewTextHandler(os.Stdout, nil)))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := errors.Join(d.Serve(ctx), d.Close()); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
