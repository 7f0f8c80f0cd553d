package dataplane

import (
	"bytes"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
)

// looping is a rig whose ports look for loops.
func looping(tb reporter, n int) *rig {
	ports := testPorts(n)
	for i := range ports {
		ports[i].Bridge.Loop = true
	}
	return newRig(tb, testConfig(n), ports...)
}

// A probe leaves at once and then every second, from the port's own address.
func TestProbeIsSent(t *testing.T) {
	r := looping(t, 1)
	for round := range 3 {
		at := r.sw.LoopProbeDeadline(0)
		assert.MustBeTrue(t, at <= r.now, "round %d: due at %d, want by %d", round, at, r.now)
		b, ok := r.sw.LoopProbe(0, nil, r.now)
		p, err := bridge.ParseProbe(b)
		assert.MustBeTrue(t, ok && err == nil && p.Identity == testConfig(1).Identity.Public && p.Port == 0,
			"round %d: %+v, %v, %v", round, p, ok, err)
		assert.True(t, address(r.sw.ports[0].cfg.MAC) == 0x02_00_00_00_01_00 && b[6] == 2 && b[11] == 0,
			"source address % x", b[6:12])
		_, ok = r.sw.LoopProbe(0, nil, r.now)
		assert.True(t, !ok, "a second one at once")
		r.sw.LoopProbeSent(0)
		r.now += int64(bridge.ProbeInterval)
	}
	assert.Equal(t, r.count(0).LoopProbesSent, 3, "counted")
	_, ok := r.sw.LoopProbe(7, nil, r.now)
	assert.True(t, !ok, "a port that is not there sends a probe")
}

// An own probe that comes back shuts the port for flooding, with an event; it is no data frame.
func TestProbeComesBack(t *testing.T) {
	r := looping(t, 3)
	b, _ := r.sw.LoopProbe(0, nil, r.now)
	r.offer(1, b)
	r.offer(2, ether(0xFF_FF_FF_FF_FF_FF, host(2), nil, experimental, 0, 60))
	if got := r.sentBy(3); len(got[0]) != 1 || len(got[1]) != 0 {
		t.Errorf("ports 0 and 1 sent %d and %d copies, want 1 and none", len(got[0]), len(got[1]))
	}
	c := r.count(1)
	assert.True(t, c.LoopProbesReceived[bridge.ProbeReturns] == 1 && c.ReceivedFrames == 0,
		"%d probes, %d frames received, want 1 and 0", c.LoopProbesReceived[bridge.ProbeReturns], c.ReceivedFrames)
	const why = "a loop probe of p0 came back on p1"
	if v := r.snapshot(); v.Ports[1].Loop != bridge.LoopShut || v.Ports[1].LoopWhy != why {
		t.Errorf("port 1 is %v: %q, want shut: %s", v.Ports[1].Loop, v.Ports[1].LoopWhy, why)
	}
	e := r.lastEvent()
	assert.True(t, e.Kind == EventLoop && e.Port == "p1" && strings.Contains(e.Text, "flooding off: "+why),
		"last event %+v", e)

	r.now += int64(bridge.Holdoff)
	r.sw.LoopProbe(1, nil, r.now)
	if e := r.lastEvent(); e.Kind != EventLoop || !strings.Contains(e.Text, "flooding on again") {
		t.Errorf("last event %+v, want the end of the loop", e)
	}
	assert.Equal(t, r.snapshot().Ports[1].LoopWhy, "", "port 1 still says")
	r.empty()
}

// Probes of other switches are frames like any other.
func TestForeignProbeIsForwarded(t *testing.T) {
	r := looping(t, 2)
	b := bridge.AppendProbe(nil, 0x02_00_00_00_55_55, bridge.Probe{Identity: [8]byte{9}})
	r.offer(0, b)
	probes := r.count(0).LoopProbesReceived
	if got := r.send(1, 64); len(got) != 1 || probes != [bridge.NumProbeVerdicts]uint64{} {
		t.Errorf("%d frames left, %v probes counted, want 1 and none", len(got), probes)
	}
	r.offer(0, ether(host(1), host(0), nil, bridge.ProbeEtherType, 0, 60)) // the EtherType alone makes no probe
	assert.Equal(t, len(r.send(1, 64)), 1, "frames left")
	r.empty()
}

func TestAge(t *testing.T) {
	r := plainRig(t, 2)
	r.offer(0, ether(host(1), 0x02_00_00_00_44_44, nil, experimental, 0, 60))
	r.drain(1, r.now+second)
	assert.MustEqual(t, r.snapshot().Bridge.Entries, 3, "entries, want two static and a learned one")
	r.now += int64(testConfig(2).Ageing) + 1
	for range 100 { // the whole table in parts
		r.sw.Age(r.now)
	}
	assert.Equal(t, r.snapshot().Bridge.Entries, 2, "entries after the ageing time, want the static ones")
}

// Recorded and forged probes are counted by what is wrong with them, and shut nothing. An event names the port.
func TestProbesOfStrangers(t *testing.T) {
	r := looping(t, 3)
	old, _ := r.sw.LoopProbe(0, nil, r.now)
	old = bytes.Clone(old)
	for range 2 {
		r.now += int64(bridge.ProbeInterval)
		r.sw.LoopProbe(0, nil, r.now)
	}
	forged := bytes.Clone(old)
	forged[29]++ // the port's number
	r.offer(1, old)
	r.offer(2, forged)
	for i, want := range []bridge.ProbeVerdict{1: bridge.ProbeLate, 2: bridge.ProbeForged} {
		if got := r.count(i).LoopProbesReceived; i > 0 && (got[want] != 1 || got[bridge.ProbeReturns] != 0) {
			t.Errorf("port %d: %v, want one %v", i, got, want)
		}
		assert.Equal(t, r.snapshot().Ports[i].Loop, bridge.LoopWatching, "port %d", i)
	}
	e := r.lastEvent()
	assert.True(t, e.Kind == EventLoop && e.Port == "p2" && strings.Contains(e.Text, "ignored"), "last event %+v", e)
	r.empty()
}

// A trunk and a wire carry frames from this switch's own addresses: a probe that comes back through a trunk finds the
// loop.
func TestOwnSourceBesideTheBridge(t *testing.T) {
	r := trunkRig(t, threeToOne(), func(_ *Config, ports []PortConfig) { ports[4].Bridge.Loop = true })
	b, _ := r.sw.LoopProbe(4, nil, r.now)
	b = bytes.Clone(b)
	r.offer(0, bytes.Clone(b))
	sent := r.drain(uplinkPort, r.now+second)
	assert.MustBeTrue(t, len(sent) == 1 && bytes.Equal(sent[0], b), "through the trunk came % x, want the probe", sent)
	r.offer(5, sent...)
	if v := r.snapshot(); v.Ports[4].Loop != bridge.LoopShut && v.Ports[5].Loop != bridge.LoopShut {
		t.Errorf("ports are %v and %v, want one shut", v.Ports[4].Loop, v.Ports[5].Loop)
	}
	r.empty()

	ports := testPorts(3)
	ports[0].Bridge.Wired, ports[0].Bridge.Wire = true, 1
	ports[1].Bridge.Wired, ports[1].Bridge.Wire = true, 0
	r = newRig(t, testConfig(3), ports...)
	r.offer(0, ether(frame.Broadcast, address(ports[2].MAC), nil, experimental, 1, small))
	assert.Equal(t, len(r.drain(1, r.now+second)), 1, "frames that came over the wire")
	r.empty()
}

// A host behind another switch that sends the newest probe back under its own address shuts nothing.
func TestProbeIsSentBack(t *testing.T) {
	r := looping(t, 2)
	b, _ := r.sw.LoopProbe(0, nil, r.now)
	b = bytes.Clone(b)
	frame.PutAddress(b[frame.AddressOctets:], host(1))
	r.offer(0, b)
	v := r.snapshot().Ports[0]
	assert.True(t, v.Loop == bridge.LoopWatching && v.Counters.LoopProbesReceived[bridge.ProbeForged] == 1,
		"port 0 is %v, probes %v, want a forged one", v.Loop, v.Counters.LoopProbesReceived)
	r.empty()
}

// A frame that floods gives work to all ports whose loop probes were rare until then, also to those that it does not
// leave by.
func TestFloodBringsProbes(t *testing.T) {
	r := looping(t, 3)
	for range bridge.BackoffAfter {
		r.now += int64(bridge.ProbeInterval)
		for i := range 3 {
			r.sw.LoopProbe(i, nil, r.now)
		}
	}
	r.now += 2 * int64(bridge.ProbeInterval)
	for i := range 3 {
		r.sw.TakePending(i)
		assert.MustBeTrue(t, r.sw.LoopProbeDeadline(i) > r.now, "port %d does not back off", i)
	}
	r.offer(2, ether(0xFF_FF_FF_FF_FF_FF, host(2), nil, experimental, 0, 60))
	for i := range 3 {
		_, due := r.sw.LoopProbe(i, nil, r.now)
		assert.True(t, due && r.sw.Pending(i), "port %d: a probe is due %v, it has work %v", i, due, r.sw.Pending(i))
	}
}
