package traffic

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

func TestMain(m *testing.M) { labtest.Main(m) }

// pair is a sender's and a sink's node, joined by a link.
func pair(t *testing.T) (a, b *lab.Node) {
	l := labtest.New(t, "traffic")
	a, b = labtest.Node(t, l, "a"), labtest.Node(t, l, "b")
	assert.Must(t, l.Link(a, "eth0", b, "eth0", lab.LinkOptions{}))
	return a, b
}

// exchange runs a sink and a sender until they have settled.
func exchange(t *testing.T, a, b *lab.Node, sc SendConfig, kc SinkConfig) (*SendReport, *SinkReport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	sc.Netns, sc.Interface, kc.Netns, kc.Interface, kc.Expect = a.Path(), "eth0", b.Path(), "eth0", 1
	var got *SinkReport
	var failed error
	var running sync.WaitGroup
	running.Go(func() { got, failed = RunSink(ctx, kc) })
	sent := assert.Got(RunSend(ctx, sc)).Must(t) // the sink ends with ctx
	running.Wait()
	assert.Must(t, failed)
	return sent, got
}

func TestNothingIsLostOnALink(t *testing.T) {
	a, b := pair(t)
	sc := twoFlows()
	sc.Duration = time.Second
	sent, got := exchange(t, a, b, sc, SinkConfig{FlowControl: "pfc", Lossless: 1 << 3, Speed: sc.Speed})
	assert.MustBeTrue(t, len(got.Flows) == 2 && sent.Frames != 0 && got.ReceivedFrames == sent.Frames,
		"sent %d frames, received %d in %d flows", sent.Frames, got.ReceivedFrames, len(got.Flows))
	for _, f := range sent.Flows {
		assert.True(t, f.Answered && f.Lost == 0 && f.Reordered == 0 && f.Duplicated == 0 && f.Received == f.Sent,
			"%+v", f)
	}
	for _, f := range got.Flows {
		assert.True(t, f.Finished && f.Lost == 0 && f.Latency.P50 > 0 && f.Latency.Max >= f.Latency.P50, "%+v", f)
	}
}

// A sender without a speed is as fast as it can, and says by which sockets.
func TestSenderSaysWhichSockets(t *testing.T) {
	a, b := pair(t)
	sc := SendConfig{FlowControl: "off", Count: 1000, Flows: []Flow{{Priority: 3, Octets: 200, Weight: 1}}}
	for _, sc.Packet = range []bool{false, true} {
		sent, got := exchange(t, a, b, sc, SinkConfig{FlowControl: "off"})
		assert.True(t, got.ReceivedFrames == 1000 && sent.Flows[0].Lost == 0, "received %d of 1,000",
			got.ReceivedFrames)
		if sc.Packet {
			assert.Equal(t, sent.Send.By, "packet", "--packet-socket: sent by")
			continue
		}
		porttest.RequireXDP(t, port.TxPath{XDP: sent.Send.By == "af_xdp", Why: *cmp.Or(sent.Send.Why, new(string))})
	}
}

// A sink that reads slower than it is sent to holds the sender instead of losing frames.
func TestSlowSinkHoldsTheSender(t *testing.T) {
	a, b := pair(t)
	sc := SendConfig{Speed: 2_000_000_000, FlowControl: "pfc", Lossless: 1 << 3, Duration: time.Second,
		Flows: []Flow{{Priority: 3, Octets: 200, Weight: 1}}}
	sent, got := exchange(t, a, b, sc, SinkConfig{FlowControl: "pfc", Lossless: 1 << 3, Speed: sc.Speed,
		ReadRate: 20_000})
	assert.True(t, got.PFCSent[3] != 0 && sent.PFCReceived[3] != 0 && sent.Paused[3] != 0,
		"PFC sent %d, received %d, paused for %d ns: want all above 0", got.PFCSent[3], sent.PFCReceived[3],
		sent.Paused[3])
	assert.True(t, got.RingLossless == 0 && sent.Flows[0].Lost == 0,
		"lost in the ring %d, in all %d, want 0", got.RingLossless, sent.Flows[0].Lost)
}

// XOFF without end from the far side stops a running sender.
func TestSenderStopsOnTheWire(t *testing.T) {
	a, b := pair(t)
	c := classify.Config{}
	fanout := assert.Got(c.Fanout(1 << 3)).Must(t)
	p := assert.Got(port.Open(port.Config{Interface: "eth0", Netns: b.Path(), LosslessSlots: 64, OtherSlots: 64,
		FrameSize: 1514, SmallFrame: classify.SmallFrame, Fanout: fanout})).Must(t)
	defer func() { _ = p.Close() }()
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		xoff := macctl.AppendPFC(nil, [6]byte{2}, 1<<3, [8]uint16{3: 0xffff})
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				if err := p.SendControl(xoff); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	sc := SendConfig{Interface: "eth0", Netns: a.Path(), Speed: 1_000_000_000, FlowControl: "pfc", Lossless: 1 << 3,
		NoSink: true, Destination: sinkAddress, Duration: time.Second, Flows: twoFlows().Flows[:1]}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := RunSend(ctx, sc)
	close(stop)
	<-stopped
	assert.Must(t, err)
	assert.True(t, r.PFCReceived[3] != 0 && r.Paused[3] >= int64(500*time.Millisecond),
		"%d PFC frames, paused for %d ns of a second, want most of it", r.PFCReceived[3], r.Paused[3])
	// 1 Gbit/s in 1538-octet frames for half a second
	assert.True(t, r.Frames <= 81274/2, "%d frames were sent though the peer said XOFF", r.Frames)
}

func TestNoSinkSaysSo(t *testing.T) {
	a, _ := pair(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sc := twoFlows()
	sc.Interface, sc.Netns, sc.Duration = "eth0", a.Path(), time.Second
	var said []string
	sc.Waiting = func(text string) {
		said = append(said, text)
		time.AfterFunc(300*time.Millisecond, cancel) // it says so once
	}
	_, err := RunSend(ctx, sc)
	assert.True(t, err != nil, "a sender without a sink must not succeed")
	want := []string{"eth0: waiting up to 10s until a sink answers (pfcswitch sink)"}
	assert.True(t, slices.Equal(said, want), "it says %q meanwhile, want %q", said, want)
}
