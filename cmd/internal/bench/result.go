package bench

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A result is what one measurement gave: what was measured, the conditions ("octets=60 priority=3"), of which device
// under test, in which round, and the values.
type result struct {
	what, conditions, dut string
	round                 int
	values                []value
}

// A value is a number with its name, which tells the unit.
type value struct {
	metric string
	v      float64
}

// Names of values. A name says the unit; seconds of CPU are those of all CPUs of the machine.
const (
	offered     = "offered"
	delivered   = "delivered"
	frameRate   = "frames_per_second"
	cpuPerFrame = "cpu_us_per_frame" // as many seconds for a million frames
	cpuPerGB    = "cpu_s_per_gb"
	ofDelivered = "share_of_delivered"
	rss         = "rss_mib"
	pss         = "pss_mib"
	throughput  = "gbit_per_second"
	resent      = "retransmitted_segments"
	perReceived = "octets_per_frame" // above 1514: GSO frames
	offloads    = "default_offloads" // 1: yes; 0: off at the hosts, because nothing arrives with them
	p50         = "p50_us"
	p99         = "p99_us"
	p999        = "p99.9_us"
	highest     = "max_us"
	lost        = "lost_frames"
	count       = "count"
	samples     = "samples"
	stopped     = "stopped_us"
	beyond      = "beyond_quanta_us"
	beyondMost  = "beyond_quanta_max_us"
	early       = "early"               // must be 0
	lastAfter   = "last_frame_after_us" // of the question for a pause
	lastMost    = "last_frame_after_max_us"
	toTwoPorts  = "share_of_2_ports"
	toShared    = "share_of_shared_port" // of the same senders at one port
	toEmpty     = "switch_cpu_to_empty"  // a frame's CPU time of the switch, to that of one that knows only its hosts
	toOne       = "switch_cpu_to_one_station"
	ofOffered   = "share_of_offered"
	ofAsked     = "share_of_asked" // below 1 the sender was the limit, not the switch
	toBridged   = "share_of_bridge_ports"
	coreShare   = "percent_of_a_core" // by pfcswitch
	allCores    = "percent_of_all_cpus"
	ownPerFrame = "switch_cpu_us_per_frame"
	ofFairShare = "weakest_of_fair_share"
	toAsIs      = "share_of_as_is" // of the first value of the same conditions
	outage      = "until_forwarding_ms"
	outageMost  = "until_forwarding_max_ms"
)

// details stand among the single results, not in the table.
var details = map[string]bool{offered: true, delivered: true, count: true, offloads: true}

// record keeps a result. A ratio to nothing is no value.
func (b *bench) record(what, conditions, dut string, round int, values ...value) {
	values = slices.DeleteFunc(values, func(v value) bool { return math.IsNaN(v.v) || math.IsInf(v.v, 0) })
	b.results = append(b.results, result{what, conditions, dut, round, values})
}

// fields returns the result as the keys of a JSON object.
func (r *result) fields() map[string]any {
	m := map[string]any{"what": r.what, "switch": r.dut, "round": r.round}
	maps.Copy(m, conditionFields(r.conditions))
	for _, v := range r.values {
		m[v.metric] = v.v
	}
	return m
}

// conditionFields splits "octets=60 load=idle"; numbers become numbers.
func conditionFields(conditions string) map[string]any {
	m := map[string]any{}
	for _, word := range strings.Fields(conditions) {
		k, v, _ := strings.Cut(word, "=")
		if n, err := strconv.Atoi(v); err == nil {
			m[k] = n
		} else {
			m[k] = v
		}
	}
	return m
}

// A row is a line of the table: a value's median and spread over the rounds, and the median of its ratios to the same
// value of the peers in the same round.
type row struct {
	what, conditions, metric, dut string
	rounds                        int
	median, least, most           float64
	ratios                        map[string]ratio // by peer; none where the peer has no such value
}

// A ratio is what the rounds' ratios to a peer were: their median, the least and the most.
type ratio struct {
	rounds              int
	median, least, most float64
}

// rowKey is what a row stands for.
type rowKey struct{ what, conditions, metric, dut string }

// summarize makes the rows, in the order in which their first results came, those of one value beside each other.
func summarize(results []result) (rows []row) {
	all := map[rowKey]map[int]float64{} // by round
	var groups []rowKey                 // without the switch
	switches := map[rowKey][]string{}
	for i := range results {
		r := &results[i]
		for _, v := range r.values {
			group := rowKey{r.what, r.conditions, v.metric, ""}
			key := group
			key.dut = r.dut
			if len(switches[group]) == 0 {
				groups = append(groups, group)
			}
			if all[key] == nil {
				all[key] = map[int]float64{}
				switches[group] = append(switches[group], r.dut)
			}
			all[key][r.round] = v.v
		}
	}
	for _, key := range groups {
		for _, dut := range switches[key] {
			key.dut = dut
			rows = append(rows, summary(key, all))
		}
	}
	return rows
}

func summary(key rowKey, all map[rowKey]map[int]float64) row {
	values := slices.Sorted(maps.Values(all[key]))
	r := row{key.what, key.conditions, key.metric, key.dut,
		len(values), median(values), values[0], values[len(values)-1], map[string]ratio{}}
	for _, peer := range []string{dutBridge, dutOVS, dutOVSTSO} {
		other := key
		other.dut = peer
		if peer == key.dut {
			continue
		}
		if ratios := ratios(all[key], all[other]); len(ratios) > 0 {
			r.ratios[peer] = ratio{len(ratios), median(ratios), ratios[0], ratios[len(ratios)-1]}
		}
	}
	return r
}

// ratios returns, sorted, a/b of the rounds that both have and in which b is not 0.
func ratios(a, b map[int]float64) (all []float64) {
	for round, x := range a {
		if y, ok := b[round]; ok && y != 0 {
			all = append(all, x/y)
		}
	}
	slices.Sort(all)
	return all
}

// median of sorted values, at least one.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// fields returns the row as the keys of a JSON object.
func (r *row) fields() map[string]any {
	m := map[string]any{"what": "summary", "of": r.what, "switch": r.dut, "metric": r.metric, "rounds": r.rounds,
		"median": r.median, "min": r.least, "max": r.most}
	maps.Copy(m, conditionFields(r.conditions))
	for peer, ratio := range r.ratios {
		m["to_"+peer], m["to_"+peer+"_min"], m["to_"+peer+"_max"] = ratio.median, ratio.least, ratio.most
	}
	return m
}

// writeJSON writes a line for the machine, one for the histogram of its gaps where they were measured, one for each
// result and one for each row of the table.
func writeJSON(out io.Writer, m machine, g *cpuGaps, results []result, rows []row) error {
	enc := json.NewEncoder(out)
	if err := enc.Encode(m); err != nil {
		return err
	}
	if g.Watched > 0 {
		if err := enc.Encode(g.fields()); err != nil {
			return err
		}
	}
	for i := range results {
		if err := enc.Encode(results[i].fields()); err != nil {
			return err
		}
	}
	for i := range rows {
		if err := enc.Encode(rows[i].fields()); err != nil {
			return err
		}
	}
	return nil
}
