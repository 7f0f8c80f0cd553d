package bench

import (
	"encoding/json"
	"fmt"
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
	offered       = "offered"
	delivered     = "delivered"
	frameRate     = "frames_per_second"
	cpuPerFrame   = "cpu_us_per_frame" // as many seconds for a million frames
	cpuPerGB      = "cpu_s_per_gb"
	ofDelivered   = "share_of_delivered"
	rss           = "rss_mib"
	pss           = "pss_mib"
	throughput    = "gbit_per_second"
	resent        = "retransmitted_segments"
	perReceived   = "octets_per_frame" // above 1514: GSO frames
	offloads      = "default_offloads" // 1: yes; 0: off at the hosts, because nothing arrives with them
	p50           = "p50_us"
	p99           = "p99_us"
	p999          = "p99.9_us"
	highest       = "max_us"
	lost          = "lost_frames"
	count         = "count"
	samples       = "samples"
	stopped       = "stopped_us"
	beyond        = "beyond_quanta_us"
	beyondMost    = "beyond_quanta_max_us"
	early         = "early"               // must be 0
	lastAfter     = "last_frame_after_us" // of the question for a pause
	lastMost      = "last_frame_after_max_us"
	toTwoPorts    = "share_of_2_ports"
	toShared      = "share_of_shared_port" // of the same senders at one port
	toEmpty       = "switch_cpu_to_empty"  // a frame's CPU time of the switch, to that of one that knows only its hosts
	toOne         = "switch_cpu_to_one_station"
	ofOffered     = "share_of_offered"
	ofAsked       = "share_of_asked" // below 1 the sender was the limit, not the switch
	toBridged     = "share_of_bridge_ports"
	coreShare     = "percent_of_a_core" // by pfcswitch
	allCores      = "percent_of_all_cpus"
	ownPerFrame   = "switch_cpu_us_per_frame"
	upAfter       = "up_after_s"
	wakeUps       = "wake_ups_per_second" // of all threads
	threads       = "threads"
	processNumber = "switch_processes"
	ofKeeper      = "keeper_" // begins the names of what a lab's keeper takes
	tcpRate       = "tcp_mbit_per_second"
	framesArrived = "frames_arrived"
	framesDropped = "dropped_frames"       // by all switches; must be 0
	heldShare     = "percent_of_time_held" // of the senders, the mean
	heldMost      = "percent_of_time_held_max"
	switchesHeld  = "paused_switches"
	outage        = "until_forwarding_ms"
	outageMost    = "until_forwarding_max_ms"
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

// stats are the median and the range of what rounds gave.
type stats struct {
	rounds              int
	median, least, most float64
}

func statsOf(values []float64) stats {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return stats{n, (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]}
}

// text writes the median and, of several rounds, the range.
func (s stats) text(number func(float64) string) string {
	if s.rounds == 1 {
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s-%s)", number(s.median), number(s.least), number(s.most))
}

// A row is a line of the table: a value over the rounds, and its ratios to the same value of the peers in the same
// rounds.
type row struct {
	rowKey
	stats
	ratios map[string]stats // by peer; none where the peer has no such value
}

type rowKey struct{ what, conditions, metric, dut string }

// group is what a row has in common with those of other switches.
func (k rowKey) group() rowKey {
	k.dut = ""
	return k
}

// peerNames are the switches that pfcswitch is compared with.
var peerNames = switchNames[1:]

// summarize makes the rows, in the order in which their first results came, those of one value beside each other.
func summarize(results []result) (rows []row) {
	all := map[rowKey]map[int]float64{} // by round
	var order []rowKey
	for _, r := range results {
		for _, v := range r.values {
			key := rowKey{r.what, r.conditions, v.metric, r.dut}
			if all[key] == nil {
				all[key] = map[int]float64{}
				order = append(order, key)
			}
			all[key][r.round] = v.v
		}
	}
	for len(order) > 0 {
		group := order[0].group()
		for _, key := range order {
			if key.group() == group {
				rows = append(rows, summary(key, all))
			}
		}
		order = slices.DeleteFunc(order, func(key rowKey) bool { return key.group() == group })
	}
	return rows
}

func summary(key rowKey, all map[rowKey]map[int]float64) row {
	r := row{key, statsOf(slices.Collect(maps.Values(all[key]))), map[string]stats{}}
	for _, peer := range peerNames {
		other := key
		other.dut = peer
		var ratios []float64 // of the rounds that both have and in which the peer's value is not 0
		for round, x := range all[key] {
			if y := all[other][round]; y != 0 {
				ratios = append(ratios, x/y)
			}
		}
		if peer != key.dut && len(ratios) > 0 {
			r.ratios[peer] = statsOf(ratios)
		}
	}
	return r
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
	lines := []any{m}
	if g.Watched > 0 {
		lines = append(lines, g.fields())
	}
	for i := range results {
		lines = append(lines, results[i].fields())
	}
	for i := range rows {
		lines = append(lines, rows[i].fields())
	}
	enc := json.NewEncoder(out)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
