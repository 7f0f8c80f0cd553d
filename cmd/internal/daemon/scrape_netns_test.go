package daemon

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// A scrape of 32 ports, each with eight lossless priorities, takes less than 20 ms of a CPU. That is of the program as it is
// built for users, without the race detector; what the switch does beside it is in the figure. Time on a CPU is little affected
// by what else the machine does; of several windows the best counts.
func TestScrapeCost(t *testing.T) {
	const ports, scrapes, windows, most = 32, 20, 5, 20 * time.Millisecond
	r := newRig(t, 0, lab.LinkOptions{})
	var yaml strings.Builder
	address := freeAddress(t)
	fmt.Fprintf(&yaml, "name: wide\nmetrics: {listen: %q}\napi: {socket: %s/api.sock}\npriorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}\nbuffer: {private: 512B, headroom: 4KiB}\nports:\n", address, r.dir)
	for n := 1; n <= ports; n += 2 {
		must(t, r.lab.Link(r.sw, portName(n), r.sw, portName(n+1), lab.LinkOptions{}))
		for _, name := range []string{portName(n), portName(n + 1)} {
			fmt.Fprintf(&yaml, "  %s: {netns: %s, speed: 100M, flood: off, loop: off, ring: {outage: 1ms, other: 64}}\n", name, r.sw.Path())
		}
	}
	path, program := filepath.Join(r.dir, "wide.yaml"), filepath.Join(r.dir, "pfcswitch")
	must(t, os.WriteFile(path, []byte(yaml.String()), 0o600))
	if out, err := exec.Command("go", "build", "-o", program, "pfcswitch/cmd/pfcswitch").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "run", "-c", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	labtest.Start(t, cmd)
	defer func() { must(t, cmd.Process.Signal(syscall.SIGTERM)); must(t, cmd.Wait()) }()
	eventually(t, "all ports are up", func() bool {
		a, err := api.NewClient(filepath.Join(r.dir, "api.sock")).Show(t.Context(), "health")
		return err == nil && a.(*api.Health).PortsUp == ports
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	scrape := func() (series int) {
		q, err := http.NewRequest(http.MethodGet, "http://"+address+"/metrics", nil)
		must(t, err)
		q.Header.Set("Accept-Encoding", "gzip") // as Prometheus asks
		a, err := client.Do(q)
		must(t, err)
		defer func() { _ = a.Body.Close() }()
		b, err := io.ReadAll(a.Body)
		must(t, err)
		for line := range strings.Lines(string(b)) {
			if line[0] != '#' {
				series++
			}
		}
		return series
	}
	series := scrape()
	least := time.Hour
	for range windows {
		before := cpu(t, cmd.Process.Pid)
		for range scrapes {
			scrape()
		}
		took := (cpu(t, cmd.Process.Pid) - before) / scrapes
		t.Logf("%v of a CPU", took.Round(10*time.Microsecond))
		least = min(least, took)
	}
	t.Logf("a scrape of %d ports, %d series, takes %v of a CPU", ports, series, least.Round(10*time.Microsecond))
	if least >= most || series < ports*100 {
		t.Errorf("a scrape of %d series takes %v, want less than %v", series, least, most)
	}
}

// cpu returns the time that the threads of a process have run.
func cpu(t *testing.T, pid int) (sum time.Duration) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	must(t, err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(t, err)
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64) // ran, waited, times
		must(t, err)
		sum += time.Duration(ns)
	}
	return sum
}
