package dataplane

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"pgregory.net/rapid"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/macctl"
)

// resize draws the size of a pool in which full queues meet soon.
func resize(t *rapid.T, name string, cell int) buffer.PoolConfig {
	return buffer.PoolConfig{Size: int64(cell) * rapid.Int64Range(250, 500).Draw(t, name), Alpha: 64}
}

// A new configuration is in force whole; ports keep their address and their frames.
func TestReconfigure(t *testing.T) {
	r := full(t, 3)
	r.wantXoffSent(0, 0xffff)
	r.hear(1, lossless, 0)
	r.send(1, 1) // empties the headroom
	r.hear(1, lossless, 0xffff)
	r.wantSilent(0)
	next := testConfig(4)
	next.Buffer.Lossless.Size *= 4 // the queue is far below its threshold now
	slow := testPort(1)
	slow.MAC, slow.Speed = [6]byte{}, 10_000_000
	statics := []Static{{MAC: 0x02_00_00_00_12_34, VID: 1, Port: 3}}
	ports := map[int]PortConfig{0: testPort(0), 1: slow, 3: testPort(3)}
	assert.Must(t, r.sw.Reconfigure(next, ports, statics, r.now))
	r.wantXoffSent(0, 0)
	got := r.sw.ports[1].cfg.MAC
	assert.True(t, got == testPort(1).MAC, "port 1 has the address % x", got)
	assert.True(t, r.sw.ports[2] == nil && r.sw.ports[3] != nil && !r.sw.ports[3].up,
		"port 2 is still there, or port 3 is not, or is up")
	r.sw.SetUp(3, true, r.now)
	r.offer(0, ether(0x02_00_00_00_12_34, host(0), nil, experimental, 1, 60))
	assert.Equal(t, len(r.send(3, 64)), 1, "the static entry of port 3 is not in force")
	r.hear(1, lossless, 0)
	assert.Equal(t, len(r.drain(1, r.now+second)), alone, "frames that left, want those that waited")
	assert.Must(t, r.sw.Reconfigure(next, ports, nil, r.now))
	n := r.snapshot().Bridge.Static // those of the rig, less that of port 2
	assert.True(t, n == 2, "%d static entries, want 2", n)
}

// On an error nothing has changed.
func TestReconfigureRefused(t *testing.T) {
	badBridge := testPort(1)
	badBridge.Bridge.PVID = 4095
	hungry := testPort(1)
	hungry.Ingress[lossless].Headroom = 1 << 30
	smaller := testPort(0)
	smaller.Ingress[lossless].Headroom = 0
	aged := testConfig(2)
	aged.Ageing = -1
	cells := testConfig(2)
	cells.Buffer.Cell = 512
	noIdentity, looping := testConfig(2), testPort(1)
	noIdentity.Identity, looping.Bridge.Loop = bridge.Identity{}, true
	larger := testConfig(2)
	larger.Buffer.Lossy.Size *= 2
	var crowd []Static
	for i := range uint64(testConfig(2).Stations + 1) {
		crowd = append(crowd, Static{MAC: 0x02_00_00_00_00_01 + i<<8, VID: 1, Port: 1})
	}
	rows := []struct {
		name    string
		cfg     Config
		ports   map[int]PortConfig
		statics []Static
		busy    bool
	}{
		{"PVID out of range", testConfig(2), asMap(testPort(0), badBridge), nil, false},
		{"loop detection without an identity", noIdentity, asMap(testPort(0), looping), nil, false},
		{"port number out of range", testConfig(2), map[int]PortConfig{MaxPorts: testPort(0)}, nil, false},
		{"negative port number", testConfig(2), map[int]PortConfig{-1: testPort(0)}, nil, false},
		{"headroom that does not fit", testConfig(2), asMap(testPort(0), hungry), nil, false},
		{"negative ageing time", aged, asMap(testPorts(2)...), nil, false},
		{"another cell", cells, asMap(testPorts(2)...), nil, false},
		{"static entry for no port", testConfig(2), asMap(testPorts(2)...), []Static{{MAC: 2, VID: 1, Port: 5}}, false},
		{"static entry of a group", testConfig(2), asMap(testPorts(2)...), []Static{{MAC: 1 << 40, VID: 1,
			Port: 0}}, false},
		{"more static entries than stations", testConfig(2), asMap(testPorts(2)...), crowd, false},
		{"headroom in use", testConfig(2), asMap(smaller, testPort(1)), nil, true},
		{"headroom in use, and more memory", larger, asMap(smaller, testPort(1)), nil, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := full(t, 2)
			before, cells := r.snapshot(), len(r.sw.memory.next)
			err := r.sw.Reconfigure(row.cfg, row.ports, row.statics, r.now)
			assert.MustBeTrue(t, err != nil && errors.Is(err, buffer.ErrBusy) == row.busy,
				"error %v, busy wanted: %v", err, row.busy)
			after := r.snapshot()
			assert.True(t, reflect.DeepEqual(before, after), "before %+v\nafter %+v", before, after)
			assert.Equal(t, len(r.sw.memory.next), cells, "cells of the memory, want those from before")
			r.hear(1, lossless, 0)
			assert.Equal(t, len(r.drain(1, r.now+second)), alone+1, "frames left")
			r.empty()
		})
	}
}

func TestNewRefused(t *testing.T) {
	cfg := testConfig(1)
	cfg.Buffer.Cell = 0
	_, err := New(cfg, 0)
	assert.True(t, errors.Is(err, buffer.ErrConfig), "error %v, want one of the buffer", err)
	cfg = testConfig(1)
	cfg.Ageing = -1
	_, err = New(cfg, 0)
	assert.True(t, err != nil, "a negative ageing time was taken")
}

// From one mode to another the peer is freed in the words of the old one.
func TestModeChangeFreesThePeer(t *testing.T) {
	r := full(t, 2)
	r.wantXoffSent(0, 0xffff)
	r.reconfigure(testConfig(2), pausePort(0), testPort(1))
	r.wantXoffSent(0, 0)
	r.hear(1, lossless, 0)
	assert.Equal(t, len(r.drain(1, r.now+second)), alone+1, "frames left")
	r.empty()
}

// SetMAC is what control frames, probes and the check of received ones go by.
func TestSetMAC(t *testing.T) {
	r := full(t, 2)
	mac := [6]byte{2, 9, 9, 9, 9, 9}
	cfg, err := r.sw.SetMAC(0, mac, r.now)
	assert.MustBeTrue(t, err == nil && cfg.MAC == mac && cfg.Name == "p0", "SetMAC: %+v, %v", cfg, err)
	_, err = r.sw.SetMAC(9, mac, r.now)
	assert.True(t, err != nil, "SetMAC of no port")
	xoff := r.tell(0)
	assert.True(t, [6]byte(xoff[6:]) == mac, "XOFF comes from % x", xoff[6:12])
	own := pfc(lossless, 9)
	copy(own, mac[:])
	assert.Equal(t, r.sw.Control(0, own, r.now, r.now), 1<<lossless, "PFC to the port's own address paused")
}

// The ring of a frame follows from the lossless priorities, and under PAUSE every frame is lossless.
func TestSteeringByConfiguration(t *testing.T) {
	verdict := func(c PortConfig) uint32 {
		raw := assert.Got(Steering(&c)).Must(t)
		for _, i := range slices.Backward(raw) { // the last constant is the ring of a frame that carries nothing
			if load, ok := i.Disassemble().(bpf.LoadConstant); ok && load.Dst == bpf.RegA {
				return load.Val
			}
		}
		t.Fatalf("the program loads no constant: %v", raw)
		return 0
	}
	off := testPort(0)
	off.Mode, off.Classify.Default = macctl.ModeOff, lossless
	def := testPort(0)
	def.Classify.Default = lossless
	for name, row := range map[string]struct {
		cfg  PortConfig
		want uint32
	}{"PFC": {testPort(0), 0}, "PFC, lossless by default": {def, 1}, "PAUSE": {pausePort(0), 1}, "off": {off, 0}} {
		assert.Equal(t, verdict(row.cfg), row.want, "%s: a frame that carries nothing goes to ring", name)
	}
	bad := testPort(0)
	bad.Classify.Default = 9
	_, err := Steering(&bad)
	assert.True(t, err != nil, "default priority 9 was taken")
}
