package demo

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/cmd/internal/lab/labtest"
)

// The test binary, started by a phase as one of its processes, is a switch, or an endpoint that only says that it has
// nothing to say. With crashKey in the environment the switch dies early, and endpoints wait.
const crashVariable = "DEMO_TEST_CRASH"

func TestMain(m *testing.M) {
	crash := os.Getenv(crashVariable) != ""
	switch {
	case len(os.Args) > 1 && os.Args[1] == "run":
		os.Exit(switchProcess(config.Load(os.Args[len(os.Args)-1]))(crash))
	case len(os.Args) > 1 && os.Args[1] == "nic":
		os.Exit(switchProcess(nic(os.Args[2:]))(false))
	case len(os.Args) > 1 && slices.Contains([]string{"send", "sink"}, os.Args[1]):
		if crash {
			time.Sleep(time.Minute)
		}
		fmt.Println("{}")
		os.Exit(0)
	}
	labtest.Main(m)
}

// nic reads the flags of pfcswitch nic.
func nic(args []string) (*config.Config, []config.Warning, error) {
	var n config.NIC
	var address string
	flags := flag.NewFlagSet("nic", flag.ExitOnError)
	for name, value := range map[string]*string{"wire": &n.Wire, "tap": &n.TAP, "address": &address, "speed": &n.Speed,
		"name":   &n.Name,
		"socket": &n.Socket, "metrics": &n.Metrics, "nice": &n.Nice} {
		flags.StringVar(value, name, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	n.Addresses = []string{address}
	return config.HostNIC(n)
}

func switchProcess(c *config.Config, _ []config.Warning, err error) func(crash bool) int {
	if err != nil {
		fmt.Println(err)
		return func(bool) int { return 1 }
	}
	return func(crash bool) int { return runSwitch(c, crash) }
}

func runSwitch(c *config.Config, crash bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d, err := daemon.New(c, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if crash {
		time.AfterFunc(4*time.Second, func() { // by then a slow machine has seen its ports up too
			fmt.Println("the switch crashes")
			os.Exit(2)
		})
	}
	if err := d.Serve(ctx); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
