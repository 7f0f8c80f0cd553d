package daemon

import (
	"context"
	"fmt"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
)

// counted are the measurement frames of the one port that metrics tell of, and whether they do.
func counted(d *Daemon) (asked uint64, ok bool) {
	for _, p := range d.metricsPorts() {
		if p.Headroom != nil {
			asked, ok = p.Headroom.Counters.Asked, true
		}
	}
	return asked, ok
}

// What a port has counted of its measurements goes on where its flow control, or the port, was away.
func TestMessagesOutliveTheirPort(t *testing.T) {
	dir := t.TempDir()
	with := func(ports string) *config.Config {
		return parse(t, header("test", dir+"/api.sock")+"capture: {directory: "+dir+
			"}\npreset: roce\nports: "+ports+"\n")
	}
	here := with("{p1: {interface: no-such}}")
	d, _ := run(t, here)
	d.mu.Lock()
	probe := d.probers["p1"]
	d.runner.View(func(*dataplane.Switch) { probe.Continue(headroom.Counters{Asked: 7}) })
	d.mu.Unlock()
	for _, away := range []string{"{}", "{p1: {interface: no-such, flow_control: off}}", "{}"} {
		assert.Got(d.Apply(context.Background(), with(away))).Must(t)
		asked, ok := counted(d)
		assert.True(t, !ok, "%s: asked %d times, though nothing is measured", away, asked)
		assert.Got(d.Apply(context.Background(), here)).Must(t)
		asked, ok = counted(d)
		assert.True(t, ok && asked == 7, "back from %s: asked %d times, told: %v; want 7", away, asked, ok)
	}
}

// Ports that never come back do not fill the memory.
func TestCountersOfProbersAreBounded(t *testing.T) {
	c := parse(t, "preset: roce\nports: {p1: {}}\n")
	d, _ := run(t, parse(t, header("test", t.TempDir()+"/api.sock")+"capture: {ring: off}\nports: {}\n"))
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range maxRetiredProbers + 10 {
		p := c.Ports[0]
		p.Name = fmt.Sprint("p", i)
		d.newProber(c, &p)
		d.retireProber(p.Name)
	}
	assert.True(t, len(d.retiredCounters) == maxRetiredProbers && len(d.probers) == 0,
		"the counters of %d probers are kept, want %d", len(d.retiredCounters), maxRetiredProbers)
}
