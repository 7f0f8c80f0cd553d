package traffic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// What a storm says of itself is what its peer feels, without a gap and throttling.
func TestStormOnTheWire(t *testing.T) {
	for _, duty := range []int{100, 50} {
		t.Run(fmt.Sprintf("duty %d", duty), func(t *testing.T) {
			a, b := pair(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			sending, end := context.WithCancel(ctx)
			var felt *SendReport
			sent := make(chan error, 1)
			go func() {
				var err error
				felt, err = RunSend(sending, SendConfig{Interface: "eth0", Netns: a.Path(), Speed: 100_000_000,
					FlowControl: "pfc", Lossless: 1 << 3, NoSink: true, Destination: 0x020000000002,
					Duration: time.Minute, Flows: []Flow{{Priority: 3, Octets: 1514, Weight: 1}}})
				sent <- err
			}()
			waitForFrames(ctx, t, b) // however late the sender begins, and obeys XON, it feels all of the storm
			before := waitedForCPU(t)
			storm, stormErr := RunStorm(ctx, StormConfig{Interface: "eth0", Netns: b.Path(), Speed: 100_000_000,
				FlowControl: "pfc", Priority: 3, Duty: duty, Duration: time.Second})
			waitForFrames(ctx, t, b)
			waited := waitedSince(t, before)
			end()
			assert.Must(t, errors.Join(<-sent, stormErr))
			said := storm.Paused * float64(storm.Elapsed)
			if got := float64(felt.Paused[3]); math.Abs(got-said) > 0.1*float64(storm.Elapsed)+waited ||
				storm.Frames < 100 || felt.PFCReceived[3] == 0 {
				t.Errorf("duty %d %%: the peer was paused for %.0f ms, the storm says %.0f ms of %.0f; %d frames; "+
					"waited for a CPU for %.0f ms", duty, got/1e6, said/1e6, float64(storm.Elapsed)/1e6, storm.Frames,
					waited/1e6)
			}
			pause := float64(macctl.QuantaDuration(storm.Quanta, storm.Speed))
			if gap := float64(storm.LongestGap); duty == 100 && gap > max(0, waited-pause) {
				t.Errorf("a gap of %.0f ns in a storm that has none; waited for a CPU for %.0f ns", gap, waited)
			}
		})
	}
}

// waitForFrames waits until frames come that are sent from now on.
func waitForFrames(ctx context.Context, t *testing.T, n *lab.Node) {
	t.Helper()
	before, err := n.Stats("eth0")
	assert.Must(t, err)
	for now := before; now.ReceivedFrames < before.ReceivedFrames+2; now, err = n.Stats("eth0") {
		assert.Must(t, errors.Join(err, ctx.Err()))
		time.Sleep(10 * time.Millisecond)
	}
}

// waitedForCPU returns for how many ns each thread of this process, and each of the kernel that delivers frames, was
// ready to run and had no CPU, since it began.
func waitedForCPU(t *testing.T) map[string]float64 {
	t.Helper()
	names := assert.Got(filepath.Glob("/proc/[0-9]*/comm")).Must(t)
	threads := assert.Got(filepath.Glob("/proc/self/task/*/schedstat")).Must(t)
	for _, name := range names {
		if b, _ := os.ReadFile(name); strings.HasPrefix(string(b), "ksoftirqd/") {
			threads = append(threads, filepath.Join(filepath.Dir(name), "schedstat"))
		}
	}
	waited := map[string]float64{}
	for _, path := range threads {
		if b, err := os.ReadFile(path); err == nil { // else the thread has ended
			var ran, ns float64
			assert.Got(fmt.Sscan(string(b), &ran, &ns)).Must(t)
			waited[path] = ns
		}
	}
	return waited
}

// waitedSince returns for how many ns the threads that live have had no CPU since waitedForCPU returned before.
func waitedSince(t *testing.T, before map[string]float64) (ns float64) {
	t.Helper()
	for path, now := range waitedForCPU(t) {
		ns += now - before[path]
	}
	return ns
}
