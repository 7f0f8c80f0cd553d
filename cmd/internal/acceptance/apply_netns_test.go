package acceptance

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A configuration that cannot be put in force leaves the old one in force, whole.
func TestApplyRefused(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3, Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 20e6})
	before, expanded := r.Snapshot(1).Config, string(r.Source().ConfigYAML())
	for _, tt := range []struct {
		name string
		s    Setup
		want string
	}{
		{"headroom that does not fit", Setup{Keys: Lossless3 + "buffer: {headroom: 1MiB, lossless: {size: 1MiB}}"},
			"lossless.size"},
		{"PFC and PAUSE", Setup{Keys: Lossless3, Each: "flow_control: [pfc, pause]"},
			"PFC and PAUSE exclude each other"},
		{"unknown key", Setup{Keys: Lossless3 + "bufer: {}"}, "bufer"},
		{"address in the filtering database behind no port",
			Setup{Keys: Lossless3 + `fdb: [{mac: "02:00:00:00:00:09", vlan: 1, port: p9}]`}, "p9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := r.Apply(tt.s, 2)
			assert.True(t, err != nil && strings.Contains(err.Error(), tt.want),
				"error %v, want one about %q", err, tt.want)
		})
	}
	after := r.Snapshot(1).Config
	assert.True(t, after == before, "the port has another configuration:\n was %+v\n is  %+v", before, after)
	assert.Equal(t, string(r.Source().ConfigYAML()), expanded, "the switch says that another configuration is in force")
	time.Sleep(20 * time.Millisecond)
	stop()
	h2.Whole(h1, 3)
	assert.Equal(t, len(r.Events(dataplane.EventConfig, 1)), 0, "events say that a configuration came in force")
}

// Rings that have to grow are replaced under load: the port stays up and its peer obeys, so that nothing is lost.
func TestApplyGrowsRings(t *testing.T) {
	r := Start(t, 3, Setup{Keys: Lossless3, Each: At100M})
	_, h2, _, end := r.Incast(macctl.ModePFC, 100e6)
	total := func() int { s := r.Snapshot(1).RingSlots; return s.Full + s.Small }
	for i, each := range []string{"speed: 100M, ring: {outage: 500ms}", "speed: 100M, mtu: 2000, ring: {outage: 600ms}",
		"speed: 200M, ring: {outage: 800ms}", "speed: 200M, ring: {outage: 800ms, small: 40000}", At100M} {
		slots, ups := total(), len(r.Events(dataplane.EventPortUp, 1))
		must(t, r.Apply(Setup{Keys: Lossless3, Each: each}, 3))
		if got := total(); i < 4 && i != 1 && got <= slots || i == 4 && got != slots {
			t.Errorf("%s: %d slots, were %d", each, got, slots)
		}
		assert.Equal(t, len(r.Events(dataplane.EventPortUp, 1)), ups, "%s: the port went down and up", each)
		h2.GoesOn(1, 50)
	}
	end()
}

// A configuration that a full pool has no room for is refused, and nobody stands still for it whose frames are not
// those that fill the pool.
func TestApplyToAFullPool(t *testing.T) {
	const alone = "watchdog: {fast: off, slow: off}\nbuffer: {lossless: {size: 1MiB, alpha: 8}, headroom: 16KiB}\n"
	r := Start(t, 4, Setup{Keys: Lossless3 + alone, Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	h3, h4 := r.Station(3, macctl.ModePFC, 100e6), r.Station(4, macctl.ModePFC, 100e6)
	open := h2.storm()
	stops := []func(){h3.Send(Stream{To: 4, Prio: 3, Rate: 20e6}), h1.Send(Stream{To: 2, Prio: 3})}
	eventually(t, "the pool is full", func() bool { return r.Snapshot(1).XoffWanted&(1<<3) != 0 })

	begun, before, from := h4.Tally(3, 3).Frames, r.Snapshot(3).HeldNs[3], time.Now()
	err := r.Apply(Setup{Keys: Lossless3 + strings.Replace(alone, "1MiB", "384KiB", 1), Each: At100M}, 4)
	assert.Fails(t, err, "try again when the buffer has drained", "error")
	n := h4.Tally(3, 3).Frames - begun
	assert.True(t, n != 0, "nothing of the bystander came meanwhile, so nothing is shown")
	// Where the switch gets no CPU it holds everybody, for milliseconds.
	took, held := time.Since(from), time.Duration(r.Snapshot(3).HeldNs[3]-before)
	assert.True(t, held <= took/2, "the bystander was held for %v of %v", held, took)
	open()
	h2.PFC(1<<3, 0)
	for _, stop := range stops {
		stop()
	}
	h2.Whole(h1, 3)
	h4.Whole(h3, 3)
	r.NoLosslessDrops()
}
