package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// Whoever asks a switch of 32 ports, eight of them with a link, under full load, two saturated senders towards one port
// that holds them, has the answer within 50 ms in the median, from the start of the command to its end.
func TestShowUnderLoad(t *testing.T) {
	const limit, rounds, ports, linked = 50 * time.Millisecond, 20, 32, 8
	l := labtest.New(t, "show")
	sw, far := labtest.Node(t, l, "sw"), labtest.Node(t, l, "far")
	hosts := []*lab.Node{labtest.Node(t, l, "h1"), labtest.Node(t, l, "h2"), labtest.Node(t, l, "h3")}
	yaml := "ports:\n"
	for n := 1; n <= ports; n++ {
		node, name := far, fmt.Sprintf("x%d", n)
		if n <= len(hosts) {
			node, name = hosts[n-1], "eth0"
		}
		if n <= linked {
			cable(t, l, node, name, sw, fmt.Sprintf("p%d", n))
		}
		yaml += fmt.Sprintf("  p%d: {speed: 1G}\n", n)
	}
	mac := assert.Got(hosts[1].MAC("eth0")).Must(t)
	dir := labtest.TempDir(t)
	socket := filepath.Join(dir, "show.sock")
	path := write(t, filepath.Join(dir, "show.yaml"), fmt.Sprintf("name: show\npreset: roce\napi: {socket: %s}\nfdb: "+
		"[{mac: %q, port: p2}]\n%s", socket, mac, yaml))
	run(t, sw, nil, "run", "-c", path)
	eventually(t, "its links are up", func() bool {
		out, _ := healthy(t, socket)
		return strings.Contains(out, fmt.Sprintf("%d of %d ports up", linked, ports))
	})
	for _, from := range []*lab.Node{hosts[0], hosts[2]} {
		p := run(t, from, nil, "send", "eth0", "--no-sink", "--to", mac.String(), "--flow", "3", "--seconds", "60")
		t.Cleanup(func() { _ = p.Stop(unix.SIGKILL, time.Second) })
	}
	eventually(t, "both senders are held", func() bool {
		r := assert.Got(api.NewClient(socket).Show(t.Context(), "pfc")).Must(t)
		held := 0
		for _, p := range r.(*api.PFC).Ports {
			if len(p.Priorities) > 3 && p.Priorities[3].SentFrames > 2 {
				held++
			}
		}
		return held == 2
	})
	took := map[string][]time.Duration{}
	for range rounds {
		for _, noun := range strings.Fields("ports pfc buffer headroom queues watchdog trunk fdb lldp events config") {
			begun := time.Now()
			out, err := exec.Command(program(t), "show", noun, "-s", socket).CombinedOutput()
			took[noun] = append(took[noun], time.Since(begun))
			assert.MustBeTrue(t, err == nil && len(out) != 0, "show %s: %v\n%s", noun, err, out)
		}
	}
	var medians []time.Duration
	for noun, all := range took {
		slices.Sort(all)
		least, median, most := all[0], all[rounds/2], all[rounds-1]
		medians = append(medians, median)
		t.Logf("%-8s median %v, least %v, most %v", noun, median, least, most)
		assert.True(t, median <= limit,
			"show %s takes %v, the median of %d, want %v at most", noun, median, rounds, limit)
	}
	t.Logf("medians of the nouns: %v to %v; load %s", slices.Min(medians), slices.Max(medians), load())
}

// load says how busy the machine is.
func load() string {
	b, _ := os.ReadFile("/proc/loadavg") // none: nothing is said
	return strings.TrimSpace(string(b))
}
