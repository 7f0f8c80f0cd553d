package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mustParse parses a configuration that has no fault.
func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, _, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := mustParse(t, "ports: {p1: }")
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"name", c.Name, "pfcswitch"},
		{"cell", c.Buffer.Cell, int64(256)},
		{"lossless", c.Buffer.Lossless, Pool{Size: 8 << 20, Auto: true, Alpha: 1}},
		{"lossy", c.Buffer.Lossy, Pool{Size: 4 << 20, Alpha: 1}},
		{"private", c.Buffer.Private, int64(4096)},
		{"headroom", c.Buffer.Headroom, Headroom{Mode: HeadroomAuto}},
		{"xon", c.Buffer.Xon, (*int64)(nil)},
		{"xon_offset", c.Buffer.XonOffset, int64(4096)},
		{"policy", c.Buffer.Policy, PolicyDT},
		{"ring_hold", c.Buffer.RingHold, true},
		{"unknown_lossless", c.UnknownLossless, Demote},
		{"trust", c.Priorities.Trust, TrustPCP},
		{"lossless priorities", c.Priorities.Lossless, uint8(0)},
		{"dscp 63", c.Priorities.DSCP[63], uint8(7)},
		{"queue 5", c.Queues[5], Queue{Weight: 1}},
		{"ecn", c.ECN, [8]ECN{}},
		{"ageing", c.Ageing, 300 * time.Second},
		{"workers", c.Workers, WorkersAuto},
		{"nice", c.Nice, -10},
		{"pause", c.Pause, Pause{Quanta: 65535}},
		{"metrics", c.Metrics.Listen, "127.0.0.1:9808"},
		{"api", c.API, API{Socket: "/run/pfcswitch/pfcswitch.sock", Auto: true}},
		{"interface", c.Ports[0].Interface, "p1"},
		{"kind", c.Ports[0].Kind, KindEthernet},
		{"speed", c.Ports[0].Speed, int64(1_000_000_000)},
		{"speed is assumed", c.Ports[0].SpeedAuto, true},
		{"burst", c.Ports[0].Burst, int64(62_500)},
		{"mtu", c.Ports[0].MTU, 1500},
		{"flow control", c.Ports[0].FlowControl, FlowPFC},
		{"send", c.Ports[0].Send, SendAuto},
		{"priority tags", c.Ports[0].PriorityTags, KeepPriorityTags},
		{"ring", c.Ports[0].Ring, Ring{Outage: 60 * time.Millisecond, Frame: 1514, Max: 32 << 20, Other: 2048}},
		{"pvid", c.Ports[0].PVID, uint16(1)},
		{"learning, flood, loop", [3]bool{c.Ports[0].Learning, c.Ports[0].Flood, c.Ports[0].Loop}, [3]bool{true, true, true}},
		{"storm", c.Ports[0].Storm, int64(0)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\n got %v\nwant %v", tt.name, tt.got, tt.want)
		}
	}
}

// What a port does not say it takes from the switch, wherever in the file that stands.
func TestPortsInherit(t *testing.T) {
	c := mustParse(t, `
ports:
  p1: {}
  p2: {trust: port, default_priority: 5, k: 7, mtu: 9000}
priorities: {trust: dscp, default: 2}
headroom: {k: 4000}
`)
	p1, p2 := c.Ports[0], c.Ports[1]
	if p1.Trust != TrustDSCP || p1.DefaultPriority != 2 || p1.K != 4000 {
		t.Errorf("p1\n got %s, %d, %d\nwant dscp, 2, 4000", p1.Trust, p1.DefaultPriority, p1.K)
	}
	if p2.Trust != TrustPort || p2.DefaultPriority != 5 || p2.K != 7 {
		t.Errorf("p2\n got %s, %d, %d\nwant port, 5, 7", p2.Trust, p2.DefaultPriority, p2.K)
	}
	if p2.Ring.Frame != 9014 {
		t.Errorf("p2: the ring's frame follows the MTU\n got %d\nwant 9014", p2.Ring.Frame)
	}
}

func TestPortsKeepTheOrderOfTheFile(t *testing.T) {
	c := mustParse(t, "ports: {z: , a: , m1: }")
	var got []string
	for _, p := range c.Ports {
		got = append(got, p.Name)
	}
	if want := "z a m1"; strings.Join(got, " ") != want {
		t.Errorf("ports\n got %v\nwant %s", got, want)
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leaf1.yaml")
	if err := os.WriteFile(file, []byte("name: leaf1\nspeed: 1G\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(file); err == nil || !strings.HasPrefix(err.Error(), file+":2: speed: unknown key") {
		t.Errorf("Load\n got %v\nwant a fault in %s:2", err, file)
	}
	if _, _, err := Load(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load of no file\n got %v\nwant %v", err, fs.ErrNotExist)
	}
}

func TestParseReturnsWarnings(t *testing.T) {
	_, warnings, err := Parse("test.yaml", []byte("ports: {p1: }"))
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || warnings[0].Key != "priorities.lossless" || warnings[0].Note {
		t.Errorf("warnings\n got %v\nwant one about priorities.lossless", warnings)
	}
}

func TestZeroConfig(t *testing.T) {
	c, warnings, err := ZeroConfig("eth1", "on", "12")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("ZeroConfig: %v, %v", warnings, err)
	}
	if len(c.Ports) != 3 || c.Ports[1].Interface != "on" || c.Ports[2].Interface != "12" {
		t.Errorf("ports\n got %+v\nwant eth1, on, 12", c.Ports)
	}
	if !c.Ports[0].Queues[3].Lossless {
		t.Error("priority 3 is not lossless, as in preset roce")
	}
	if _, _, err := ZeroConfig("no interface"); err == nil {
		t.Error("an impossible interface is accepted")
	}
	if _, warnings, err := ZeroConfig(); err != nil || len(warnings) != 1 {
		t.Errorf("no port at all\n got %v, %v\nwant a warning", warnings, err)
	}
}
