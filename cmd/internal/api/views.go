package api

import (
	"slices"
	"strconv"

	"pfcswitch/dataplane"
)

// A View is a table of an answer in the words of SONiC's command line.
type View struct {
	Words string // behind the noun's own name, such as "watermark headroom"
	Noun  string // whose answer it is made of
	Short string
	Text  func(Reply) string
}

// Views returns the tables in SONiC's words by their group, such as "priority-group".
func Views() map[string][]View {
	watermarks := func(kind string, level func(*Segment) int64) (all []View) {
		for _, segment := range []string{"shared", "headroom"} {
			all = append(all, View{kind + " " + segment, "buffer", "most bytes in the " + segment +
				" segment of each priority group",
				func(r Reply) string { return r.(*Buffer).groupWatermarks(segment, level) }})
		}
		return all
	}
	user, start := func(s *Segment) int64 { return s.MaxClearBytes }, func(s *Segment) int64 { return s.MaxStartBytes }
	return map[string][]View{
		"pfc": {{"counters", "pfc", "PFC and PAUSE frames of each priority, received and sent",
			func(r Reply) string { return r.(*PFC).counters() }}},
		"priority-group": slices.Concat(watermarks("watermark", user), watermarks("persistent-watermark", start)),
		"buffer-pool": {
			{"watermark", "buffer", "most bytes in each pool since clear watermarks",
				func(r Reply) string { return r.(*Buffer).poolWatermarks(user) }},
			{"persistent-watermark", "buffer", "most bytes in each pool since the start",
				func(r Reply) string { return r.(*Buffer).poolWatermarks(start) }},
		},
	}
}

// counters lists the frames as SONiC's "show pfc counters" does. A PAUSE counts for every priority.
func (r *PFC) counters() string {
	received, sent := priorityTable("PORT RX", "PFC"), priorityTable("PORT TX", "PFC")
	for _, p := range r.Ports {
		rx, tx := []any{p.Port}, []any{p.Port}
		for prio := range Priority(dataplane.NumPriorities) {
			var in, out any = none, none
			for _, q := range p.Priorities {
				if q.Priority == prio || q.Priority == All {
					in, out = q.ReceivedFrames, q.SentFrames
				}
			}
			rx, tx = append(rx, in), append(tx, out)
		}
		received.row(rx...)
		sent.row(tx...)
	}
	return sections(r.headline(), section{"", received}, section{"", sent})
}

// priorityTable returns a table with a column for each priority.
func priorityTable(first, name string) *table {
	names := []string{first}
	for prio := range dataplane.NumPriorities {
		names = append(names, ">"+name+strconv.Itoa(prio))
	}
	return newTable(names...)
}

// groupWatermarks lists one kind of watermark by port and priority group. Lossy groups have none.
func (r *Buffer) groupWatermarks(segment string, level func(*Segment) int64) string {
	t := priorityTable("PORT", "PG")
	for _, p := range r.Ports {
		row := []any{p.label()}
		for prio := range Priority(dataplane.NumPriorities) {
			var most any = none
			for _, q := range p.IngressQueues {
				for name, s := range q.Segments.All() {
					if name == segment && (q.Priority == prio || q.Priority == All && prio == 0) {
						most = level(s)
					}
				}
			}
			row = append(row, most)
		}
		t.row(row...)
	}
	return sections(r.headline(), section{"Bytes; the one group of a port with 802.3x PAUSE is PG0", t})
}

func (r *Buffer) poolWatermarks(of func(*Segment) int64) string {
	t := newTable("POOL", "SEGMENT", ">BYTES", ">SIZE")
	for _, p := range r.Pools {
		for name, s := range p.Segments.All() {
			t.row(p.Pool, name, of(s), s.SizeBytes)
		}
	}
	return sections(r.headline(), section{"", t})
}
