package paper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/dataplane"
)

var dynamicThreshold = Study{"dt",
	"Choudhury, Hahne: Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, IEEE/ACM ToN 1998",
	"N full queues that share a buffer B hold αB/(1+Nα) each, and B/(1+Nα) stays free", runDynamicThreshold}

// The buffer, and the stages of a run: in each one more queue is offered twice what its port sends.
const (
	dtBuffer = 2 << 20 // octets
	dtQueues = 8
	dtStage  = 20 * time.Millisecond
	dtRest   = 15 * time.Millisecond // of a stage, before its queues are looked at
	dtLook   = time.Millisecond / 2
	dtPort   = "r%d"
)

// A dtRow is where N queues with an α have come to rest. Means, in octets.
type dtRow struct {
	alpha        float64
	queues       int
	length, free float64
}

// wants returns what the paper says of the row.
func (r *dtRow) wants() (length, free float64) {
	free = dtBuffer / (1 + float64(r.queues)*r.alpha)
	return r.alpha * free, free
}

func runDynamicThreshold(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"α", "N", "queue kB", "paper", "difference", "free kB", "paper", "difference"}
	result.Remark = "Queues are of whole frames, and a frame that does not fit is not taken. So each lacks up to 2+α " +
		"frames of 1536 octets."
	for _, alpha := range []float64{0.25, 0.5, 1, 2, 4} {
		o.Progress(fmt.Sprintf("α = %v", alpha))
		rows, panel, err := dtRun(ctx, o.Seed, alpha)
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if r.queues&(r.queues-1) != 0 {
				continue // the table has powers of two, the picture all
			}
			length, free := r.wants()
			result.add(fmt.Sprint(alpha), fmt.Sprint(r.queues), kilo(r.length), kilo(length), percent(r.length, length),
				kilo(r.free), kilo(free), percent(r.free, free))
		}
		result.panels = append(result.panels, panel)
	}
	return nil
}

func kilo(octets float64) string { return fmt.Sprintf("%.1f", octets/1000) }

// dtRun runs all stages with one α.
func dtRun(ctx context.Context, seed uint64, alpha float64) ([]dtRow, plot.Panel, error) {
	rows := make([]dtRow, dtQueues)
	panel := plot.Panel{Unit: plot.Duration,
		Title: fmt.Sprintf("α = %v: length of queues that fill one after the other, and what is free, kB", alpha)}
	lengths := make([]plot.Series, dtQueues+1)
	lengths[dtQueues].Name = "free"
	for i := range dtQueues {
		rows[i] = dtRow{alpha: alpha, queues: i + 1}
		lengths[i].Name = fmt.Sprintf("queue %d", i+1)
	}
	counts := make([]float64, dtQueues)
	look := func(at time.Duration, s func(string) *dataplane.Snapshot) {
		stage := int(at / dtStage)
		if stage >= dtQueues {
			return
		}
		rests := at%dtStage >= dtRest
		v := &s("s1").Buffer
		free := float64(v.Lossy.Size - v.Lossy.Used.Shared.Now)
		panel.At = append(panel.At, int64(at))
		lengths[dtQueues].Values = append(lengths[dtQueues].Values, free/1000)
		for i := range v.Ports {
			var queue int
			if n, _ := fmt.Sscanf(v.Ports[i].Name, dtPort, &queue); n == 0 {
				continue
			}
			length := float64(v.Ports[i].Egress[0].Used.Now)
			lengths[queue-1].Values = append(lengths[queue-1].Values, length/1000)
			if rests && queue-1 <= stage {
				rows[stage].length += length / float64(stage+1)
			}
		}
		if rests {
			rows[stage].free += free
			counts[stage]++
		}
	}
	_, err := simulate(ctx, dtTopology(alpha), simulation.Options{Seed: seed, Look: look, LookEvery: dtLook})
	for i := range rows {
		rows[i].length /= counts[i]
		rows[i].free /= counts[i]
	}
	panel.Lines = lengths
	return rows, panel, err
}

// dtTopology has two senders for each receiver, and all links are equally fast.
func dtTopology(alpha float64) string {
	var hosts, links, traffic strings.Builder
	for q := 1; q <= dtQueues; q++ {
		for _, host := range []string{dtPort, "a%d", "b%d"} {
			name := fmt.Sprintf(host, q)
			fmt.Fprintf(&hosts, "  %s: {}\n", name)
			fmt.Fprintf(&links, "  %s: {ends: [%[1]s, \"s1:%[1]s\"], speed: 1G}\n", name)
		}
		start := time.Duration(q-1) * dtStage
		fmt.Fprintf(&traffic, "  t%d: {from: [a%[1]d, b%[1]d], to: r%[1]d, priority: 0, start: %v, duration: %v}\n", q,
			start, dtQueues*dtStage-start)
	}
	return fmt.Sprintf("name: dt\nswitches:\n  s1: {preset: roce, buffer: {lossy: {size: %d, alpha: %v}}}\nhosts:\n%s"+
		"links:\n%straffic:\n%s", dtBuffer, alpha, hosts.String(), links.String(), traffic.String())
}
