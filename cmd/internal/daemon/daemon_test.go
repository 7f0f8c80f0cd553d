package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// What only a restart can change is refused with the value of before, whatever that is, and what to restart.
func TestOnlyARestartChanges(t *testing.T) {
	with := func(metrics string) *config.Config {
		return parse(t, "preset: roce\nports: {p1: {speed: 1G}}\nmetrics: {"+metrics+"}\n")
	}
	const key, hosts = "web_config: /etc/web.yml", "hosts: [leaf1.example, leaf2.example]"
	for _, tt := range []struct{ old, new, want string }{
		{"", key, "metrics.web_config: /etc/web.yml: cannot change while the switch runs (it is off): restart the " +
			"switch, or keep the value"},
		{key, "", "metrics.web_config: off: cannot change while the switch runs (it is /etc/web.yml): restart the " +
			"switch, or keep the value"},
		{"", hosts, "metrics.hosts: [leaf1.example leaf2.example]: cannot change while the switch runs (it is []): " +
			"restart the switch, or keep the value"},
		{hosts, "", "metrics.hosts: []: cannot change while the switch runs (it is [leaf1.example leaf2.example]): " +
			"restart the switch, or keep the value"},
		{"listen: off", "listen: '127.0.0.1:1'",
			"metrics.listen: 127.0.0.1:1: cannot change while the switch runs (it is off): restart the switch, or " +
				"keep the value"},
		{"listen: '127.0.0.1:1'", "listen: off",
			"metrics.listen: off: cannot change while the switch runs (it is 127.0.0.1:1): restart the switch, or " +
				"keep the value"},
		{hosts, hosts, ""},
	} {
		err := (&Daemon{cfg: with(tt.old)}).checkRestartKeys(with(tt.new))
		assert.True(t, (tt.want != "" || err == nil) && (tt.want == "" || (err != nil &&
			strings.HasSuffix(err.Error(), ": "+tt.want))), "{%s} to {%s}: %v\nwant %q", tt.old, tt.new, err, tt.want)
	}
}

// A port that comes while another goes does not get its number, and with it its sockets.
func TestNumbersAreNotHandedOn(t *testing.T) {
	d := &Daemon{numbers: map[string]int{"a": 0, "b": 1}}
	got, err := d.number(&config.Config{Ports: []config.Port{{Name: "c"}, {Name: "b"}, {Name: "d"}}})
	assert.True(t, err == nil && len(got) == 3 && got["b"] == 1 && got["c"] == 2 && got["d"] == 3,
		"got %v, %v, want b 1, c 2, d 3", got, err)
}

// More ports than there are numbers cannot be replaced at once: that is said before anything is touched.
func TestTooManyPortsReplacedAtOnce(t *testing.T) {
	d := &Daemon{numbers: map[string]int{}}
	var b strings.Builder
	b.WriteString("ports:\n")
	for i := range 129 {
		d.numbers[fmt.Sprintf("old%d", i)] = i
		fmt.Fprintf(&b, "  new%d: {}\n", i)
	}
	c := parse(t, b.String())
	if _, err := d.number(c); err == nil ||
		!strings.Contains(err.Error(), "test.yaml:1: ports: 258 ports, those that go counted in: a switch has at "+
			"most 256 at a time, so apply it in two steps") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	delete(d.numbers, "old128")
	c.Ports = c.Ports[:128]
	numbers, err := d.number(c)
	assert.True(t, err == nil && len(numbers) == 128, "128 ports replaced: %d numbers, %v", len(numbers), err)
}

// An interface that takes shorter frames than its port is a warning; that it takes them now is none.
func TestMTUInTheLog(t *testing.T) {
	var log bytes.Buffer
	d := unpluggedLog(t, "", "flow_control: off", slog.New(slog.NewTextHandler(&log, nil)))
	p := d.ports["p1"]
	for _, mtu := range []int{p.cfg.MTU - 1, p.cfg.MTU - 1, p.cfg.MTU, p.cfg.MTU + 1} {
		p.at.link = port.Link{Name: "nowhere-p1", MTU: mtu}
		d.reportMTU(p)
	}
	must(t, d.Close()) // the log is written by then
	got := levels(log.String())
	assert.True(t, got == "WARN INFO", "%q in\n%s", got, log.String())
}

// levels are those of the lines about MTUs.
func levels(log string) string {
	var said []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "has an MTU of") {
			_, line, _ = strings.Cut(line, "level=")
			level, _, _ := strings.Cut(line, " ")
			said = append(said, level)
		}
	}
	return strings.Join(said, " ")
}

// The wire of a host NIC that takes longer frames than its port is a warning too, once, with the flag to give.
func TestMTUOfAWireInTheLog(t *testing.T) {
	// without a speed frames of any length pass
	for speed, want := range map[string]string{"1G": "WARN INFO", "none": ""} {
		t.Run(speed, func(t *testing.T) {
			c, _, err := config.HostNIC(config.NIC{Wire: "nowhere0", TAP: "nowhere1", Speed: speed,
				Socket: t.TempDir() + "/nic.sock", Metrics: "off"})
			must(t, err)
			var log bytes.Buffer
			d := assert.Got(New(c, slog.New(slog.NewTextHandler(&log, nil)))).Must(t)
			p := d.ports["nowhere0"]
			for _, mtu := range []int{1500, 9000, 9000, 1500} {
				p.at.link = port.Link{Name: "nowhere0", MTU: mtu}
				d.reportMTU(p)
			}
			must(t, d.Close())
			got := levels(log.String())
			assert.True(t, got == want && strings.Contains(log.String(), "pfcswitch nic --mtu 9000") == (want != ""),
				"%q, want %q, in\n%s", got, want, log.String())
		})
	}
}

// A password, of bcrypt's least cost, keeps metrics and page from those who do not know it; the control socket has no
// need of it. A file that cannot be used keeps the switch from starting.
func TestPasswordOfMetrics(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yml")
	yaml := fmt.Sprintf("metrics: {listen: \"127.0.0.1:0\", web_config: %s}\napi: {socket: %s/api.sock}\n", file, dir)
	c := parse(t, yaml)
	if d, err := New(c, discards); err == nil || !strings.Contains(err.Error(), "test.yaml:1: metrics.web_config: ") {
		t.Fatalf("a file that is missing: %v, %v", d, err)
	}
	must(t, os.WriteFile(file, []byte("basic_auth_users: {ann: "+
		"$2a$04$6DtK3SCgCw9ZYvgCsvCbROYCOkTsuNqQDJoZsuMEp/ypyZGzPsg0K}\n"), 0o600))
	d, err := New(c, discards)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx) }()
	defer func() { cancel(); must(t, <-served); must(t, d.Close()) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/", "/metrics", "/v1/state"} {
		for password, want := range map[string]int{"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized,
			"secret": http.StatusOK} {
			q, err := http.NewRequest(http.MethodGet, "http://"+d.metricsListener.Addr().String()+path, nil)
			must(t, err)
			q.SetBasicAuth("ann", password)
			a := assert.Got(client.Do(q)).Must(t)
			_ = a.Body.Close()
			assert.Equal(t, a.StatusCode, want, "%s with password %q: %s", path, password, a.Status)
		}
	}
	_, err = api.NewClient(filepath.Join(dir, "api.sock")).Show(t.Context(), "ports")
	assert.NoError(t, err, "the control socket")
}

// Serve returns with the error where metrics cannot be served: it does not wait for the end of ctx.
func TestServeReturnsItsError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "web.yml")
	must(t, os.WriteFile(file, nil, 0o600))
	d, err := New(parse(t, fmt.Sprintf(
		"metrics: {listen: \"127.0.0.1:0\", web_config: %s}\napi: {socket: %s/api.sock}\n", file, dir)), discards)
	must(t, err)
	defer func() { must(t, d.Close()) }()
	must(t, os.Remove(file)) // between the start and its use
	err = d.Serve(t.Context())
	assert.True(t, errors.Is(err, os.ErrNotExist), "%v, want that the file is not there", err)
}

// A request that comes while the switch ends changes nothing: its interfaces may be another switch's already.
func TestNoChangeOfASwitchThatHasEnded(t *testing.T) {
	d := unpluggedLog(t, "", "mtu: 1500", discards)
	must(t, d.Close())
	_, err := d.change(t.Context(), d.cfg, false)
	assert.True(t, errors.Is(err, errClosed), "a change: %v, want %v", err, errClosed)
	err = d.startsWith(d.cfg)
	assert.True(t, errors.Is(err, errClosed), "another start: %v, want %v", err, errClosed)
}

// So does one that came before the switch ended, and had to wait until then.
func TestNoChangeBehindTheEndOfTheSwitch(t *testing.T) {
	d := unpluggedLog(t, "", "mtu: 1500", discards)
	answers, requests := make(chan error), []func() error{
		func() error { _, err := d.change(t.Context(), d.cfg, false); return err },
		func() error { _, err := d.change(t.Context(), d.cfg, true); return err },
		func() error { return d.startsWith(d.cfg) },
	}
	d.mu.Lock() // as a change does that ends before the switch
	for _, request := range requests {
		go func() { answers <- request() }()
	}
	waiting := func() (n int) {
		stacks := make([]byte, 1<<20)
		for one := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(one, "[sync.Mutex.Lock") && strings.Contains(one, "TestNoChangeBehindTheEnd") {
				n++
			}
		}
		return n
	}
	for waiting() < len(requests) {
		runtime.Gosched()
	}
	d.closed = true
	d.mu.Unlock()
	for range requests {
		assert.True(t, errors.Is(<-answers, errClosed), "a request is no error of a switch that has ended")
	}
	d.closed = false
	must(t, d.Close())
}

// What only the running switch can know of the file for another start is refused before it ends.
func TestWhatAnotherStartRefuses(t *testing.T) {
	d := unpluggedLog(t, "", "mtu: 1500", discards)
	defer func() { must(t, d.Close()) }()
	must(t, d.startsWith(d.cfg))
	assert.Fails(t, d.startsWith(parse(t, header("test", d.cfg.API.Socket)+"ports: {x: {interface: lo, speed: 1G}}\n")),
		"interface lo has the address 127.0.0.1/8", "a port at the loopback")
}
