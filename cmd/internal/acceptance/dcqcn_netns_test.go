package acceptance

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// Two senders into one port of a switch with preset roce: the switch marks, the sink notifies in priority 6, and the
// senders slow down. Nothing is lost. How long they are paused TestLabs/virtualdcqcn judges.
func TestDCQCN(t *testing.T) {
	const speed, prio = 300_000_000, 1 << 3
	r := Start(t, 3, Setup{Keys: "preset: roce\nbuffer: {lossless: {size: 8MiB}}",
		Each: "speed: 300M, ring: {outage: 200ms}"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	var senders [2]*traffic.SendReport
	var sink *traffic.SinkReport
	var errs [3]error
	running.Go(func() {
		sink, errs[2] = traffic.RunSink(ctx, traffic.SinkConfig{Interface: "eth0", Netns: r.Host(3).Path(),
			Speed: speed, FlowControl: "pfc", Lossless: prio, Expect: 2, DCQCN: true})
	})
	start := time.Now().Add(500 * time.Millisecond)
	for i := range senders {
		running.Go(func() {
			senders[i], errs[i] = traffic.RunSend(ctx, traffic.SendConfig{Interface: "eth0",
				Netns: r.Host(i + 1).Path(), Speed: speed, FlowControl: "pfc", Lossless: prio, Start: start,
				Duration: 2 * time.Second, Flows: []traffic.Flow{{Priority: 3, Octets: 1514, Weight: 1, DCQCN: true}}})
		})
	}
	running.Wait()
	must(t, errors.Join(errs[:]...))
	seen := uint64(0)
	for _, f := range sink.Flows {
		seen += f.Marked
		assert.True(t, f.CNPs != 0 && f.CNPs <= f.Marked, "%d frames came marked, %d CNPs were sent", f.Marked, f.CNPs)
	}
	assert.Equal(t, seen, r.Snapshot(3).Counters.Marked[3], "frames that came marked, want what the switch marked")
	got := r.Snapshot(1).Counters.QueueSent[6] + r.Snapshot(2).Counters.QueueSent[6]
	assert.True(t, got != 0, "no CNP went in priority 6")
	for i, s := range senders {
		f := &s.Flows[0]
		assert.True(t, f.CNPs != 0 && f.FinalRate > 0 && f.FinalRate < speed && f.Answered &&
			f.Lost+f.Reordered+f.Duplicated == 0, "sender %d: %+v", i+1, f)
	}
	r.NoLosslessDrops()
}
