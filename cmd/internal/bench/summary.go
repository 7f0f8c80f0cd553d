package bench

import (
	"maps"
	"slices"
)

// A row is a line of the table: a value's median and spread over the rounds, and the median of its ratios to the same value
// of the peers in the same round.
type row struct {
	what, conditions, metric, of string
	rounds                       int
	median, least, most          float64
	ratios                       map[string]ratio // by peer; none where the peer has no such value
}

// A ratio is what the rounds' ratios to a peer were: their median, the least and the most.
type ratio struct {
	rounds              int
	median, least, most float64
}

// rowKey is what a row stands for.
type rowKey struct{ what, conditions, metric, of string }

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
			key.of = r.of
			if len(switches[group]) == 0 {
				groups = append(groups, group)
			}
			if all[key] == nil {
				all[key] = map[int]float64{}
				switches[group] = append(switches[group], r.of)
			}
			all[key][r.round] = v.v
		}
	}
	for _, key := range groups {
		for _, of := range switches[key] {
			key.of = of
			rows = append(rows, summary(key, all))
		}
	}
	return rows
}

func summary(key rowKey, all map[rowKey]map[int]float64) row {
	values := slices.Sorted(maps.Values(all[key]))
	r := row{key.what, key.conditions, key.metric, key.of, len(values), median(values), values[0], values[len(values)-1], map[string]ratio{}}
	for _, peer := range []string{ofBridge, ofOVS, ofOVSTSO} {
		other := key
		other.of = peer
		if peer == key.of {
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
	m := map[string]any{"what": "summary", "of": r.what, "switch": r.of, "metric": r.metric, "rounds": r.rounds, "median": r.median, "min": r.least,
		"max": r.most}
	maps.Copy(m, conditionFields(r.conditions))
	for peer, ratio := range r.ratios {
		m["to_"+peer], m["to_"+peer+"_min"], m["to_"+peer+"_max"] = ratio.median, ratio.least, ratio.most
	}
	return m
}
