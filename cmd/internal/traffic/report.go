package traffic

import (
	"fmt"
	"io"
	"text/tabwriter"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A SendReport is the result of a sender.
type SendReport struct {
	Schema      int        `json:"schema"`
	Interface   string     `json:"interface"`
	Source      string     `json:"source"`
	Speed       int64      `json:"speed_bits_per_second"`
	Elapsed     int64      `json:"elapsed_ns"`
	Frames      uint64     `json:"frames"`
	Rate        float64    `json:"frames_per_second"`
	Behind      float64    `json:"behind"` // share of the allowed load that was not sent: see behind
	Flows       []SentFlow `json:"flows"`
	PFCReceived [8]uint64  `json:"pfc_received_frames"`
	Paused      [8]int64   `json:"pfc_received_paused_ns"` // during Elapsed, as PauseTime
	PauseFrames uint64     `json:"pause_received_frames"`
	PauseTime   int64      `json:"pause_received_paused_ns"`
	Ignored     uint64     `json:"mac_control_ignored_frames"`
	Control     uint64     `json:"control_sent_frames"` // hello and totals
	Send        Way        `json:"send"`                // at the end of the load

	LongestStall int64 `json:"longest_stall_ns"`
}

// A Way says which sockets frames left by, as "show ports" does.
type Way struct {
	By  string  `json:"by"`  // af_xdp: bursts of frames of up to 2048 octets; packet: all
	Why *string `json:"why"` // null with af_xdp
}

func newWay(path port.TxPath) Way {
	if path.XDP {
		return Way{By: "af_xdp"}
	}
	return Way{By: "packet", Why: &path.Why}
}

// A SentFlow is one flow of a sender. The sink's counters are valid only where Answered is true.
type SentFlow struct {
	Flow       uint32 `json:"flow"`
	Priority   uint8  `json:"priority"`
	Sent       uint64 `json:"sent"`
	SentBytes  uint64 `json:"sent_bytes"`
	Answered   bool   `json:"answered"`
	Received   uint64 `json:"received"`
	Lost       uint64 `json:"lost"`
	Reordered  uint64 `json:"reordered"`
	Duplicated uint64 `json:"duplicated"`
	CNPs       uint64 `json:"cnp_received_frames"`
	FinalRate  int64  `json:"final_rate_bits_per_second"` // that DCQCN allowed at the end; 0 without it
}

// A SinkReport is the result of a sink.
type SinkReport struct {
	Schema         int            `json:"schema"`
	Interface      string         `json:"interface"`
	Address        string         `json:"address"`
	Window         int64          `json:"window_ns"` // the time that WindowFrames of the flows are counted in
	Flows          []ReceivedFlow `json:"flows"`
	Foreign        uint64         `json:"foreign_frames"` // no test frames, or of flows beyond MaxFlows
	RingLossless   uint64         `json:"ring_lossless_drops"`
	RingOther      uint64         `json:"ring_other_drops"`
	PFCSent        [8]uint64      `json:"pfc_sent_frames"`
	PauseSent      uint64         `json:"pause_sent_frames"`
	PFCReceived    [8]uint64      `json:"pfc_received_frames"`
	ReceivedFrames uint64         `json:"received_frames"`
	Control        uint64         `json:"control_sent_frames"`
}

// A ReceivedFlow is one flow at a sink. Sent is valid only where Finished is true.
type ReceivedFlow struct {
	Source       string    `json:"source"`
	Flow         uint32    `json:"flow"`
	Priority     uint8     `json:"priority"`
	Finished     bool      `json:"finished"`
	Sent         uint64    `json:"sent"`
	Received     uint64    `json:"received"`
	Lost         uint64    `json:"lost"`
	Reordered    uint64    `json:"reordered"`
	Overtaken    uint64    `json:"overtaken_bytes"` // most octets of later frames, with FCS, that overtook a frame
	Duplicated   uint64    `json:"duplicated"`
	WindowFrames uint64    `json:"window_frames"`
	WindowBits   uint64    `json:"window_wire_bits"`
	SlotBits     []uint64  `json:"slot_wire_bits"`      // in equal parts of the window
	LongestGap   int64     `json:"longest_gap_ns"`      // between two frames
	GapFrom      int64     `json:"longest_gap_from_ns"` // when it began, and when the last frame came: ns since 1970
	Gaps         []Gap     `json:"long_gaps"`           // the first of at least LongGap
	LastAt       int64     `json:"last_at_ns"`
	Marked       uint64    `json:"marked_frames"` // that came with congestion experienced
	CNPs         uint64    `json:"cnp_sent_frames"`
	Latency      Latencies `json:"latency_ns"`
}

// Rate is the rate on the wire, in bit/s, in a window of so many ns; 0 where the first frame came after the window.
func (f *ReceivedFlow) Rate(window int64) int64 {
	if window <= 0 {
		return 0
	}
	return int64(float64(f.WindowBits) / (float64(window) / 1e9))
}

// Latencies are quantiles of the one-way latency in ns.
type Latencies struct {
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// Text writes the report for a person.
func (r *SendReport) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s sent %d frames in %.2f s (%.0f/s), behind %.1f %%, longest stall %.1f ms\n", r.Interface,
		r.Frames, float64(r.Elapsed)/1e9, r.Rate, 100*r.Behind, float64(r.LongestStall)/1e6)
	fmt.Fprintln(w, "PRIO\tSENT\tRECEIVED\tLOST\tREORDERED\tDUPLICATED\tPFC-RX\tPAUSED ms\t")
	for _, f := range r.Flows {
		fmt.Fprintf(w, "%d\t%d\t", f.Priority, f.Sent)
		if f.Answered {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t", f.Received, f.Lost, f.Reordered, f.Duplicated)
		} else {
			fmt.Fprint(w, "?\t?\t?\t?\t")
		}
		fmt.Fprintf(w, "%d\t%.1f\t\n", r.PFCReceived[f.Priority], float64(r.Paused[f.Priority])/1e6)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range r.Flows {
		if f.FinalRate > 0 {
			fmt.Fprintf(out, "priority %d: %d CNPs received, may send %.1f Mbit/s at the end\n", f.Priority, f.CNPs,
				float64(f.FinalRate)/1e6)
		}
	}
	return nil
}

// Text writes the report for a person.
func (r *SinkReport) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s received %d frames; lost in its own rings: lossless %d, other %d; foreign frames: %d\n",
		r.Interface, r.ReceivedFrames, r.RingLossless, r.RingOther, r.Foreign)
	fmt.Fprintln(w, "SOURCE\tPRIO\tSENT\tRECEIVED\tLOST\tREORDERED\tDUPLICATED\tP50 µs\tP99 µs\tP99.9 µs\tMAX µs\t")
	for _, f := range r.Flows {
		sent, lost := "?", "?"
		if f.Finished {
			sent, lost = fmt.Sprint(f.Sent), fmt.Sprint(f.Lost)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", f.Source, f.Priority, sent, f.Received, lost,
			f.Reordered, f.Duplicated, f.Latency.P50/1000, f.Latency.P99/1000, f.Latency.P999/1000, f.Latency.Max/1000)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range r.Flows {
		if f.Marked > 0 {
			fmt.Fprintf(out, "%s priority %d: %d frames came marked (CE), %d CNPs sent\n", f.Source, f.Priority,
				f.Marked, f.CNPs)
		}
	}
	return nil
}

// Text writes the report for a person.
func (r *StormReport) Text(out io.Writer) error {
	what := r.FlowControl
	if what == "pfc" {
		what = fmt.Sprintf("PFC for priority %d", r.Priority)
	}
	_, err := fmt.Fprintf(out, "%s sent %d XOFFs (%s, %d quanta at %g Mbit/s) in %.2f s (%.0f/s): the peer was to be "+
		"paused for %.2f %% of the time (wanted: %d %%), longest gap %.3f ms\n",
		r.Interface, r.Frames, what, r.Quanta, float64(r.Speed)/1e6, float64(r.Elapsed)/1e9, r.Rate, 100*r.Paused,
		r.Duty, float64(r.LongestGap)/1e6)
	return err
}

func (s *sender) report() *SendReport {
	c := s.source.receiver.Counters()
	r := &SendReport{Schema: 1, Interface: s.c.Interface, Source: macString(s.own), Speed: s.c.Speed,
		Elapsed: s.elapsed, Behind: s.behind(), Flows: []SentFlow{}, Control: s.control,
		PFCReceived: c.PFCFrames, PauseFrames: c.PauseFrames, Paused: s.paused.each, PauseTime: s.paused.all,
		LongestStall: s.lateness.longest}
	for _, f := range s.flows {
		a, ok := s.answers[f.id]
		sf := SentFlow{Flow: f.id, Priority: f.Priority, Sent: f.sent, SentBytes: f.octets, Answered: ok}
		if f.control != nil {
			sf.CNPs, sf.FinalRate = f.control.cnps, f.control.rate
		}
		if ok {
			sf.Received, sf.Reordered, sf.Duplicated = a.received, a.reordered, a.duplicated
			sf.Lost = f.sent - min(f.sent, a.received)
		}
		r.Flows = append(r.Flows, sf)
		r.Frames += f.sent
	}
	if s.elapsed > 0 {
		r.Rate = float64(r.Frames) / (float64(s.elapsed) / 1e9)
	}
	for reason, n := range c.Ignored {
		if macctl.Reason(reason) != macctl.ReasonNone {
			r.Ignored += n
		}
	}
	return r
}

// behind is the share of the load that was not sent, of the load that speed and flows allowed while pauses did not hold
// it.
func (s *sender) behind() float64 {
	var sent float64
	for _, f := range s.flows {
		sent += float64(f.octets+f.sent*frame.WireExtras) * 8
	}
	allowed := s.allowed()
	if allowed < 1 {
		return 0
	}
	return max(0, 1-sent/allowed)
}

// allowed is the load in bits that speed and flows allowed. A flow with a rate offers nothing while it is paused, also
// where another flow goes on. A saturated flow on a port without a speed allows nothing that can be missed. Of a flow
// with a count or a window, what it has sent was allowed: how long it takes depends on the others.
func (s *sender) allowed() float64 {
	begin, end := s.startNs+s.elapsed, s.startNs
	var offered float64
	saturated := false
	for _, f := range s.flows {
		from, until := max(f.from, s.startNs), s.startNs+s.elapsed
		if f.until > 0 {
			until = min(until, f.until)
		}
		lasted := f.on(max(0, until-from))
		begin, end = min(begin, from), max(end, until)
		if f.Count > 0 || f.Window > 0 {
			offered += float64(f.octets+f.sent*frame.WireExtras) * 8
			continue
		}
		if f.control != nil {
			paused := s.paused.each[f.Priority] + s.paused.all
			offered += f.control.bits * float64(max(0, lasted-paused)) / float64(max(1, lasted))
			continue
		}
		if f.Replay != nil && f.Replay.timed { // as much as it sent a time, also of the time by which it lags
			lag := max(0, f.lag(until)-s.paused.each[f.Priority]-s.paused.all)
			offered += float64(f.octets+f.sent*frame.WireExtras) * 8 * float64(lasted) / float64(max(1, lasted-lag))
			continue
		}
		if f.Rate == 0 {
			saturated = true
			offered += float64(s.c.Speed) * float64(max(0, lasted-s.source.blocked)) / 1e9
			continue
		}
		offered += float64(f.Rate) * float64(max(0, lasted-s.paused.each[f.Priority]-s.paused.all)) / 1e9
	}
	whole := float64(s.c.Speed) * float64(max(0, end-begin-s.source.blocked)) / 1e9
	if saturated && s.c.Speed == 0 || s.c.Speed > 0 && offered > whole {
		return whole
	}
	return offered
}
