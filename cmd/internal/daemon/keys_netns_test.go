package daemon

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// keyed is a rig whose configuration is changed key by key.
type keyed struct {
	*rig
	other string // another name of the namespace of the ports
}

// newKeyed makes five hosts, and one link more of the fourth and of the fifth.
func newKeyed(t *testing.T) *keyed {
	r := &keyed{rig: newRig(t, 5)}
	must(t, r.Lab.Link(r.Host(4), "eth1", r.Node, "spare", lab.LinkOptions{}))
	must(t, r.Lab.Link(r.Host(5), "eth1", r.Node, "owned", lab.LinkOptions{}))
	IP(t, r.Node, "addr", "add", "10.78.0.1/24", "dev", "owned")
	r.other = r.Dir + "/other"
	must(t, os.Symlink(r.Node.Path(), r.other))
	return r
}

// base is the configuration that each change begins with.
func (r *keyed) base(more string) tree {
	b := load(r.T, []byte(r.names(`
name: test
metrics: {listen: "off"}
api: {socket: DIR/api.sock}
capture: {directory: DIR/captures}
buffer: {lossless: {size: 512KiB}, lossy: {size: 64KiB}}
priorities: {lossless: [3]}
ports:
  p1: {interface: p1, netns: SW, speed: 100M, ring: {outage: 400ms}}
  p2: {interface: p2, netns: SW, speed: 100M, ring: {outage: 400ms}}
  p3: {interface: p3, netns: SW, speed: 100M, ring: {outage: 400ms}}
  p4: {interface: p4, netns: SW, speed: 100M}
  p5: {interface: p5, netns: SW, speed: 100M}
`)))
	for key, value := range load(r.T, []byte(more)) {
		b[key] = value
	}
	return b
}

// names puts in what a change cannot know.
func (r *keyed) names(text string) string {
	return strings.NewReplacer("DIR", r.Dir, "OTHER", r.other, "SW", r.Node.Path()).Replace(text)
}

// of writes the configuration with a change.
func (r *keyed) of(base string, c *change) []byte {
	in := r.base(base)
	if c != nil {
		c.in(in)
	}
	text := assert.Got(yaml.Marshal(in)).Must(r.T)
	return []byte(r.names(string(text)))
}

// change makes a change, and sees to it that it is in force when it has been made, or refused and nothing has changed.
func (r *keyed) change(t *testing.T, base string, c *change) {
	before := string(r.d().Source().ConfigYAML())
	text := r.of(base, c)
	_, err := r.d().Source().Apply(context.Background(), "test.yaml", text, false)
	for until := time.Now().Add(time.Minute); errors.Is(err, buffer.ErrBusy) && time.Now().Before(until); {
		// On a busy machine less may drain in 100 ms than the change needs: "not yet, try again".
		t.Log(err)
		assert.MustEqual(t, string(r.d().Source().ConfigYAML()), before, "not yet, and the configuration is another")
		_, err = r.d().Source().Apply(context.Background(), "test.yaml", text, false)
	}
	in := string(r.d().Source().ConfigYAML())
	switch {
	case c.refused != "":
		assert.True(t, err != nil && strings.Contains(err.Error(), c.refused) &&
			strings.HasPrefix(err.Error(), "test.yaml:") && strings.Contains(err.Error(), c.path),
			"error %v, want one of %s about %q", err, c.path, c.refused)
		assert.Equal(t, in, before, "refused, and the configuration is another")
		return
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	c.inForce(t, r.rig)
	want, _, err := config.Parse("test.yaml", text)
	must(t, err)
	if in != string(config.Expand(want)) {
		t.Errorf("in force is\n%s\nwant\n%s", in, config.Expand(want))
	}
	for path, value := range leaves(c.path, c.value) {
		if c.shows == "-" {
			break
		}
		shown := c.shows
		if shown == "" {
			shown = r.names(written(value))
		}
		assert.Equal(t, written(get(load(t, []byte(in)), path)), shown, "show config says %s", path)
	}
}

// underLoad makes changes one after the other while two stations send to a third at twice its speed.
func (r *keyed) underLoad(base string, changes []change) (h1, h2, h3 *Station) {
	t := r.T
	c, _, err := config.Parse("test.yaml", r.of(base, nil))
	must(t, err)
	r.Switch, r.Halt = run(t, c)
	t.Cleanup(r.Settle)
	for n := 1; n <= 3; n++ {
		r.WaitUp(n, true)
	}
	h1, h2, h3 = r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	for _, h := range []*Station{h1, h2, h3} {
		h.Pliant.Store(true)
	}
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0, Rate: 5e6}), h3.Send(Stream{To: 2, Prio: 3})
	eventually(t, "both senders are held now and then",
		func() bool { return h1.Controls.Load() > 1 && h3.Controls.Load() > 1 })
	var missing, late [4]uint64 // frames from a host, so that only the change that costs some fails
	for i := range changes {
		step := &changes[i]
		t.Run(step.path, func(t *testing.T) {
			r.change(t, base, step)
			for _, from := range []*Station{h1, h3} {
				before := h2.Tally(from.N, 3).Frames
				eventually(t, "frames go on", func() bool { return h2.Tally(from.N, 3).Frames > before+10 })
				if now := h2.Tally(from.N, 3); now.Next-now.Frames != missing[from.N] || now.Reordered != late[from.N] {
					t.Errorf("from h%d %d frames are missing now, were %d; %d came late, were %d", from.N,
						now.Next-now.Frames, missing[from.N], now.Reordered, late[from.N])
					r.account(t)
					missing[from.N], late[from.N] = now.Next-now.Frames, now.Reordered
				}
			}
			r.NoLosslessDrops()
		})
	}
	begun := time.Now()
	r.change(t, base, &change{path: "ageing", value: "300s"}) // as it was
	t.Logf("back to the first configuration in %v", time.Since(begun))
	stop1()
	stop3()
	h2.Whole(h1, 3)
	h2.Whole(h3, 3)
	eventually(t, "no more lossy frames of h1 are missing than p1 has dropped, when the last one has come",
		func() bool { return h1.Sent[0].Load()-h2.Tally(1, 0).Frames <= sum(r.drops(1)) })
	r.NoLosslessDrops()
	return h1, h2, h3
}

// drops returns what port n has dropped, by reason.
func (r *keyed) drops(n int) (all [dataplane.NumDropReasons]uint64) {
	for _, byReason := range r.Snapshot(n).Counters.Drops {
		for reason, frames := range byReason {
			all[reason] += frames
		}
	}
	return all
}

func sum(all [dataplane.NumDropReasons]uint64) (n uint64) {
	for _, frames := range all {
		n += frames
	}
	return n
}

// mayLose makes a change of port 1 that costs frames of priority 3, since they are lossless there no more, or belong
// elsewhere: each one that h1 sends and that does not reach h2 is counted for that reason, and h3 loses none.
func (r *keyed) mayLose(base string, c *change, reason dataplane.DropReason, h1, h2, h3 *Station) {
	t, before := r.T, r.drops(1)
	missing := func() uint64 { return h1.Sent[3].Load() - h2.Tally(1, 3).Frames }
	lost := missing()
	r.change(t, base, c)
	h3.Send(Stream{To: 2, Prio: 3, Frames: h3.Sent[3].Load() + 500})
	h1.Send(Stream{To: 2, Prio: 3, Frames: h1.Sent[3].Load() + 500})
	h1.Finish()
	h2.Whole(h3, 3)
	eventually(t, c.path+": frames are lost, and as many are counted", func() bool {
		n := r.drops(1)[reason] - before[reason]
		return n > 0 && missing()-lost == n
	})
	t.Logf("%s: %s cost %d frames of 500", c.path, reason, missing()-lost)
	r.NoLosslessDrops()
}

// account tells what became of frames, where some are missing.
func (r *keyed) account(t *testing.T) {
	for n := 1; n <= 3; n++ {
		p := r.Snapshot(n)
		for prio, byReason := range p.Counters.Drops {
			for reason, frames := range byReason {
				assert.True(t, frames == 0, "%s dropped %d frames of priority %d: %s", PortName(n), frames, prio,
					dataplane.DropReason(reason))
			}
		}
		stats, err := r.Host(n).Stats("eth0")
		t.Errorf("%s received %d frames and sent %d; its host: %+v %v", PortName(n), p.Counters.ReceivedFrames,
			p.Counters.SentFrames, stats, err)
	}
}

// Each key is changed under load, and no lossless frame is lost, none comes late, and nothing stays behind. What only a
// restart can change is refused in a sentence. A change that makes frames lossy, or sends them nowhere, costs those
// that it counts.
func TestEveryKeyChangesUnderLoad(t *testing.T) {
	const base = threeStations
	r := newKeyed(t)
	h1, h2, h3 := r.underLoad(base, bridgeChanges)
	r.mayLose(base, &change{path: "ports.p1.flow_control", value: "off"}, dataplane.DropLossyThreshold, h1, h2, h3)
	r.mayLose(base, &change{path: "ports.p1.pvid", value: 7}, dataplane.DropFiltered, h1, h2, h3)
}

// The same with the keys of trunks.
func TestEveryKeyOfATrunkChangesUnderLoad(t *testing.T) {
	newKeyed(t).underLoad(`trunks: {up: {uplink: p2, members: [p1, p3]}, side: {uplink: p4, members: [p5]}}`,
		trunkChanges)
}

// A port that becomes a TAP, and one that gets another interface, takes nothing with it: what its neighbor sends
// reaches neither the interface of before nor comes back, not for a moment.
func TestApplyMovesPorts(t *testing.T) {
	r := newKeyed(t)
	const fdb = `fdb: [{mac: "02:00:00:00:00:01", port: p1}]
buffer: {lossless: {size: 8MiB}, lossy: {size: 128KiB}}`
	c, _, err := config.Parse("test.yaml", r.of(fdb, nil))
	must(t, err)
	r.Switch, r.Halt = run(t, c)
	r.WaitUp(5, true)
	h4, h5 := r.Station(4, macctl.ModePFC, 100e6), r.Station(5, macctl.ModePFC, 100e6)
	stop := h5.Send(Stream{To: 1, Prio: 3, Octets: 100, Rate: 50e6})
	for range 10 {
		for _, step := range []change{
			{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap4", "netns": "SW", "wire": "p5"}, shows: "-",
				effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.TAP && p.Up })},
			{path: "ports.p4.interface", value: "spare",
				effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Up })},
			{path: "ports.p4.interface", value: "p4",
				effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Up })},
		} {
			r.change(t, fdb, &step)
		}
	}
	stop()
	assert.True(t, h5.Sent[3].Load() >= 1000, "h5 sent %d frames, which show little", h5.Sent[3].Load())
	assert.Equal(t, h4.Tally(5, 3).Frames, 0,
		"frames of h5, which h4 must never see, left by the interface that p4 had before")
	assert.Equal(t, h5.Tally(5, 3).Frames, 0, "frames of h5 came back")
}
