package traffic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/dcqcn"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// controlledFlow is a saturated flow with DCQCN at 1G.
func controlledFlow() SendConfig {
	c := twoFlows()
	c.Speed, c.Flows = 1_000_000_000, c.Flows[:1]
	c.Flows[0].DCQCN = true
	return c
}

// A flow with DCQCN sends at the speed of the port, at half of it after a CNP, and at the speed again in the end. What
// the rates allowed is what it is measured by.
func TestFlowSlowsDown(t *testing.T) {
	s, flows := newTestSource(controlledFlow())
	f := flows[0]
	p := dcqcn.For(1_000_000_000)
	rate := func(now, until int64) int64 {
		before := f.sent
		run(s, now, until)
		return int64(f.sent-before) * 1538 * 8 * 1000 / ((until - now) / 1_000_000)
	}
	const ms = 1_000_000
	got := rate(0, 20*ms)
	assert.True(t, got >= 980_000_000 && got <= 1_040_000_000, "%d bit/s before a CNP", got)
	f.notified(20 * ms)
	until := (20*ms + p.Timer) / ms * ms
	if got := rate(20*ms, until); got < 430_000_000 || got > 600_000_000 { // 2 ms of the higher rate are in the bucket
		t.Errorf("%d bit/s after a CNP", got)
	}
	after := f.control.bits
	want := 1e9*20e-3 + 0.5e9*float64(until-20*ms)/1e9
	assert.True(t, after >= want*.99 && after <= want*1.01, "the rates allowed %.0f bits, want %.0f", after, want)
	rate(until, 1000*ms)
	got = rate(1000*ms, 1020*ms)
	assert.True(t, got >= 980_000_000 && got <= 1_020_000_000, "%d bit/s long after a CNP", got)
	if f.end(1020 * ms); f.control.cnps != 1 || f.control.rate != 1_000_000_000 {
		t.Errorf("%d CNPs, %d bit/s at the end", f.control.cnps, f.control.rate)
	}
	f.notified(1021 * ms)
	assert.Equal(t, f.control.cnps, 1, "a CNP after the load counts")
}

// A sender obeys the CNPs of its own sink for its own flows with DCQCN.
func TestSenderObeysItsOwnCNPs(t *testing.T) {
	c := controlledFlow()
	c.Flows = append(c.Flows, Flow{Priority: 0, Octets: 1514, Weight: 1})
	s, far := testSender(t, c)
	s.sink = sinkAddress
	s.prepare(testMAC)
	f := s.flows[0]
	for i, ds := range []byte{frame.ECT0, 0} {
		b := s.flows[i].head
		h, _ := frame.Parse(b)
		assert.True(t, b[h.NetOffset+1] == ds, "flow %d has the DS field %08b, want %08b", i, b[h.NetOffset+1], ds)
	}
	for _, m := range []struct {
		from     uint64
		priority uint8
		flow     uint32
		counts   uint64
	}{
		{otherAddress, 3, f.id, 0},
		{sinkAddress, 0, f.id, 0},
		{sinkAddress, 3, f.id + 1, 0},
		{sinkAddress, 0, s.flows[1].id, 0},
		{sinkAddress, 3, f.id, 1},
	} {
		speak(t, far, m.from, message{kind: kindCNP, priority: m.priority, flow: m.flow})
		assert.True(t, !s.readRings() && f.control.cnps == m.counts, "%+v: %d CNPs count", m, f.control.cnps)
	}
	r := s.report()
	if f := r.Flows; f[0].CNPs != 1 || f[0].FinalRate == 0 || f[1].FinalRate != 0 {
		t.Errorf("%+v", f)
	}
	var out bytes.Buffer
	err := r.Text(&out)
	assert.True(t, err == nil && strings.Count(out.String(), "CNPs received") == 1 &&
		strings.Contains(out.String(), "priority 3: 1 CNPs received, may send "), "%v: %s", err, &out)
}

// A sink counts the frames that come marked. With DCQCN it answers them by CNPs in priority 6 and DSCP 48, at most one
// of a flow in an interval.
func TestSinkNotifies(t *testing.T) {
	for _, on := range []bool{true, false} {
		s, far := testSink(t, SinkConfig{Speed: 1_000_000_000, DCQCN: on})
		comes := func(flow uint32, marked bool, now int64) {
			b := wrap(addressing{destination: s.own, source: senderAddress, octets: 1514, ecn: true, tagged: true,
				tci: frame.MakeTCI(3, false, 7)}, message{kind: kindData, priority: 3, flow: flow})
			h, _ := frame.Parse(b)
			assert.MustBeTrue(t, !marked || frame.MarkCE(b, h.NetOffset, h.EtherType), "the frame cannot be marked")
			s.see(&port.Frame{Stamp: now, Data: b}, now)
		}
		for _, flow := range []uint32{1, 2} {
			comes(flow, false, 100)
			comes(flow, true, 200)
			comes(flow, true, 200+s.interval-1)
			comes(flow, true, 200+s.interval)
		}
		want := uint64(0)
		if on {
			want = 2
		}
		var out bytes.Buffer
		r := s.report()
		text := fmt.Sprintf("priority 3: 3 frames came marked (CE), %d CNPs sent\n", want)
		err := r.Text(&out)
		assert.True(t, err == nil && strings.Count(out.String(), text) == 2, "%v: %s", err, &out)
		for _, f := range r.Flows {
			assert.True(t, f.Marked == 3 && f.CNPs == want, "DCQCN %v: %d marks, %d CNPs", on, f.Marked, f.CNPs)
		}
		var frames [8]port.Frame
		n := far.Receive(port.Other, frames[:], 1<<20)
		assert.MustEqual(t, n, int(2*want), "DCQCN %v: frames were sent", on)
		for _, f := range frames[:n] {
			m, h, err := parse(f.Data)
			dscp, _ := frame.DSCP(f.Data, h.NetOffset, h.EtherType)
			assert.True(t, err == nil && m.kind == kindCNP && m.priority == 3 && h.Dst == senderAddress &&
				h.TCI.PCP() == 6 && h.TCI.VID() == 7 && dscp == 48, "%+v, %+v, DSCP %d, %v", m, h, dscp, err)
		}
	}
}

// With ECN all flows say that they know it, beside their DSCP.
func TestSenderWithECN(t *testing.T) {
	c := twoFlows()
	c.ECN, c.DSCP = true, 26
	s, _ := testSender(t, c)
	s.prepare(testMAC)
	for _, f := range s.flows {
		if h, _ := frame.Parse(f.head); f.head[h.NetOffset+1] != 26<<2|frame.ECT0 {
			t.Errorf("the DS field is %08b", f.head[h.NetOffset+1])
		}
	}
}

// DCQCN needs a speed.
func TestDCQCNWithoutASpeed(t *testing.T) {
	c := controlledFlow()
	c.Count = 1
	err := c.Check()
	assert.True(t, err == nil, "%v", err)
	c.Speed = 0
	assert.True(t, c.Check() != nil, "no speed, and no error")
}
