package api

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// show headroom -v prints all that show headroom prints, and more. It is a golden file.
func TestHeadroomDetail(t *testing.T) {
	r := answer(&fake{}, "headroom").(*Headroom)
	golden.Check(t, "headroom-detail.txt", r.Detail())
	assert.True(t, strings.HasPrefix(r.Detail(), r.Text()), "the detail is not what else there is:\n%s", r.Detail())
}

// Each value is the sum of its terms: at 1 Gbit/s, with frames of 1518 + 24 octets on the wire, which
// are 12,336 bits, 1 km of cable (5000 bits), a response limit of 1024 bits, a send call of 50,000 and a burst of
// 500,000. A cell for each 84 octets holds them as smallest frames.
func TestHeadroomTermsAddUp(t *testing.T) {
	byHand := map[string]struct{ bits, octets, cells int64 }{
		"eta":        {2*12_336 + 2*5000 + 1024, 4462, 54},
		"delay":      {2*12_336 + 2*5000 + 1024 + 84*8, 4546, 55},
		"calculated": {36_368 + 50_000 + 500_000, 73_296, 873},
		// 22 µs, and 30 ns twice; the reaction is no more than a send call
		"measured": {22_060 + 50_000 + 2*12_336 + 84*8 + 500_000, 74_676, 889},
	}
	for _, p := range answer(&fake{}, "headroom").(*Headroom).Ports {
		for name, v := range map[string]*HeadroomValue{"eta": &p.Eta, "delay": &p.Delay, "calculated": &p.Calculated,
			"measured": p.Measured} {
			if v == nil {
				continue
			}
			want := byHand[name]
			assert.True(t, v.Bits == want.bits && v.Bytes == want.octets && v.Cells == want.cells,
				"port %s: %s: %d bits, %d B, %d cells, by hand %+v", p.Port, name, v.Bits, v.Bytes, v.Cells, want)
			sum := int64(0)
			for _, term := range v.Terms {
				sum += term.Bits
			}
			assert.True(t, len(v.Terms) >= 4 && sum == v.Bits, "port %s: %s: %+v, and its %d terms are %d bits", p.Port,
				name, *v, len(v.Terms), sum)
		}
		assert.True(t, p.Calculated.Bytes == p.CalculatedBytes,
			"port %s: calculated %d B, by its terms %d", p.Port, p.CalculatedBytes, p.Calculated.Bytes)
	}
}

// A link of a thousand kilometres at 1 Gbit/s, under load for days, fits 120 columns.
func TestHeadroomFitsTheScreen(t *testing.T) {
	r := answer(&fake{}, "headroom").(*Headroom)
	in := headroom.Inputs{Speed: 1e9, MaxFrame: 9018, Delay: 5_000_000, Burst: 62_500}
	found := headroom.Finding{RoundTrip: 10_123_456, Precision: 30, Reaction: 1_234_567, Burst: 500_000}
	p, value := &r.Ports[0], valueOf(in.Packing(256, 1))
	measured, bits := value(headroom.Measure(in, found)), int64(9_999_999)
	p.Port, p.Neighbor = "uplink-12", nonZero("spine-switch-number-two")
	p.Measured, p.Eta, p.Delay, p.CalculatedBytes = &measured, value(headroom.Eta(in)),
		value(headroom.Delay(in, macctl.ModePFC)), 1_400_000
	p.PlainBits, p.PeerFoundBits, p.ReceivedBits, p.ToldBits, p.InForceBytes, p.InForceCells = &bits, &bits, &bits,
		&bits, 1_400_000, 5500
	p.Finding.TripNs, p.Finding.ReactionNs = int64(found.RoundTrip), int64(found.Reaction)
	p.Messages.Asked, p.Messages.Answered = 99_999_999, 99_999_999
	q := &p.Queues[0]
	q.Xoffs, q.SizeBytes, q.XonBytes, q.PeakBytes, q.RingBytes, q.RingFrames = 99_999_999, 1_400_000, 1_300_000,
		1_399_000, 9_999_999, 99_999
	for line := range strings.Lines(r.Detail()) {
		n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		assert.True(t, n <= 120, "%d columns:\n%s", n, line)
	}
}

// A busy port with a long name fits 100 columns, and its note stands below.
func TestPortsFitTheScreen(t *testing.T) {
	r := answer(&fake{}, "ports").(*Ports)
	p := &r.Ports[0]
	p.Port, p.SpeedBitsPerSecond, p.DroppedFrames = "leaf-up1", nonZero[int64](100e9), 9_999_999
	p.Recent = &PortRecent{IntervalNs: 9e9, ReceiveBits: 98.765e9, ReceiveFrames: 8.2e6, TransmitBits: 98.765e9}
	table, notes, _ := strings.Cut(strings.TrimPrefix(r.Text(), r.headline()), "\n\n")
	for line := range strings.Lines(table) {
		n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		assert.True(t, n <= 100, "%d columns:\n%s", n, line)
	}
	assert.True(t, strings.Contains(table, " 100.3 ") && strings.Contains(table, "  98.8 "),
		"%s\nwant 98.765 Gbit/s of full frames to take 100.3 %% of 100G, and without frames 98.8", table)
	assert.True(t, strings.Contains(notes, "leaf-up1  discarded: ") && strings.HasPrefix(r.Detail(), r.Text()),
		"%s\nwant notes in a table of their own; with -v %s", notes, r.Detail())
}

// Queues that had nothing to do are left out, and counted; with -a they are shown.
func TestIdleQueues(t *testing.T) {
	r := answer(&fake{}, "queues").(*Queues)
	brief, _, _ := strings.Cut(r.Text(), "\nDrops")
	all, _, _ := strings.Cut(r.Detail(), "\nDrops")
	if n := strings.Count(brief, " weight "); n != 1 || !strings.Contains(brief, "23 queues are idle: -a") {
		t.Errorf("%d queues, want that of priority 3 alone, which has sent:\n%s", n, brief)
	}
	n := strings.Count(all, " weight ")
	assert.True(t, n == 24 && !strings.Contains(all, "idle"), "with -a %d queues, want 24:\n%s", n, all)
	r.Ports = r.Ports[1:]
	if got := r.Text(); !strings.Contains(got, "16 queues are idle") || strings.Contains(got, "SERVICE") {
		t.Errorf("all are idle:\n%s", got)
	}
}

// sampleTrunks are one under PFC with meters and one under PAUSE without; more are green frames beyond the sample.
func sampleTrunks(more uint64) []dataplane.TrunkSnapshot {
	up := dataplane.TrunkSnapshot{Uplink: "p4", Up: true, Paused: 1 << 3,
		Members: []dataplane.TrunkMember{{Port: "p1", Up: true, Share: 1518, Paused: 1 << 3}, {Port: "p2", Area: 64}}}
	up.Config = dataplane.TrunkConfig{Name: "up", Aggregate: trunk.AggregatorConfig{Metered: true, Lossless: 1 << 3},
		Flow: trunk.FlowConfig{Mode: macctl.ModePFC}}
	up.Config.Aggregate.Meters[0] = trunk.MeterConfig{CIR: 40e6, PIR: 60.5e6, CBS: 65536, PBS: 131072}
	up.Config.Aggregate.Total = trunk.MeterConfig{CIR: 200e6, PIR: 200e6, CBS: 65536, PBS: 131072}
	up.ToUplink[3], up.ToMembers[0] = 1518, 64
	up.Held = trunk.Holds{Priorities: 1 << 3, Uplink: 1<<3 | 1<<4}
	up.Holds[3], up.UplinkHolds[4] = dataplane.HoldCount{Begun: 7, Passed: 2}, dataplane.HoldCount{Begun: 8, Passed: 3}
	up.Total = [trunk.NumColours]trunk.Tally{{Frames: 11, Octets: 1100}, {Frames: 12, Octets: 1200},
		{Frames: 13, Octets: 1300}}
	up.MeterRed[0], up.RED[0], up.TotalRED = trunk.Tally{Frames: 21, Octets: 2100},
		trunk.Tally{Frames: 22, Octets: 2200}, trunk.Tally{Frames: 23, Octets: 2300}
	up.Members[0].Colours[0] = [trunk.NumColours]trunk.Tally{{Frames: 31 + more, Octets: 3100},
		{Frames: 32, Octets: 3200}, {Frames: 33, Octets: 3300}}
	up.Sent, up.Members[0].Sent, up.Members[1].Sent = trunk.Tally{Frames: 51, Octets: 5100},
		trunk.Tally{Frames: 1, Octets: 61}, trunk.Tally{Frames: 40, Octets: 4000}
	up.Members[1].Distributed[5] = trunk.Tally{Frames: 41, Octets: 4100}
	side := dataplane.TrunkSnapshot{Uplink: "p8", UplinkPauses: dataplane.HoldCount{Begun: 9, Passed: 4},
		Members: []dataplane.TrunkMember{{Port: "p9", Up: true, Holds: dataplane.HoldCount{Begun: 10, Passed: 5}}}}
	side.Config = dataplane.TrunkConfig{Name: "side", ByFlow: true, Flow: trunk.FlowConfig{Mode: macctl.ModePause}}
	side.Held = trunk.Holds{Members: 1, Uplink: 0xff}
	return []dataplane.TrunkSnapshot{up, side}
}

// Text counts the frames that left a port, not those metered or assigned to it. It shows an uplink that is down.
func TestTrunkTextIsTrue(t *testing.T) {
	var v dataplane.Snapshot
	(&fake{}).Snapshot(&v)
	m := &moment{snapshot: v}
	rows := map[string][]string{}
	for line := range strings.Lines(m.readTrunk().Text()) {
		if f := strings.Fields(line); len(f) > 2 && rows[f[1]] == nil {
			rows[f[1]] = f
		}
	}
	for port, want := range map[string]struct{ state, received, sent string }{
		"p4": {"both", "41", "51"}, "p2": {"down", "0", "40"}, "p1": {"both", "96", "1"}, "p8": {"down", "0", "0"},
	} {
		row := rows[port]
		n := len(row)
		assert.True(t, n >= 4 && slices.Contains(row, want.state) && row[n-2] == want.received && row[n-1] == want.sent,
			"%s: %q, want %+v", port, row, want)
	}
}

// A filter keeps each trunk that has a selected port, with the selected priorities.
func TestFilterOfTrunks(t *testing.T) {
	all := answer(&fake{}, "trunk").(*Trunks)
	for _, name := range all.Trunks[0].ports() {
		r := answer(&fake{}, "trunk").(*Trunks)
		assert.Must(t, (Filter{Ports: []string{name}, Priorities: []Priority{3}}).Apply(r))
		assert.MustBeTrue(t, len(r.Trunks) != 0 && len(r.Trunks[0].Members) == len(all.Trunks[0].Members),
			"%s: %+v", name, r.Trunks)
		for _, trunk := range r.Trunks {
			assert.True(t, slices.Contains(trunk.ports(), name) && len(trunk.Priorities) == 1 &&
				trunk.Priorities[0].Priority == 3 && len(trunk.Members[0].Priorities) == 1, "%s: %+v", name, trunk)
		}
	}
	r := &Trunks{Trunks: []Trunk{{Trunk: "a", Uplink: TrunkUplink{Port: "p1"}},
		{Trunk: "b", Uplink: TrunkUplink{Port: "p2"}}}}
	err := (Filter{Ports: []string{"p2"}}).Apply(r)
	assert.True(t, err == nil && len(r.Trunks) == 1 && r.Trunks[0].Trunk == "b", "%+v, %v, want b alone", r.Trunks, err)
	f := Filter{Ports: []string{"p3"}, Existing: func() ([]string, error) { return []string{"p1", "p2", "p3"}, nil }}
	err = f.Apply(r)
	assert.True(t, err == nil && len(r.Trunks) == 0, "a port of no trunk: %+v, %v", r.Trunks, err)
}

// A port without entries is no unknown port.
func TestFilterOfWhatTellsNoPorts(t *testing.T) {
	for _, noun := range []string{"fdb", "events", "watchdog", "lldp", "headroom"} {
		for _, tt := range []struct {
			port  string
			there []string
			asked bool
			good  bool
		}{{"p1", nil, false, true}, {"p3", []string{"p2", "p3"}, true, true},
			{"p9", []string{"p2", "p3"}, true, false}} {
			asked := false
			f := Filter{Ports: []string{tt.port}, Existing: func() ([]string, error) {
				asked = true
				return tt.there, nil
			}}
			err := f.Apply(answer(&fake{}, noun))
			missing := new(NoPortError)
			assert.True(t, asked == tt.asked && (err == nil) == tt.good && (err == nil || errors.As(err, &missing)),
				"%s of %s: asked %v, %v", noun, tt.port, asked, err)
		}
		refused := errors.New("refused")
		err := (Filter{Ports: []string{"p9"}, Existing: func() ([]string, error) {
			return nil, refused
		}}).Apply(answer(&fake{}, noun))
		assert.True(t, errors.Is(err, refused), "%s: %v", noun, err)
	}
}

// SONiC's rates go up to MB, each unit from ten of it on.
func TestBytesPerSecond(t *testing.T) {
	for bits, want := range map[float64]string{0: "0.00 B/s", 8 * 9999: "9999.00 B/s", 8 * 10_001: "10.00 KB/s",
		8 * 20e6: "20.00 MB/s", 1e11: "12500.00 MB/s"} {
		assert.Equal(t, bytesPerSecond(bits), want, "%g bit/s", bits)
	}
}
