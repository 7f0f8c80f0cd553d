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

// Two senders into one port of a switch with preset roce: the switch marks, the sink notifies, and with DCQCN the
// senders slow down, so that they are paused for less than half of the time. Nothing is lost either way.
//
// At 300M a sink sends a CNP every 6.7 ms. Of 8 MiB two queues may have a third each, which the excess of 300M fills in
// 150 ms: so some 20 CNPs come before the first pause, also where processes run late. Of 1 MiB, three come.
func TestDCQCN(t *testing.T) {
	r := Start(t, 3, Setup{Keys: "preset: roce\nbuffer: {lossless: {size: 8MiB}}",
		Each: "speed: 300M, ring: {outage: 200ms}"})
	marks := func() uint64 { return r.Snapshot(3).Counters.Marked[3] }
	plain, _ := r.controlled(false)
	assert.Equal(t, marks(), 0, "packets without ECN were marked")
	slowed, sink := r.controlled(true)
	seen := uint64(0)
	for _, f := range sink.Flows {
		seen += f.Marked
		if f.CNPs == 0 || f.CNPs > f.Marked {
			t.Errorf("%d frames came marked, %d CNPs were sent", f.Marked, f.CNPs)
		}
	}
	assert.Equal(t, seen, marks(), "frames that came marked, want those that the switch marked")
	if got := r.Snapshot(1).Counters.QueueSent[6] + r.Snapshot(2).Counters.QueueSent[6]; got == 0 {
		t.Error("no CNP went in priority 6")
	}
	var with, without int64
	for i := range slowed {
		f := &slowed[i].Flows[0]
		if f.CNPs == 0 || f.FinalRate <= 0 || f.FinalRate >= 300_000_000 {
			t.Errorf("sender %d: %d CNPs, %d bit/s at the end", i+1, f.CNPs, f.FinalRate)
		}
		with += slowed[i].Paused[3]
		without += plain[i].Paused[3]
	}
	if without == 0 || with*2 > without {
		t.Errorf("senders were paused for %v, without DCQCN for %v", time.Duration(with), time.Duration(without))
	}
	r.NoLosslessDrops()
}

// controlled has hosts 1 and 2 send to host 3 for two seconds, with or without DCQCN.
func (r *Rig) controlled(on bool) (senders [2]*traffic.SendReport, sink *traffic.SinkReport) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	var errs [3]error
	running.Go(func() {
		sink, errs[2] = traffic.RunSink(ctx, traffic.SinkConfig{Interface: "eth0", Netns: r.Host(3).Path(),
			Speed: 300_000_000, FlowControl: "pfc", Lossless: 1 << 3, Expect: 2, DCQCN: on})
	})
	start := time.Now().Add(500 * time.Millisecond)
	for i := range senders {
		running.Go(func() {
			senders[i], errs[i] = traffic.RunSend(ctx, traffic.SendConfig{Interface: "eth0",
				Netns: r.Host(i + 1).Path(), Speed: 300_000_000, FlowControl: "pfc", Lossless: 1 << 3,
				Start: start, Duration: 2 * time.Second,
				Flows: []traffic.Flow{{Priority: 3, Octets: 1514, Weight: 1, DCQCN: on}}})
		})
	}
	running.Wait()
	must(r.T, errors.Join(errs[:]...))
	for _, s := range senders {
		if f := s.Flows[0]; !f.Answered || f.Lost+f.Reordered+f.Duplicated != 0 {
			r.T.Errorf("%+v", f)
		}
	}
	return senders, sink
}
