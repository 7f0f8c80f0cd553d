package paper

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/dataplane/trunk"
)

var meteredShares = Study{"trtcm",
	"the aggregation patent's trunk of 3 × 40G to 100G; RFC 2698, A Two Rate Three Color Marker",
	"each priority keeps its committed rate; what is yellow shares what others leave; what is red is dropped",
	runMeteredShares}

// The three members' priorities: each sends all that its member offers. Rates are in Gbit/s.
var meteredRates = [3]struct{ cir, pir float64 }{{20, 25}, {30, 40}, {50, 60}}

const (
	meteredUplink = 100.0
	meteredMember = 40.0
	meteredGiga   = 1_000_000_000
	meteredFrame  = 1538 // octets on the wire
	meteredNs     = 20_000_000
	meteredCBS    = 64 << 10
)

// A meteredRate is what passes of a member, in Gbit/s, by the colour of its own meter.
type meteredRate struct{ green, yellow float64 }

// meteredTheory is what passes where each member offers a load: green is what is committed. Yellow shares what is left
// of the uplink by the rates at which it comes.
func meteredTheory(load float64) (want [3]meteredRate) {
	left, yellow := meteredUplink, 0.0
	for i, r := range meteredRates {
		want[i] = meteredRate{min(load, r.cir), max(0, min(load, r.pir)-r.cir)}
		left -= want[i].green
		yellow += want[i].yellow
	}
	for i := range want {
		if yellow > left {
			want[i].yellow *= left / yellow
		}
	}
	return want
}

// meteredRun offers a load at each member, with gaps from a half to one and a half of the mean.
func meteredRun(seed uint64, load float64) (got [3]meteredRate) {
	random := rand.New(rand.NewPCG(seed, 0))
	meter := func(cir, pir float64) trunk.MeterConfig {
		return trunk.MeterConfig{CIR: int64(cir * meteredGiga), PIR: int64(pir * meteredGiga), CBS: meteredCBS,
			PBS: meteredCBS}
	}
	c := trunk.AggregatorConfig{Members: len(meteredRates), Metered: true, Total: meter(meteredUplink, meteredUplink)}
	for i, r := range meteredRates {
		c.Meters[i] = meter(r.cir, r.pir)
	}
	a := trunk.NewAggregator(c, random.Float64, 0)
	gap := int64(meteredFrame * 8 * 1000 / load) // ps
	var next [3]int64
	for i := range next {
		next[i] = random.Int64N(gap)
	}
	for {
		i := 0
		for k := range next {
			if next[k] < next[i] {
				i = k
			}
		}
		at := next[i]
		if at >= meteredNs*1000 {
			return got
		}
		next[i] += gap/2 + random.Int64N(gap)
		before := a.Stats().Colours[i][i][trunk.Green].Frames
		f := trunk.Frame{Member: i, Priority: uint8(i), Octets: meteredFrame - 20, Metered: meteredFrame}
		if a.Judge(&f, at/1000) != trunk.Pass {
			continue
		}
		const rate = float64(meteredFrame*8) / meteredNs
		if a.Stats().Colours[i][i][trunk.Green].Frames > before {
			got[i].green += rate
		} else {
			got[i].yellow += rate
		}
	}
}

func runMeteredShares(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"offered by each", "priority", "committed", "peak", "green", "theory", "yellow", "theory",
		"passes", "theory", "difference"}
	result.Remark = fmt.Sprintf("All rates are Gbit/s on the wire. The patent has no figures: theory is its rule for "+
		"rates that do not change. Buckets are full at the start, %d octets each, which is %.2f Gbit/s over the run. "+
		"The frames meet the trunk's meters themselves, without queues: RED is not part of it.", meteredCBS,
		float64(meteredCBS*8)/meteredNs)
	panel := plot.Panel{Title: "what passes of each priority, Gbit/s, over what each member offers",
		Unit: func(g int64) string { return fmt.Sprintf("%d Gbit/s", g) }}
	for i, r := range meteredRates {
		panel.Lines = append(panel.Lines, plot.Series{
			Name: fmt.Sprintf("priority %d, CIR %v, PIR %v", i, r.cir, r.pir)})
	}
	for load := int64(4); load <= meteredMember; load += 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		panel.At = append(panel.At, load)
		got, want := meteredRun(o.Seed, float64(load)), meteredTheory(float64(load))
		for i, r := range meteredRates {
			g, w := got[i], want[i]
			panel.Lines[i].Values = append(panel.Lines[i].Values, g.green+g.yellow)
			if load%10 != 0 {
				continue
			}
			cells := []string{fmt.Sprint(load), fmt.Sprint(i), fmt.Sprint(r.cir), fmt.Sprint(r.pir)}
			for _, v := range []float64{g.green, w.green, g.yellow, w.yellow, g.green + g.yellow, w.green + w.yellow} {
				cells = append(cells, fmt.Sprintf("%.2f", v))
			}
			result.add(append(cells, percent(g.green+g.yellow, w.green+w.yellow))...)
		}
	}
	result.panels = append(result.panels, panel)
	return nil
}
