package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// The test binary, started by a phase as one of its processes, is a switch, or an endpoint that only says that it has
// nothing to say. With crashKey in the environment the switch dies early, and endpoints wait.
const crashVariable = "DEMO_TEST_CRASH"

func TestMain(m *testing.M) {
	crash := os.Getenv(crashVariable) != ""
	switch {
	case len(os.Args) > 1 && os.Args[1] == "run":
		os.Exit(runSwitch(os.Args[len(os.Args)-1], crash))
	case len(os.Args) > 1 && slices.Contains([]string{"send", "sink"}, os.Args[1]):
		if crash {
			time.Sleep(time.Minute)
		}
		fmt.Println("{}")
		os.Exit(0)
	}
	labtest.Main(m)
}

// answeringSwitch is a switch that only answers what it is asked.
func answeringSwitch(t *testing.T, answer http.HandlerFunc) *switchNode {
	t.Helper()
	socket := filepath.Join(labtest.TempDir(t), "s1.sock")
	l := assert.Got(net.Listen("unix", socket)).Must(t)
	s := httptest.NewUnstartedServer(answer)
	assert.Must(t, s.Listener.Close())
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return &switchNode{name: "s1", socket: socket}
}

func runSwitch(path string, crash bool) int {
	c, _, err := config.Load(path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
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
