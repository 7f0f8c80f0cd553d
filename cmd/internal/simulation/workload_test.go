package simulation

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// The distributions rise to all flows, and what is drawn has their shares and their mean.
func TestDistributions(t *testing.T) {
	for name, want := range map[string]int64{"web-search": 1_711_250, "data-mining": 7_472_236, "hadoop": 120_421} {
		d := distributionOf(name)
		assert.MustBeTrue(t, len(d) != 0 && d[0].millionths == 0 && d[len(d)-1].millionths == whole, "%s: %v", name, d)
		for i := 1; i < len(d); i++ {
			assert.True(t, d[i].octets >= d[i-1].octets && d[i].millionths > d[i-1].millionths,
				"%s: %v after %v", name, d[i], d[i-1])
		}
		m := d.mean()
		assert.True(t, m >= want-want/1000 && m <= want+want/1000, "%s: a mean of %d, want %d", name, m, want)
		sum, n := int64(0), int64(0)
		for at := uint64(0); at < whole; at += 7 {
			sum, n = sum+d.draw(at), n+1
		}
		if m := sum / n; m < want*99/100 || m > want*101/100 {
			t.Errorf("%s: what is drawn has a mean of %d, want %d", name, m, want)
		}
	}
	for _, name := range config.Distributions {
		assert.True(t, len(distributionOf(name)) != 0, "%s is no distribution", name)
	}
}

// The negative logarithm in integers is that of package math.
func TestExponential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.Uint64().Draw(t, "r") >> rapid.IntRange(0, 63).Draw(t, "shift")
		got, want := float64(exponential(r))/(1<<32), -math.Log(float64(r|1))+64*math.Ln2
		assert.MustBeTrue(t, math.Abs(got-want) <= 1e-6, "%d: %v, want %v", r, got, want)
	})
}

const poissonLoad = "search: {poisson: web-search, load: 50%, duration: 20ms}, few: {poisson: hadoop, load: 5%, " +
	"from: h1, to: [h2, h9], priority: 0, duration: 20ms}"

// Flows of random sizes load the links as they should; the same seed gives the same, another seed another run.
func TestPoisson(t *testing.T) {
	run := func(seed uint64) (*Report, string) {
		r := onFabric(t, "leaf-spine: {leaves: 4, spines: 2, hosts: 4}", "10G", poissonLoad,
			Options{Seed: seed, Response: -1})
		var b bytes.Buffer
		assert.Must(t, errors.Join(r.Text(&b), api.WriteJSON(&b, r)))
		return r, b.String()
	}
	r, text := run(1)
	flows, finished, sent := 0, 0, uint64(0)
	for _, c := range r.Completions {
		flows, finished, sent = flows+c.Flows, finished+c.Finished, sent+c.Sent
		assert.True(t, c.Finished <= 0 || (0 < c.P50 && c.P50 <= c.P99 && c.P99 <= c.Max && c.Mean <= c.Max), "%+v", c)
	}
	assert.True(t, r.Pass && len(r.Flows) == 0 && flows >= 100 && finished >= flows*9/10 && (finished != flows ||
		sent != 0) && strings.Contains(text, "How long flows took"),
		"pass %v, %d rows of flows, %d of %d flows finished, %d frames", r.Pass, len(r.Flows), finished, flows, sent)
	_, again := run(1)
	assert.True(t, again == text, "the same seed gives another report")
	_, other := run(2)
	assert.True(t, other != text, "the seed changes nothing")
}

// Each host sends so much to each other: all of it comes, and a window changes nothing of that.
func TestAllToAll(t *testing.T) {
	for _, window := range []string{"", ", window: 4kB"} {
		r := onFabric(t, "leaf-spine: {leaves: 2, spines: 2, hosts: 2}", "10G",
			"s: {all-to-all: on, size: 100kB"+window+"}", standard)
		assert.MustBeTrue(t, len(r.Completions) == 1 && r.Pass, "%+v", r.Completions)
		c := r.Completions[0]
		if want := uint64(12 * 67); c.Flows != 12 || c.Finished != 12 || c.Sent != want || c.Least != 100_000 {
			t.Errorf("window %q: %+v, want %d frames", window, c, want)
		}
		if least := int64(3 * 100_000 * 8 / 10); c.Max < least || c.Max > 3*least || r.Lasted > 1_000_000 {
			t.Errorf("window %q: the last flow took %d ns, the run %d ns", window, c.Max, r.Lasted)
		}
	}
}

// A storm holds what is sent to its host, and through one queue what others get. A slow host takes its rate. A link
// that flaps loses frames, and all are accounted for.
func TestFaults(t *testing.T) {
	const shape, flow = "dumbbell: {hosts: 2}", "f: {permutation: on, duration: 20ms}}\nfaults: {x: "
	r := onFabric(t, shape, "1G", flow+"{storm: h3, start: 1ms}", standard)
	assert.True(t, r.Deadlock && len(r.Cycle) == 0 && len(r.HeldByHosts) == 1 && r.HeldByHosts[0].By == "h3",
		"a storm for ever: %v, %+v", r.Deadlock, r.HeldByHosts)
	var text bytes.Buffer
	err := r.Text(&text)
	assert.True(t, err == nil && strings.Contains(text.String(), "paused by h3"), "%v: %s", err, text.String())
	for _, speed := range []string{"1G", "1G, flow_control: pause"} {
		for fault, tenths := range map[string]int64{"{slow: h3, rate: 100M}": 8, "{storm: h3, duration: 19ms}": 4} {
			r = onFabric(t, shape, speed, flow+fault, standard)
			mostly := func(p Port) bool { return p.FramesReceived > 0 && 10*p.PausedNs > tenths*r.Lasted }
			assert.True(t, r.Pass && slices.ContainsFunc(r.Ports, mostly),
				"%s, links of %s: pass %v, %+v", fault, speed, r.Pass, r.Ports)
		}
	}
	r = onFabric(t, shape, "1G", flow+"{flap: left-right, start: 5ms, duration: 1ms, every: 5ms}", standard)
	lost := uint64(0)
	for _, f := range r.Flows {
		lost += f.Lost
	}
	assert.True(t, r.Pass && lost != 0 && r.Switches[0].LosslessDrops == 0,
		"a link that flaps: pass %v, %d lost, %+v", r.Pass, lost, r.Switches[0])
}

// A window in a priority that may lose frames is refused: the flow would stand still.
func TestWindowIsLossless(t *testing.T) {
	_, err := simulate(t, pair+"traffic: {f: {from: h1, to: h2, priority: 0, window: 64KiB}}", standard)
	assert.True(t, err != nil &&
		strings.HasPrefix(err.Error(), "lab.yaml:7: traffic.f.window: frames of priority 0 may be lost"), "%v", err)
}
