package traffic

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/runner"
	"pfcswitch/macctl"
)

// A flow with a window sends so many frames, and one more for each that its own sink acknowledges. Another flow of its
// priority goes on, and what the window holds back is not behind.
func TestSenderKeepsItsWindow(t *testing.T) {
	s, far := testSender(t, SendConfig{Speed: 1_000_000_000, FlowControl: "off", Flows: []Flow{
		{Priority: 3, Octets: 1514, Weight: 1, Window: 3}, {Priority: 3, Octets: 1514, Weight: 1, Rate: 10_000_000}}})
	s.sink = sinkAddress
	s.prepare(testMAC)
	f, other := s.flows[0], s.flows[1]
	now := runner.Now()
	s.startNs = now
	sends := func(want uint64) {
		t.Helper()
		before := other.sent
		now = run(s.source, now, now+100_000_000)
		assert.True(t, f.sent == want && other.sent > before, "%d frames were sent, want %d; of the other flow %d more",
			f.sent, want, other.sent-before)
	}
	sends(3)
	for _, m := range []struct {
		from           uint64
		flow           uint32
		sequence, want uint64
	}{{otherAddress, f.id, 2, 3}, {sinkAddress, f.id + 1, 2, 3}, {sinkAddress, f.id, 2, 5}, {sinkAddress, f.id, 1, 5},
		{sinkAddress, f.id, 5, 8}} {
		speak(t, far, m.from, message{kind: kindAck, priority: 3, flow: m.flow, sequence: m.sequence})
		assert.True(t, !s.readRings(), "an acknowledgement is no answer")
		sends(m.want)
	}
	s.elapsed = now - s.startNs
	assert.True(t, s.behind() < .05, "the sender is %.2f behind", s.behind())
}

// A window without acknowledgements, or without an end where all of its frames may be lost, is refused.
func TestWindowThatCannotEnd(t *testing.T) {
	flow := Flow{Octets: 1514, Weight: 1, Window: 3, Count: 100}
	lasts := flow
	lasts.Lasts = time.Second
	for _, tt := range []struct {
		flow   Flow
		time   time.Duration
		noSink bool
		want   string
	}{{flow, time.Second, false, ""}, {lasts, 0, false, ""}, {flow, 0, false, "a window without a time: "},
		{flow, time.Second, true, "a window without a sink: "}} {
		c := SendConfig{Flows: []Flow{tt.flow}, Duration: tt.time, NoSink: tt.noSink}
		err := c.Check()
		assert.True(t, tt.want == "" && err == nil || tt.want != "" && err != nil &&
			strings.HasPrefix(err.Error(), tt.want), "%+v: %v", c, err)
	}
}

// A sink answers the frames that ask by one acknowledgement, in their priority, when that is not paused.
func TestSinkAcknowledges(t *testing.T) {
	s, far := testSink(t, SinkConfig{FlowControl: "pfc", Lossless: 1 << 3})
	comes := func(flow uint32, asks bool, sequence uint64) {
		b := wrap(addressing{destination: s.own, source: senderAddress, octets: minMessage, tagged: true,
			tci: frame.MakeTCI(3, false, 7), dscp: 26}, message{kind: kindData, asks: asks, priority: 3, flow: flow,
			sequence: sequence})
		s.see(&port.Frame{Stamp: 1, Data: b}, 1)
	}
	answers := func(want ...uint64) {
		t.Helper()
		s.acknowledge(2)
		var frames [8]port.Frame
		var got []uint64
		n := far.Receive(port.Other, frames[:], 1<<20)
		for _, f := range frames[:n] {
			m, h, err := parse(f.Data)
			dscp, _ := frame.DSCP(f.Data, h.NetOffset, h.EtherType)
			assert.True(t, err == nil && dscp == 26 && m.kind == kindAck && m.priority == 3 && m.flow == 1 &&
				h.Dst == senderAddress && h.TCI.PCP() == 3 && h.TCI.VID() == 7, "%+v, %+v, %v", m, h, err)
			got = append(got, m.sequence)
		}
		far.Release(port.Other, n)
		assert.Same(t, got, want, "acknowledged")
	}
	comes(2, false, 0)
	comes(1, true, 0)
	comes(1, true, 1)
	answers(2)
	answers()
	comes(1, true, 2)
	var quanta [8]uint16
	quanta[3] = 10
	s.peer.Receive(macctl.AppendPFC(nil, testMAC, 1<<3, quanta), 1, 1)
	answers()
	quanta[3] = 0
	s.peer.Receive(macctl.AppendPFC(nil, testMAC, 1<<3, quanta), 2, 2)
	comes(1, true, 3)
	answers(4)
	near := s.port.(*porttest.End)
	near.Refuse(func() error { return port.ErrAgain })
	comes(1, true, 4)
	answers()
	near.Refuse(nil)
	answers(5)
}
