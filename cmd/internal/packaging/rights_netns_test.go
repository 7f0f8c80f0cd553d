package packaging

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
)

// A switch of root has given up all rights but those for ports that come back: in every thread, without systemd. It
// goes on to change its configuration and to carry traffic.
func TestRightsOfTheSwitch(t *testing.T) {
	p := newMachine(t)
	proc := p.start(t, "", program(t))
	waitFor(t, proc, p.socket())
	var own uint64
	assert.Got(fmt.Sscanf(status(t, os.Getpid(), "CapPrm"), "%x", &own)).Must(t)
	kept := fmt.Sprintf("%016x", own&(netRaw|netAdmin|capBPF|1<<unix.CAP_IPC_LOCK|1<<unix.CAP_SYS_NICE))
	threads := assert.Got(os.ReadDir(fmt.Sprintf("/proc/%d/task", proc.Pid()))).Must(t)
	for _, thread := range threads {
		id := assert.Got(strconv.Atoi(thread.Name())).Must(t)
		for key, want := range map[string]string{"CapEff": kept, "CapPrm": kept, "CapBnd": kept,
			"CapAmb":     "0000000000000000",
			"NoNewPrivs": "1", "Seccomp": "2"} {
			assert.Equal(t, status(t, id, key), want, "thread %d: %s", id, key)
		}
	}
	apply := func(keys string) (string, error) {
		out, err := exec.Command(program(t), "apply", p.config(t, keys), "-s", p.socket()).CombinedOutput()
		return string(out), err
	}
	if out, err := apply(", netns: " + p.h1.Path()); err == nil || !strings.Contains(out, "restart it") {
		t.Errorf("a port in a namespace that the switch cannot enter any more: %v, %s", err, out)
	}
	out, err := apply(", mtu: 2000")
	assert.True(t, err == nil, "apply: %v, %s", err, out)
	must(t, p.sw.LinkDown("p2"))
	must(t, p.sw.LinkUp("p2"))
	waitFor(t, proc, p.socket())
	checkTraffic(t, p.h2, "eth0", 0.5, map[*lab.Node]string{p.h1: "eth0"})
	if may := own>>unix.CAP_SYS_NICE&1 != 0; may {
		eventually(t, "a real-time thread holds the peers while the workers get no CPU", func() bool {
			return realTimeThreads(t, proc.Pid()) > 0
		})
		assert.Equal(t, realTimeThreads(t, proc.Pid()), 1, "real-time threads: one is enough")
	}
	assists := p.assists(t) // every port may have the programs; a new one, too
	must(t, p.sw.DeleteLink("p2"))
	eventually(t, "p2 is gone", func() bool { return p.assists(t)["p2"] == "null" })
	cable(t, p.lab, p.h2, "eth0", p.sw, "p2")
	waitFor(t, proc, p.socket())
	if got := p.assists(t); got["p2"] != assists["p2"] || got["p1"] != assists["p1"] {
		t.Errorf("with a new interface the programs in the kernel do %v, and did %v", got, assists)
	}
	checkTraffic(t, p.h2, "eth0", 0.5, map[*lab.Node]string{p.h1: "eth0"})
	stop(t, proc)
	assert.True(t, !strings.Contains(proc.Output(), "not permitted"), "something failed: %s", proc.Output())
}

// realTimeThreads counts those of a process.
func realTimeThreads(t *testing.T, pid int) (n int) {
	t.Helper()
	threads := assert.Got(os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))).Must(t)
	for _, thread := range threads {
		id := assert.Got(strconv.Atoi(thread.Name())).Must(t)
		if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_FIFO {
			n++
		}
	}
	return n
}

// assists is what the programs in the kernel do, by port, as JSON.
func (p *machine) assists(t *testing.T) map[string]string {
	t.Helper()
	out := assert.Got(exec.Command(program(t), "show", "ports", "-j", "-s", p.socket()).Output()).Must(t)
	var reply struct {
		Ports []struct {
			Port   string
			Assist json.RawMessage
		}
	}
	must(t, json.Unmarshal(out, &reply))
	all := map[string]string{}
	for _, p := range reply.Ports {
		all[p.Port] = string(p.Assist)
	}
	return all
}

// Clients that connect and say nothing, one that sends without end, and many that scrape without end cost the switch
// bounded memory and connections. Others are answered.
func TestClientsAreBounded(t *testing.T) {
	const slow, most, connections = 600, 48 << 20, 256
	p := newMachine(t)
	proc := run(t, p.sw, nil, "run", "-c", write(t, filepath.Join(p.dir, "served.yaml"), "name: sw\nmetrics: {listen: "+
		"127.0.0.1:9808}\napi: {socket: "+p.socket()+"}\nports: {p1: {}, p2: {}}\n"))
	waitFor(t, proc, p.socket())
	before, files := resident(t, proc.Pid()), openFiles(t, proc.Pid())
	open := 0
	for range slow {
		c := assert.Got(net.Dial("unix", p.socket())).Must(t)
		defer func() { _ = c.Close() }()
		assert.Got(io.WriteString(c, "POST /v1/apply HTTP/1.1\r\nHost: switch\r\nContent-Le")).Must(t)
		open = max(open, openFiles(t, proc.Pid())-files)
	}
	assert.True(t, open >= connections/2 && open <= connections+8, // a few are being opened and closed
		"%d slow clients had up to %d open connections, want %d", slow, open, connections)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.socket()) }}}
	for _, path := range []string{"apply", "clear/counters", "explain?in=p1"} {
		endless := io.LimitReader(zeros{}, 1<<30)
		if a, err := client.Post("http://switch/v1/"+path, "text/plain", endless); err == nil { // else it hung up
			_ = a.Body.Close()
		}
	}
	p.checkScrapes(t, 40, 25)
	out, ok := healthy(t, p.socket())
	assert.True(t, ok, "beside %d slow clients: %s", slow, out)
	now := resident(t, proc.Pid())
	assert.True(t, now-before <= most, "memory grew from %d to %d KiB", before>>10, now>>10)
	stop(t, proc)
}

// checkScrapes lets so many clients scrape so often each: some are refused with status 503, and nothing else happens.
func (p *machine) checkScrapes(t *testing.T, clients, times int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, address string) (c net.Conn, err error) {
			err = p.sw.Do(func() error { c, err = net.Dial(network, address); return err })
			return c, err
		}}}
	var answered, refused atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range times {
				a, err := client.Get("http://127.0.0.1:9808/metrics")
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, a.Body)
				_ = a.Body.Close()
				switch a.StatusCode {
				case http.StatusOK:
					answered.Add(1)
				case http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					t.Errorf("a scrape: %s", a.Status)
				}
			}
		})
	}
	all.Wait()
	assert.True(t, answered.Load() != 0 && refused.Load() != 0, "of %d scrapes %d were answered and %d refused",
		clients*times, answered.Load(), refused.Load())
}

// openFiles is how many files and sockets a process has open.
func openFiles(t *testing.T, pid int) int {
	t.Helper()
	all := assert.Got(os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))).Must(t)
	return len(all)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// resident is the memory of a process, in octets.
func resident(t *testing.T, pid int) int {
	t.Helper()
	kib := assert.Got(strconv.Atoi(strings.TrimSuffix(status(t, pid, "VmRSS"), " kB"))).Must(t)
	return kib << 10
}
