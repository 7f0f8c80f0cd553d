package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// mustParse parses a configuration that has no fault.
func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, _, err := Parse("test.yaml", []byte(text))
	assert.Must(t, err)
	return c
}

// A port inherits missing keys from the switch, whatever the order of the file.
func TestPortsInherit(t *testing.T) {
	c := mustParse(t, `
ports:
  p1: {}
  p2: {trust: port, default_priority: 5, k: 7, mtu: 9000}
priorities: {trust: dscp, default: 2}
headroom: {k: 4000}
`)
	p1, p2 := c.Ports[0], c.Ports[1]
	assert.True(t, p1.Trust == TrustDSCP && p1.DefaultPriority == 2 && p1.K == 4000,
		"p1\n got %s, %d, %d\nwant dscp, 2, 4000", p1.Trust, p1.DefaultPriority, p1.K)
	assert.True(t, p2.Trust == TrustPort && p2.DefaultPriority == 5 && p2.K == 7,
		"p2\n got %s, %d, %d\nwant port, 5, 7", p2.Trust, p2.DefaultPriority, p2.K)
	assert.Equal(t, p2.Ring.Frame, 9014, "p2: the ring's frame follows the MTU")
}

func TestPortsKeepTheOrderOfTheFile(t *testing.T) {
	c := mustParse(t, "ports: {z: , a: , m1: }")
	var got []string
	for _, p := range c.Ports {
		got = append(got, p.Name)
	}
	want := "z a m1"
	assert.True(t, strings.Join(got, " ") == want, "ports\n got %v\nwant %s", got, want)
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leaf1.yaml")
	assert.Must(t, os.WriteFile(file, []byte("name: leaf1\nspeed: 1G\n"), 0o600))
	if _, _, err := Load(file); err == nil || !strings.HasPrefix(err.Error(), file+":2: speed: unknown key") {
		t.Errorf("Load\n got %v\nwant a fault in %s:2", err, file)
	}
	_, _, err := Load(file + "x")
	assert.True(t, errors.Is(err, fs.ErrNotExist), "Load of no file\n got %v\nwant %v", err, fs.ErrNotExist)
}

func TestParseReturnsWarnings(t *testing.T) {
	_, warnings, err := Parse("test.yaml", []byte("ports: {p1: }"))
	assert.Must(t, err)
	assert.True(t, len(warnings) == 1 && warnings[0].Key == "priorities.lossless" && !warnings[0].Note,
		"warnings\n got %v\nwant one about priorities.lossless", warnings)
}

func TestZeroConfig(t *testing.T) {
	c, warnings, err := ZeroConfig("eth1", "on", "12")
	assert.MustBeTrue(t, err == nil && len(warnings) == 0, "ZeroConfig: %v, %v", warnings, err)
	assert.True(t, len(c.Ports) == 3 && c.Ports[1].Interface == "on" && c.Ports[2].Interface == "12",
		"ports\n got %+v\nwant eth1, on, 12", c.Ports)
	assert.True(t, c.Ports[0].Queues[3].Lossless, "priority 3 is not lossless, as in preset roce")
	_, _, err = ZeroConfig("no interface")
	assert.True(t, err != nil, "an impossible interface is accepted")
	_, warnings, err = ZeroConfig()
	assert.True(t, err == nil && len(warnings) == 1, "no port at all\n got %v, %v\nwant a warning", warnings, err)
}

// Loopback is this machine's own.
func TestReachable(t *testing.T) {
	for _, tt := range []struct {
		m    Metrics
		want bool
	}{
		{Metrics{Listen: "127.0.0.1:9808"}, false},
		{Metrics{Listen: "127.9.9.9:9808"}, false},
		{Metrics{Listen: "[::1]:9808"}, false},
		{Metrics{Listen: "localhost:9808"}, false},
		{Metrics{}, false},
		{Metrics{Listen: ":9808"}, true},
		{Metrics{Listen: "0.0.0.0:9808"}, true},
		{Metrics{Listen: "[::]:9808"}, true},
		{Metrics{Listen: "192.0.2.1:9808"}, true},
		{Metrics{Listen: "leaf1.example:9808"}, true},
	} {
		assert.Equal(t, tt.m.Reachable(), tt.want, "%+v: reachable", tt.m)
	}
	listen := defaults().Metrics
	assert.True(t, !listen.Reachable(), "others reach the default %s", listen.Listen)
}

// More than a machine has is refused, with the key that asks for it.
func TestLimits(t *testing.T) {
	var many strings.Builder
	many.WriteString("ports:\n")
	for i := range 257 {
		fmt.Fprintf(&many, "  p%d: {}\n", i)
	}
	tests := []struct{ name, text, key, want string }{
		{"many small cells", "buffer: {lossy: {size: 2GiB}, cell: 80B}\nports: {p1: }", "buffer.cell",
			"16777216 are the most: write at least 129B"},
		{"lossy pool", "buffer: {lossy: {size: 1024GiB}, cell: 80B}\nports: {p1: }", "buffer.lossy.size", "16GiB"},
		{"lossless pool", "buffer: {lossless: {size: 17GiB}}\nports: {p1: }", "buffer.lossless.size",
			"17GiB: both pools"},
		{"both pools", "buffer: {lossless: {size: 9GiB}, lossy: {size: 8GiB}}\nports: {p1: }", "buffer.lossless.size",
			"together"},
		{"k", "preset: roce\nports: {p1: {k: 1099511627776}}", "buffer.lossless.size", "auto would be 4"},
		{"private", "preset: roce\nbuffer: {private: 1024GiB}\nports: {p1: }", "buffer.lossless.size", "auto would be"},
		{"delay", "ports: {p1: {speed: 800G, delay: 1s, mtu: 65535}}", "ports.p1.delay",
			"1s: the frames under way here"},
		{"delays", "ports: {p1: {speed: 10G, delay: 500ms}, p2: {speed: 10G, delay: 500ms}}", "ports.p2.delay",
			"of all ports"},
		{"delay without a speed", "ports: {p1: {speed: none, delay: 1s}}", "ports.p1.delay", "lower delay"},
		{"burst", "ports: {p1: {burst: 1GiB, delay: 1us}}", "ports.p1.delay", "burst"},
		{"other ring", "ports: {p1: {ring: {frame: 64KiB, other: 1048576}}}", "ports.p1.ring.other",
			"1048576 slots of 65648 bytes"},
		{"MTU of a TAP", "ports: {p1: {kind: tap, mtu: 65522}}", "ports.p1.mtu", "write 65521 or less"},
		{"IPv6 of a TAP", "ports: {p1: {kind: tap, mtu: 1279, addresses: [10.0.0.1/24, 'fd00::1/64']}}", "ports.p1.mtu",
			"fd00::1/64: IPv6 needs an mtu of 1280 or more"},
		{"ports", many.String(), "ports", "257 ports: a switch has at most 256"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantFault(t, tt.text, 0, tt.key, tt.want) })
	}
	mustParse(t, "preset: roce\nbuffer: {lossless: {size: 3700MiB}, lossy: {size: 256MiB}}\nports: {p1: {speed: "+
		"10G, delay: 500ms}}")
}

func TestHostNICKeys(t *testing.T) {
	c, _, err := HostNIC(NIC{Wire: "eth1", TAP: "host0", Addresses: []string{"10.0.0.1/24", "fd00::1/64"}, Speed: "10G",
		MTU: 9000, Metrics: "off"})
	assert.Must(t, err)
	wire, host := c.port("eth1"), c.port("host0")
	assert.True(t, c.Name == "nic-eth1" && c.Metrics.Listen == "" && wire.Speed == 10e9 && wire.MTU == 9000 &&
		host.MTU == 9000 && len(host.Addresses) == 2, "%+v\nwire %+v\nhost %+v", c, wire, host)
	other, ok := c.Joined(wire)
	assert.True(t, ok && other == "host0", "the wire is joined to %q", other)
	assert.True(t, c.Priorities.IsLossless(3) && host.Kind == KindTAP,
		"lossless %08b, %s", c.Priorities.Lossless, host.Kind)
	for _, streams := range []bool{false, true} {
		c, _, err := HostNIC(NIC{Wire: "eth1", TAP: "host0", Streams: streams})
		assert.True(t, err == nil && c.Headroom.SendRequest == streams,
			"send_request %v: %v, %v", streams, c.Headroom.SendRequest, err)
	}
	for text, want := range map[string]int{"": -10, "0": 0, "5": 5} {
		c, _, err := HostNIC(NIC{Wire: "eth1", TAP: "host0", Nice: text})
		assert.True(t, err == nil && c.Nice == want, "nice %q: %d, %v, want %d", text, c.Nice, err, want)
	}
	for want, n := range map[string]NIC{
		"is no nice value":                    {Wire: "eth1", TAP: "host0", Nice: "-21"},
		"(command line):4: ports.eth1.speed:": {Wire: "eth1", TAP: "host0", Speed: "fast"},
		"is not an interface's address":       {Wire: "eth1", TAP: "host0", Addresses: []string{"10.0.0.1"}},
		"cannot name a port":                  {Wire: "eth1/2", TAP: "host0"},
	} {
		_, _, err := HostNIC(n)
		assert.Fails(t, err, want, "%+v", n)
	}
}

// The preset is exactly the plain keys that it stands for.
func TestPresetIsItsPlainKeys(t *testing.T) {
	preset := mustParse(t, "preset: roce\nports: {p1: }")
	plain := mustParse(t, `
priorities: {trust: pcp, default: 0, lossless: [3], dscp: {26: 3, 48: 6}}
queues: {3: {weight: 50}, 0: {weight: 50}, 6: {strict: true}}
ecn: {3: {kmin: 64KiB, kmax: 256KiB, pmax: 10%}}
ports: {p1: }
`)
	assert.Equal(t, string(Expand(preset)), string(Expand(plain)), "preset roce")
}

// Keys beside the preset override it one by one, wherever in the file the preset stands.
func TestKeysOverrideThePreset(t *testing.T) {
	c := mustParse(t, `
priorities: {lossless: [4], dscp: {26: 4}}
queues: {6: {weight: 7}, 1: {strict: true}}
ecn: {3: off, 4: {kmin: 1KiB}}
ports: {p1: }
preset: roce
`)
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"lossless", c.Priorities.Lossless, uint8(1 << 4)},
		{"dscp 26", c.Priorities.DSCP[26], uint8(4)},
		{"dscp 48, not named", c.Priorities.DSCP[48], uint8(6)},
		{"queue 6", c.Queues[6], Queue{Weight: 7}},
		{"queue 1", c.Queues[1], Queue{Strict: true}},
		{"queue 3, not named", c.Queues[3], Queue{Weight: 50}},
		{"ecn 3", c.ECN[3], ECN{}},
		{"ecn 4", c.ECN[4], ECN{Enabled: true, Kmin: 1 << 10, Kmax: 256 << 10, Pmax: 0.1}},
	} {
		assert.Equal(t, tt.got, tt.want, "%s", tt.name)
	}
}

// Reading a pipe without a writer fails at once.
func TestReadFileOfAnIdlePipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	assert.Must(t, syscall.Mkfifo(fifo, 0o600))
	done := make(chan error, 1)
	for _, read := range []func() error{
		func() error { _, err := ReadFile(fifo); return err },
		func() error { _, err := LoadTopology(fifo); return err },
	} {
		go func() { done <- read() }()
		select {
		case err := <-done:
			assert.Fails(t, err, fifo+" is a pipe", "error")
		case <-time.After(5 * time.Second):
			t.Error("it is waited for")
		}
	}
}

// The pipe of a shell's "<(...)" is a configuration like a file.
func TestReadFileOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	assert.Must(t, err)
	defer func() { _ = r.Close() }()
	const text = "ports: {p1: {}}\n"
	go func() {
		_, _ = w.WriteString(text[:5])
		time.Sleep(20 * time.Millisecond)
		_, _ = w.WriteString(text[5:])
		_ = w.Close()
	}()
	got, err := ReadFile(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
	assert.True(t, err == nil && string(got) == text, "got %q, %v, want %q", got, err, text)
}

// The metrics address of the command line stands before that of every file.
func TestMetricsOfTheCommandLine(t *testing.T) {
	file := mustParse(t, "metrics: {listen: \"127.0.0.1:1\", hosts: [a.b]}")
	given, err := file.WithMetrics("127.0.0.1:2")
	assert.Must(t, err)
	next := mustParse(t, "metrics: {listen: \"127.0.0.1:3\"}")
	assert.Equal(t, next.KeepMetrics(given).Metrics.Listen, "127.0.0.1:2", "after a file")
	assert.Equal(t, next.KeepMetrics(file).Metrics.Listen, "127.0.0.1:3", "after a file, without the command line's")
	if off, err := file.WithMetrics("off"); err != nil || off.Metrics.Listen != "" || file.Metrics.Listen == "" {
		t.Errorf("off: %v, %v; the file's is %q now", off, err, file.Metrics.Listen)
	}
	_, err = file.WithMetrics("9808")
	assert.Fails(t, err, "--metrics 9808: is not an address", "a number")
}
