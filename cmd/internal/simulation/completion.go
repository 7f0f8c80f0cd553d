package simulation

import (
	"fmt"
	"io"
	"slices"

	"pfcswitch/cmd/internal/config"
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

// A SizedFlow is what became of a flow that has a size.
type SizedFlow struct {
	*config.LabTraffic
	Size                      int64 // payload
	Lossless                  bool
	Sent, Received, Reordered uint64
	Took                      int64 // ns from its begin until its last frame had come; 0: that has not
}

func (f *fabric) addCompletions(r *Report) {
	var flows []SizedFlow
	for n := range f.flows {
		if fl := &f.flows[n]; fl.size > 0 {
			v := f.Flow(n)
			flows = append(flows, SizedFlow{fl.LabTraffic, fl.size, fl.lossless && fl.TTL == 0, v.Sent, v.Received,
				v.Reordered, v.Took})
		}
	}
	r.AddCompletions(f.topology, flows, f.keepsOrder(), f.losesNothing(r))
}

// AddCompletions adds flows that have a size, by entry and class, and their checks: order where inOrder, and loss where
// all are lossless and whole says that no lossless frame may be missing.
func (r *Report) AddCompletions(t *config.Topology, flows []SizedFlow, inOrder, whole bool) {
	for i := range t.Traffic {
		least := int64(0)
		for _, most := range sizeClasses {
			r.addCompletion(&t.Traffic[i], flows, least, most, inOrder, whole)
			least = most
		}
	}
}

// addCompletion adds the flows of an entry with more than least and up to most of payload.
func (r *Report) addCompletion(t *config.LabTraffic, flows []SizedFlow, least, most int64, inOrder, whole bool) {
	c := Completion{Traffic: t.Name, Least: most}
	var took []int64
	for n := range flows {
		fl := &flows[n]
		if fl.LabTraffic != t || fl.Size <= least || fl.Size > most {
			continue
		}
		c.Least, c.Most, c.Flows = min(c.Least, fl.Size), max(c.Most, fl.Size), c.Flows+1
		c.Sent += fl.Sent
		c.Lost += fl.Sent - min(fl.Sent, fl.Received)
		c.Reordered += fl.Reordered
		whole = whole && fl.Lossless
		if fl.Took > 0 {
			took = append(took, fl.Took)
		}
	}
	if c.Flows == 0 {
		return
	}
	c.times(took)
	r.Completions = append(r.Completions, c)
	name := fmt.Sprintf("%s, %d to %d bytes: ", t.Name, c.Least, c.Most)
	if inOrder {
		r.None(demo.TopicOrder, name+"frames out of order", c.Reordered)
	}
	if whole {
		r.Hard(Phase, demo.TopicLoss, name+"frames lost", fmt.Sprintf("0 of %d", c.Sent), fmt.Sprint(c.Lost),
			c.Lost == 0)
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
