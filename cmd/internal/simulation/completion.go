package simulation

import (
	"fmt"
	"io"
	"slices"

	"pfcswitch/cmd/internal/demo"
)

// A Completion says how long flows of about one size took, from their begin until their last frame had come.
type Completion struct {
	Traffic   string `json:"traffic"`
	Least     int64  `json:"least_bytes"` // payload of a flow
	Most      int64  `json:"most_bytes"`
	Flows     int    `json:"flows"`
	Finished  int    `json:"finished"` // others were still sending at the end, or have lost frames
	Sent      uint64 `json:"sent"`     // frames
	Lost      uint64 `json:"lost"`     // that have not come, those that a TTL ended among them
	Reordered uint64 `json:"reordered"`
	Mean      int64  `json:"mean_ns"`
	P50       int64  `json:"p50_ns"`
	P99       int64  `json:"p99_ns"`
	Max       int64  `json:"max_ns"`
}

// sizeClasses are the largest payloads of the classes that pFabric and its successors tell apart. The last has no
// bound.
var sizeClasses = [...]int64{100_000, 10_000_000, 1 << 62}

// addCompletions adds the flows that have a size, by entry and class, and their checks.
func (f *fabric) addCompletions(r *Report) {
	inOrder := f.keepsOrder()
	for i := range f.topology.Traffic {
		t := &f.topology.Traffic[i]
		for class, most := range sizeClasses {
			c := Completion{Traffic: t.Name}
			var took []int64
			lossless := true
			for n := range f.flows {
				fl := &f.flows[n]
				if fl.LabTraffic != t || fl.size == 0 || fl.size > most ||
					class > 0 && fl.size <= sizeClasses[class-1] {
					continue
				}
				v := f.Flow(n)
				if c.Flows == 0 || fl.size < c.Least {
					c.Least = fl.size
				}
				c.Most, c.Flows = max(c.Most, fl.size), c.Flows+1
				c.Sent += v.Sent
				c.Lost += v.Sent - min(v.Sent, v.Received)
				c.Reordered += v.Reordered
				lossless = lossless && fl.lossless && fl.TTL == 0
				if v.Took > 0 {
					took = append(took, v.Took)
				}
			}
			if c.Flows == 0 {
				continue
			}
			c.times(took)
			r.Completions = append(r.Completions, c)
			name := fmt.Sprintf("%s, %d to %d bytes: ", t.Name, c.Least, c.Most)
			if inOrder {
				r.None(demo.TopicOrder, name+"frames out of order", c.Reordered)
			}
			if lossless && f.losesNothing(r) {
				r.Hard(Phase, demo.TopicLoss, name+"frames lost", fmt.Sprintf("0 of %d", c.Sent), fmt.Sprint(c.Lost),
					c.Lost == 0)
			}
		}
	}
}

// times sums up how long the finished flows took.
func (c *Completion) times(took []int64) {
	c.Finished = len(took)
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	for _, ns := range took {
		c.Mean += ns
	}
	c.Mean /= int64(len(took))
	quantile := func(percent int) int64 { return took[(len(took)*percent+99)/100-1] }
	c.P50, c.P99, c.Max = quantile(50), quantile(99), quantile(100)
}

// completionText writes the completion times.
func (r *Report) completionText(out io.Writer) error {
	const head = "How long flows took, from their begin until their last frame had come.\n" +
		"TRAFFIC\tBYTES\tFLOWS\tFINISHED\tMEAN\tP50\tP99\tMAX\tLOST\tREORDERED"
	return section(out, head, r.Completions, 0, func(w io.Writer, c Completion) {
		fmt.Fprintf(w, "%s\t%d to %d\t%d\t%d\t%s\t%s\t%s\t%s\t%d\t%d\n", c.Traffic, c.Least, c.Most, c.Flows,
			c.Finished, short(c.Mean), short(c.P50), short(c.P99), short(c.Max), c.Lost, c.Reordered)
	})
}
