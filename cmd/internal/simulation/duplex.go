package simulation

import (
	"fmt"
	"io"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/dataplane/sim"
)

// A HalfDuplex is what an end of a half-duplex link did.
type HalfDuplex struct {
	End          string `json:"end"`           // SWITCH:PORT, or a host
	BackPressure string `json:"back_pressure"` // how it keeps the other end from sending: collision or carrier
	Sent         uint64 `json:"sent_frames"`
	Collisions   uint64 `json:"collisions"`      // in which it stopped a frame
	Forced       uint64 `json:"forced"`          // that it forced upon the other end
	GivenUp      uint64 `json:"given_up_frames"` // that met 16 collisions
	Longest      uint64 `json:"longest_run"`     // of frames in a row while the other end had one to send
	HeldNs       int64  `json:"held_ns"`         // for which it kept the other end from sending
}

// halve makes a link half duplex.
func (f *fabric) halve(l *config.LabLink, ends [2]sim.End, ports [2]*config.Port) error {
	key := "links." + l.Name + ".half_duplex"
	for e, p := range ports {
		if p != nil && p.FlowControl == config.FlowPFC {
			return f.topology.Errorf(key, "%s has flow_control: pfc, and a collision or a carrier holds all "+
				"priorities: write flow_control: pause at the link, or off", endName(l.Ends[e]))
		}
	}
	way := sim.ForcedCollision
	if l.HalfDuplex == config.HalfCarrier {
		way = sim.FalseCarrier
	}
	if err := f.HalfDuplex(ends[0], way); err != nil {
		return f.topology.Errorf(key, "%v: correct speed or cable, or remove it", err)
	}
	f.half = append(f.half, halfEnd{l.Ends[0], ends[0], l.HalfDuplex}, halfEnd{l.Ends[1], ends[1], l.HalfDuplex})
	return nil
}

// A halfEnd is an end of a half-duplex link.
type halfEnd struct {
	config.LabEnd
	end sim.End
	way string
}

// givenUp is how many frames met 16 collisions, and were discarded by their senders.
func (f *fabric) givenUp() (n uint64) {
	for _, h := range f.half {
		n += f.Station(h.end).GivenUp
	}
	return n
}

// addHalfDuplex adds the ends of half-duplex links. Where frames were given up, no more than those may be missing.
func (f *fabric) addHalfDuplex(r *Report) {
	for _, h := range f.half {
		v := f.Station(h.end)
		r.HalfDuplex = append(r.HalfDuplex, HalfDuplex{endName(h.LabEnd), h.way, v.Sent, v.Collisions, v.Forced,
			v.GivenUp, v.Longest, v.HeldNs})
	}
	if n := f.givenUp(); n > 0 && f.keepsAll(r) {
		lost := uint64(0)
		for i := range f.flows {
			if v := f.Flow(i); f.flows[i].lossless && f.flows[i].TTL == 0 {
				lost += v.Sent - min(v.Sent, v.Received)
			}
		}
		r.Hard(Phase, demo.TopicLoss, "lossless frames lost but for those given up after 16 collisions",
			fmt.Sprintf("at most %d in all", n), fmt.Sprint(lost), lost <= n)
	}
}

func (r *Report) halfDuplexText(out io.Writer) error {
	const head = "Half-duplex links. FORCED: collisions forced upon the other end. GIVEN UP: frames that met 16 " +
		"collisions. HELD: by this end.\nEND\tBY\tSENT\tCOLLISIONS\tFORCED\tGIVEN UP\tLONGEST RUN\tHELD\t%"
	return section(out, head, r.HalfDuplex, 0, func(w io.Writer, h HalfDuplex) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", h.End, h.BackPressure, h.Sent, h.Collisions, h.Forced,
			h.GivenUp, h.Longest, short(h.HeldNs), r.share(h.HeldNs))
	})
}
