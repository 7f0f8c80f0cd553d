package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// DefaultXoffs is the number of XOFFs of a headroom check.
const DefaultXoffs = 200

// A HeadroomCheckRequest is the request for a check.
type HeadroomCheckRequest struct {
	Port     string
	Priority *int // nil: the lowest lossless one
	Xoffs    int
}

// A HeadroomCheck is the result of an experiment: the peer fills the link, gets an XOFF, and the octets that still come
// are counted, many times. Octets are counted on the wire, for all frames of the priority.
type HeadroomCheck struct {
	Schema   int       `json:"schema"`
	Switch   string    `json:"switch"`
	Time     time.Time `json:"time"`
	Port     string    `json:"port"`
	Priority Priority  `json:"priority"`
	Neighbor *string   `json:"neighbor"`

	Xoffs         int     `json:"xoffs"`
	Unstopped     int     `json:"unstopped_xoffs"` // after which the peer went on sending
	ElapsedNs     int64   `json:"elapsed_ns"`
	FilledRate    int64   `json:"filled_bits_per_second"` // of all that came while the link was to be full
	Speed         *int64  `json:"speed_bits_per_second"`  // null: the port has none
	Samples       []int64 `json:"after_xoff_bytes"`       // that came after each XOFF had left, in order of time
	BeforeBytes   int64   `json:"before_xoff_bytes"`      // most that had come before one, and were looked at after
	InForceBytes  int64   `json:"in_force_bytes"`         // of the buffer, at the end
	HoldsBytes    int64   `json:"holds_bytes"`            // octets on the wire that those hold
	Exceeded      int     `json:"exceeded_xoffs"`         // XOFFs after which more came than the headroom held
	EtaBytes      int64   `json:"eta_bytes"`
	DelayBytes    int64   `json:"delay_bytes"`
	Calculated    int64   `json:"calculated_bytes"`
	MeasuredBytes *int64  `json:"measured_bytes"` // null: this end has not measured
	Fits          bool    `json:"fits"`           // every sample fits, and the peer stopped each time
	Inconclusive  *string `json:"inconclusive"`   // why a fit proves too little; null: sound, or no fit
}

// fullShare is the share of the speed from which a link counts as full. A port without a speed counts as one of
// macctl.NominalSpeed.
const fullShare = 0.5

// A HeadroomInForce is the headroom in force at each XOFF of a check and at its end, in bytes of the buffer.
type HeadroomInForce struct {
	Then []int64
	Now  int64
}

// exceeded counts the XOFFs after which more came than the headroom in force holds.
func (f *HeadroomInForce) exceeded(after []int64, p headroom.Packing) (n int) {
	for i, octets := range after {
		if i >= len(f.Then) || octets > p.Octets(f.Then[i]) {
			n++
		}
	}
	return n
}

// NewHeadroomCheck describes the result of a check of a priority of a port.
func NewHeadroomCheck(name string, begun time.Time, r *headroom.CheckResult, info HeadroomInfo, c *dataplane.PortConfig,
	priority uint8, inForce HeadroomInForce) *HeadroomCheck {
	h := &HeadroomCheck{Schema: Schema, Switch: name, Time: begun.UTC(), Port: info.Port, Priority: Priority(priority),
		Neighbor: nonZero(info.Report.Neighbour), Xoffs: len(r.AfterXoff), Unstopped: r.Unstopped,
		ElapsedNs: int64(time.Since(begun)), Samples: r.AfterXoff, BeforeBytes: r.BeforeXoff, InForceBytes: inForce.Now,
		HoldsBytes: info.Packing.Octets(inForce.Now), Exceeded: inForce.exceeded(r.AfterXoff, info.Packing),
		EtaBytes:   headroom.Octets(info.Calculated.Eta.Bits()),
		DelayBytes: headroom.Octets(info.Calculated.Delay.Bits()), Calculated: info.Calculated.Bytes()}
	if c.Mode == macctl.ModePause {
		h.Priority = All
	}
	if c.Speed > 0 {
		h.Speed = &c.Speed
	}
	if r.Filled > 0 {
		h.FilledRate = int64(float64(r.Octets) * 8 / r.Filled.Seconds())
	}
	if info.Report.Measured != nil {
		found := headroom.Octets(info.Report.Measured.Bits())
		h.MeasuredBytes = &found
	}
	h.Fits = r.Unstopped == 0 && len(r.AfterXoff) > 0 && h.Exceeded == 0 && slices.Max(r.AfterXoff) <= h.HoldsBytes
	if share, carried := h.filled(); h.Fits && share < fullShare {
		h.Inconclusive = nonZero("the peer was to fill the link, and it " + carried)
	}
	return h
}

// filled returns how full the link was: the share of the speed, and a text.
func (h *HeadroomCheck) filled() (share float64, text string) {
	speed, of := macctl.NominalSpeed,
		fmt.Sprintf("the %d Mbit/s that the headroom of a port without a speed is counted for",
			macctl.NominalSpeed/1_000_000)
	if h.Speed != nil {
		speed, of = *h.Speed, "the port's speed"
	}
	share = float64(h.FilledRate) / float64(speed)
	return share, "carried " + percent(share) + " % of " + of
}

// Event describes the result in one sentence.
func (h *HeadroomCheck) Event() string {
	_, carried := h.filled()
	return fmt.Sprintf("checked by %d XOFFs into a link that %s: at most %d B came after one, and %d B are in force, "+
		"which hold %d on the wire: %s", h.Xoffs, carried, slices.Max(h.Samples), h.InForceBytes, h.HoldsBytes,
		h.verdict())
}

func (s *Server) checkHeadroom(_ http.ResponseWriter, r *http.Request) (any, error) {
	ask, err := parseHeadroomCheck(r.URL.Query())
	if err != nil {
		return nil, err
	}
	result, err := s.source.CheckHeadroom(r.Context(), ask)
	return result, withStatus(http.StatusConflict, err)
}

func parseHeadroomCheck(q url.Values) (ask HeadroomCheckRequest, err error) {
	ask = HeadroomCheckRequest{Port: q.Get("port"), Xoffs: DefaultXoffs}
	if text := q.Get("priority"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 7 {
			return ask, fmt.Errorf("priority %s: it has to be from 0 to 7", text)
		}
		ask.Priority = &n
	}
	if text := q.Get("xoffs"); text != "" {
		if ask.Xoffs, err = strconv.Atoi(text); err != nil || ask.Xoffs < 1 || ask.Xoffs > headroom.MaxXoffs {
			return ask, fmt.Errorf("%s XOFFs: it has to be from 1 to %d", text, headroom.MaxXoffs)
		}
	}
	return ask, nil
}

// CheckHeadroom has the switch check the headroom of a port, and returns the result.
func (c *Client) CheckHeadroom(ctx context.Context, ask HeadroomCheckRequest) (*HeadroomCheck, error) {
	q := url.Values{"port": {ask.Port}}
	if ask.Xoffs != 0 {
		q.Set("xoffs", strconv.Itoa(ask.Xoffs))
	}
	if ask.Priority != nil {
		q.Set("priority", strconv.Itoa(*ask.Priority))
	}
	return post[HeadroomCheck](ctx, c, "/v1/linkcheck/headroom?"+q.Encode(), nil)
}

// Text returns the result for people.
func (h *HeadroomCheck) Text() string {
	speed := ""
	if h.Speed != nil {
		speed = fmt.Sprintf(" (%s %% of the port's speed)", percent(float64(h.FilledRate)/float64(*h.Speed)))
	}
	head := fmt.Sprintf("port %s, priority %s, neighbor %s: %s XOFFs in %s, into %s Mbit/s%s\n", h.Port, h.Priority,
		optionalText(h.Neighbor), count(h.Xoffs), duration(h.ElapsedNs), strconv.FormatFloat(float64(h.FilledRate)/1e6,
			'f', 1, 64), speed)
	sorted := slices.Sorted(slices.Values(h.Samples))
	after := newTable(">MIN", ">P50", ">P90", ">P99", ">P99.9", ">MAX", ">BEFORE XOFF")
	after.row(Quantile(sorted, 0), Quantile(sorted, 500), Quantile(sorted, 900), Quantile(sorted, 990),
		Quantile(sorted, 999), Quantile(sorted, 1000), h.BeforeBytes)
	beside := newTable(">ETA", ">DELAY", ">CALCULATED", ">MEASURED", ">HELD", ">IN FORCE")
	beside.row(h.EtaBytes, h.DelayBytes, h.Calculated, h.MeasuredBytes, h.HoldsBytes, h.InForceBytes)
	return head + sections("", section{"Bytes on the wire that came after XOFF had left; other traffic of the " +
		"priority counts too; BEFORE XOFF had come by then", after},
		section{"Headroom, bytes on the wire; IN FORCE: of the buffer, for HELD", beside}) + "\n" +
		spreadPlot(sorted, h.HoldsBytes) + "\n" + h.verdict() + "\n"
}

func (h *HeadroomCheck) verdict() string {
	switch {
	case h.Unstopped > 0:
		return "FAIL: after " + count(h.Unstopped) + " of the XOFFs the peer went on sending"
	case h.Exceeded > 0:
		return "FAIL: more came than the headroom in force holds, after " + count(h.Exceeded) + " of the XOFFs"
	case !h.Fits:
		return "FAIL: more came than the headroom holds that is in force by now"
	case h.Inconclusive != nil:
		return "INCONCLUSIVE: what came fits the headroom in force, but " + *h.Inconclusive
	}
	return "PASS: what came after XOFF fits the headroom in force"
}

// Quantile returns the value at a permille of sorted values by the nearest rank; 0 if there are none.
func Quantile(sorted []int64, permille int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*permille + 999) / 1000
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Rows and columns of the plot of a distribution.
const (
	plotRows  = 12
	plotWidth = 50
)

// spreadPlot draws a histogram of the samples.
func spreadPlot(sorted []int64, held int64) string {
	if len(sorted) == 0 {
		return ""
	}
	step := max(1, (max(held, sorted[len(sorted)-1])+plotRows-1)/plotRows)
	var rows [plotRows + 1]int
	most := 1
	for _, n := range sorted {
		i := min(max(n/step, 0), plotRows)
		rows[i]++
		most = max(most, rows[i])
	}
	var s strings.Builder
	for i, n := range rows {
		from := int64(i) * step
		mark := ""
		if from <= held && held < from+step {
			mark = "  <- held"
		}
		if n == 0 && mark == "" && from > sorted[len(sorted)-1] {
			continue
		}
		bar := (n*plotWidth + most - 1) / most
		s.WriteString(strings.TrimRight(fmt.Sprintf("%9s %-*s %5s%s", count(from), plotWidth, strings.Repeat("#", bar),
			count(n), mark), " ") + "\n")
	}
	return s.String()
}
