package dataplane

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// fastRig has the ports of trunkRig, whose frames may take the fast path but for change.
func fastRig(t *testing.T, change func(*PortConfig), trunks ...TrunkConfig) *rig {
	t.Helper()
	r := trunkRig(t, threeToOne(), func(_ *Config, ports []PortConfig) {
		for i := range ports {
			ports[i].Speed, ports[i].Cut = 0, false
		}
		if change != nil {
			change(&ports[4])
			if w := &ports[4].Bridge; w.Wired {
				ports[5].Bridge.Wired, ports[5].Bridge.Wire = true, 4
			}
		}
	})
	r.retrunk(trunks...)
	for i := range trunkPorts {
		r.sw.SetGates(i, new(Gates))
	}
	return r
}

// offered reports whether frames like one between two hosts are offered the fast path, and to which port.
func (r *rig) offered(from, to int) (ok bool, out int) {
	r.tb.Helper()
	taken, _ := r.arrive(from, data(from, to, lossless, 0, small))
	assert.MustBeTrue(r.tb, taken == 1, "the switch did not take a frame")
	out, _, _, ok = r.burst[0].FastPath()
	return ok, out
}

// What takes the fast path from a port, in both directions, and the words that say so.
func TestSlowPorts(t *testing.T) {
	gateless := func(r *rig) { r.sw.SetGates(4, nil) }
	for _, tt := range []struct {
		name   string
		change func(*PortConfig)
		trunks []TrunkConfig
		after  func(*rig)
		fast   bool
		want   string
	}{
		{name: "nothing", fast: true},
		{name: "a trunk of other ports", trunks: []TrunkConfig{threeToOne()}, fast: true},
		{name: "a member of a trunk", trunks: []TrunkConfig{{Name: "t", Uplink: 3, Members: []int{4}}},
			want: "in a trunk"},
		{name: "the uplink of a trunk", trunks: []TrunkConfig{{Name: "t", Uplink: 4, Members: []int{3}}},
			want: "in a trunk"},
		{name: "a wire", change: func(c *PortConfig) { c.Bridge.Wired, c.Bridge.Wire = true, 5 }, want: "a wire"},
		{name: "a speed", change: func(c *PortConfig) { c.Speed, c.Cut = gigabit, true }, want: "has a speed"},
		{name: "a delay", change: func(c *PortConfig) { c.Delay = 1 }, want: "has a delay"},
		{name: "a speed and a delay", change: func(c *PortConfig) { c.Speed, c.Delay = gigabit, 1 },
			want: "has a speed"},
		{name: "frames are cut", change: func(c *PortConfig) { c.Cut = true }, want: "another port has a speed"},
		{name: "no gates", after: gateless},
		{name: "a storm limit", change: func(c *PortConfig) { c.Bridge.Storm = 1000 }, fast: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fastRig(t, tt.change, tt.trunks...)
			if tt.after != nil {
				tt.after(r)
			}
			for _, p := range r.snapshot().Ports {
				assert.True(t, p.Index != 4 || p.Assist.Why == tt.want, "why: got %q, want %q", p.Assist.Why, tt.want)
			}
			for _, way := range [][2]int{{4, 5}, {5, 4}} {
				if ok, out := r.offered(way[0], way[1]); ok != tt.fast || ok && out != way[1] {
					t.Errorf("from %d to %d: offered %v to %d, want %v", way[0], way[1], ok, out, tt.fast)
				}
			}
			r.drain(4, r.now)
			r.drain(5, r.now)
			if got := r.sw.Openable(4, r.now); got != 0xff && tt.fast || got != 0 && !tt.fast {
				t.Errorf("gates that may open: %08b, want all: %v", got, tt.fast)
			}
		})
	}
}
