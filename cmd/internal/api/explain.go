package api

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Explanation is the answer to explain: what becomes of frames in the switch, and why.
type Explanation struct {
	Schema  int              `json:"schema"`
	Switch  string           `json:"switch"`
	Running bool             `json:"running"` // false: all ports up, and an empty buffer
	Frames  []ExplainedFrame `json:"frames"`
}

// ExplainedFrame describes one frame. Octets are without FCS.
type ExplainedFrame struct {
	Number   int             `json:"number"` // from 1
	Port     string          `json:"port"`   // that it arrives at
	Octets   int             `json:"octets"` // of the first piece of a GSO frame that is cut
	Pieces   int             `json:"pieces"` // that it is cut into; 1 where it is not
	Priority *Priority       `json:"priority"`
	Lossless bool            `json:"lossless"` // on arrival
	VLAN     *uint16         `json:"vlan"`     // null where none applies
	Verdict  string          `json:"verdict"`  // forwarded, flooded, waits (in the ring), taken (trapped) or dropped
	Reason   *string         `json:"reason"`   // of a drop
	XOFF     bool            `json:"xoff"`     // it makes the switch tell the peer to stop
	Steps    []ExplainedStep `json:"steps"`
	Copies   []ExplainedCopy `json:"copies"` // on their way out
}

// ExplainedStep is one station of the way of a frame.
type ExplainedStep struct {
	Number  int     `json:"number"` // from 1
	Station string  `json:"station"`
	Key     *string `json:"key"` // of the configuration, that decides here; null where none does
	Text    string  `json:"text"`
}

// ExplainedCopy is the frame as it leaves by one port, or would leave if it were not dropped before.
type ExplainedCopy struct {
	Port       string  `json:"port"`
	Queue      uint8   `json:"queue"`
	Octets     int     `json:"octets"`
	Tagged     bool    `json:"tagged"`
	VLAN       *uint16 `json:"vlan"`    // of its tag; null where it has none
	PCP        *uint8  `json:"pcp"`     // likewise
	Dropped    *string `json:"dropped"` // why; null where it goes on
	AheadBytes int64   `json:"ahead_bytes"`
	PausedNs   int64   `json:"paused_ns"` // for how long yet the peer holds its queue; 0: it does not
	MarkShare  float64 `json:"mark_share"`
}

// A TraceRequest is a frame to trace.
type TraceRequest struct {
	Port  string // that it arrives at
	Frame []byte // without FCS
	Vnet  frame.VnetHeader
}

// Explain makes the answer for one frame.
func Explain(number int, f *dataplane.TraceResult) ExplainedFrame {
	e := ExplainedFrame{Number: number, Port: f.Config.Name, Octets: f.Octets, Pieces: f.Pieces, Lossless: f.Lossless,
		Verdict: verdictOf(f), XOFF: f.Ingress != nil && f.Ingress.TurnsOff}
	if f.Priority != dataplane.Unknown {
		prio := Priority(f.Priority)
		e.Priority = &prio
	}
	if f.VLAN != 0 {
		e.VLAN = &f.VLAN
	}
	if f.Dropped {
		e.Reason = nonZero(f.Reason.String())
	}
	e.Copies = each(f.Copies, func(c *dataplane.Copy) ExplainedCopy { return copyOf(f, c) })
	n := explainer{f: f}
	n.explain()
	e.Steps = n.steps
	return e
}

func verdictOf(f *dataplane.TraceResult) string {
	switch {
	case f.Waits:
		return "waits"
	case f.Trap != dataplane.NotTrapped:
		return "taken"
	case f.Dropped:
		return "dropped"
	case len(f.Copies) > 1 || len(f.Copies) == 1 && f.Decision.Port < 0:
		return "flooded"
	}
	return "forwarded"
}

func copyOf(f *dataplane.TraceResult, c *dataplane.Copy) ExplainedCopy {
	e := ExplainedCopy{Port: c.Name, Queue: c.Queue, Octets: c.Octets, Tagged: c.Tagged, AheadBytes: c.AheadOctets,
		PausedNs: c.PausedNs, MarkShare: c.MarkShare}
	if !f.Marks {
		e.MarkShare = 0
	}
	if c.Tagged {
		vid, pcp := c.Tag.VID(), c.Tag.PCP()
		e.VLAN, e.PCP = &vid, &pcp
	}
	if c.Dropped {
		e.Dropped = nonZero(c.Reason.String())
	}
	return e
}

// Text implements Reply.
func (r *Explanation) Text() string {
	var s strings.Builder
	where := "as the switch " + r.Switch + " is now"
	if !r.Running {
		where = "by the configuration of " + r.Switch + ", with every port up, nothing learned and an empty buffer"
	}
	for i := range r.Frames {
		f := &r.Frames[i]
		if i > 0 {
			s.WriteString("\n")
		}
		fmt.Fprintf(&s, "frame %d, %d octets, in by %s, %s: %s\n", f.Number, f.Octets, f.Port, where,
			strings.ToUpper(f.summary()))
		for _, step := range f.Steps {
			key := ""
			if step.Key != nil {
				key = "  [" + *step.Key + "]"
			}
			fmt.Fprintf(&s, "%3d. %-9s %s%s\n", step.Number, step.Station, step.Text, key)
		}
	}
	return s.String()
}

func (f *ExplainedFrame) summary() string {
	if f.Verdict == "dropped" {
		return "dropped, " + optionalText(f.Reason)
	}
	return f.Verdict
}

// maxFrame is the longest frame that explain takes: one tag more than any port carries.
const maxFrame = port.MaxFrame + frame.TagOctets

// explain answers one request: the body is the frame, the parameter port its ingress port, and vnet its virtio header
// in hexadecimal digits, for a GSO frame. The switch does not change.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) (any, error) {
	setReadDeadline(w)
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFrame))
	if err != nil {
		return nil, fmt.Errorf("the frame cannot be read: %w (at most %d octets)", err, maxFrame)
	}
	q := TraceRequest{Port: r.URL.Query().Get("port"), Frame: b}
	if text := r.URL.Query().Get("vnet"); text != "" {
		v, err := hex.DecodeString(text)
		header, ok := frame.DecodeVnetHeader(v)
		if err != nil || !ok {
			return nil, fmt.Errorf("vnet=%s: not the %d octets of a virtio header", text, frame.VnetHeaderOctets)
		}
		q.Vnet = header
	}
	number, _ := strconv.Atoi(r.URL.Query().Get("number"))
	f, ok := s.source.Trace(q)
	if !ok {
		names := each(s.source.Ports(), func(p *PortInfo) string { return p.Name })
		return nil, withStatus(http.StatusNotFound, &NoPortError{q.Port, names})
	}
	return &Explanation{Schema: Schema, Switch: s.source.Name(), Running: true,
		Frames: []ExplainedFrame{Explain(max(1, number), &f)}}, nil
}
