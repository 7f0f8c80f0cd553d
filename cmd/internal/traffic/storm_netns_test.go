package traffic

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"
)

// What a storm says of itself is what its peer feels, without a gap and throttling.
func TestStormOnTheWire(t *testing.T) {
	for _, duty := range []int{100, 50} {
		t.Run(fmt.Sprintf("duty %d", duty), func(t *testing.T) {
			a, b := pair(t)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			start := time.Now().Add(200 * time.Millisecond)
			reported := make(chan *StormReport, 1)
			go func() {
				defer close(reported)
				r, err := RunStorm(ctx, StormConfig{Interface: "eth0", Netns: b.Path(), Speed: 100_000_000,
					FlowControl: "pfc", Priority: 3, Duty: duty,
					Duration: time.Second, Start: start})
				if err != nil {
					t.Error(err)
					return
				}
				reported <- r
			}()
			felt, err := RunSend(ctx, SendConfig{Interface: "eth0", Netns: a.Path(), Speed: 100_000_000,
				FlowControl: "pfc", Lossless: 1 << 3, NoSink: true,
				Destination: 0x020000000002, Duration: 1500 * time.Millisecond,
				Flows: []Flow{{Priority: 3, Octets: 1514, Weight: 1}}})
			storm := <-reported
			if err != nil || storm == nil {
				t.Fatalf("%v, %+v", err, storm)
			}
			said := storm.Paused * float64(storm.Elapsed)
			if got := float64(felt.Paused[3]); math.Abs(got-said) > 0.1*float64(storm.Elapsed) || storm.Frames < 100 ||
				felt.PFCReceived[3] == 0 {
				t.Errorf("duty %d %%: the peer was paused for %.0f ms, the storm says %.0f ms of %.0f; %d frames", duty,
					got/1e6, said/1e6,
					float64(storm.Elapsed)/1e6, storm.Frames)
			}
			if duty == 100 && storm.LongestGap != 0 {
				t.Errorf("a gap of %d ns in a storm that has none", storm.LongestGap)
			}
		})
	}
}
