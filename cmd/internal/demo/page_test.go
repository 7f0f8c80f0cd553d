package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/golden"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/web"
	"pfcswitch/cmd/internal/web/webtest"
	"pfcswitch/dataplane/assert"
)

// stateAt is the state of switch s1, whose port p1 leads to h1 and p2 to s2, after so many seconds in which each second
// was alike.
func stateAt(second uint64) *api.State {
	s := &api.State{Header: api.Header{Switch: "s1", SwitchNs: int64(second) * 1e9}}
	segment := func(used, most int64) *api.Segment {
		return &api.Segment{SizeBytes: new(int64(8000)), UsedBytes: used, MaxClearBytes: most}
	}
	s.Pools = []api.Pool{{Pool: "lossless", Segments: api.Segments{Private: segment(1024, 0),
		Headroom: segment(int64(512*second), 0)}}, {Pool: "lossy", Segments: api.Segments{Shared: segment(0, 0)}}}
	for i, name := range []string{"p1", "p2"} {
		sent := uint64(i) * second * 1000
		s.Ports = append(s.Ports, api.Port{Port: name, ReceiveFrames: second * 500, ReceiveBytes: second * 500 * 1226,
			TransmitFrames: sent, TransmitBytes: sent * 1226})
		queues, priorities := make([]api.Queue, 8), make([]api.PFCPriority, 8)
		queues[0].Transmitted, queues[3].Transmitted = sent/4, sent-sent/4
		priorities[3] = api.PFCPriority{SentPausedNs: int64(second) * 6e8, ReceivedPausedNs: int64(second) * 3e8}
		priorities[4] = api.PFCPriority{SentPausedNs: int64(second) * 1e8}
		s.Queues = append(s.Queues, api.QueuesPort{Port: name, Queues: queues})
		s.PFC = append(s.PFC, api.PFCPort{Port: name, Priorities: priorities})
		s.Buffer = append(s.Buffer, api.BufferPort{Port: name, IngressQueues: []api.IngressQueue{
			{Segments: api.Segments{Headroom: segment(0, 4000)}}, {Segments: api.Segments{Headroom: segment(0, 10)}}}})
	}
	return s
}

// courseOf is what two switches did that are joined by a link, as three answers tell.
func courseOf() *course {
	c := &course{peers: []map[string]string{{"p1": "h1", "p2": "s2"}, {"up": "s1"}}}
	for second := range uint64(3) {
		c.add(time.Duration(second)*time.Second, []*api.State{stateAt(second), {Header: api.Header{Switch: "s2"}}})
	}
	return c
}

// A course has rates on the wire, the longest pauses of both ends, and the fill of buffers. Of a link between switches
// the sender tells the rate.
func TestCourse(t *testing.T) {
	c := courseOf()
	assert.Same(t, c.at, []int64{1e9, 2e9}, "values at")
	for name, tt := range map[string]struct {
		of   lines
		want float64
	}{
		"h1 to s1:p1": {c.rates, 5}, "s1:p2 to s2, priority 3": {c.rates, 7.5},
		"s1:p2 to s2, priority 0": {c.rates, 2.5}, "h1, by s1:p1": {c.paused, 60}, "s1:p1, by h1": {c.paused, 30},
		"s2, by s1:p2": {c.paused, 60}, "s1 lossless": {c.buffer, 2}, "s1 lossy": {c.buffer, 0},
		"s1:p2": {c.headroom, 50},
	} {
		line := find(tt.of, func(s *plot.Series) bool { return s.Name == name })
		assert.True(t, len(line.Values) == 2 && line.Values[1] == tt.want,
			"%s: %v, want two values, and at last %v", name, line.Values, tt.want)
	}
	assert.Equal(t, len(c.paused), 3, "%+v, want those of two ends at p1 and one at p2", c.paused)
	got := c.panels()[0].Lines
	assert.True(t, len(got) == 3, "%+v, want three lines that are more than nothing", got)
	c.rates.add(3, "late", 9)
	late := c.rates[len(c.rates)-1]
	assert.True(t, slices.Equal(late.Values, []float64{0, 0, 0, 9}), "a line that begins late has %v", late.Values)
}

// The watermarks of a moment at which a switch does not answer stay for the next one.
func TestRecordAllOrNone(t *testing.T) {
	for _, refuses := range []bool{true, false} {
		var cleared, refused atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		p := &phase{course: &course{}}
		for i := range 2 {
			state := assert.Got(json.Marshal(&api.State{Header: api.Header{Schema: api.Schema}})).Must(t)
			s := answeringSwitch(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && cleared.Add(1) == 2 || refuses && i == 1 && refused.Add(1) == 2 {
					cancel()
				}
				if refuses && i == 1 {
					http.Error(w, "{}", http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write(state) // a client that is gone needs none
			})
			s.ports = []switchPort{{name: "p1", peer: &lab.Node{}}}
			p.switches = append(p.switches, s)
		}
		p.start = time.Now()
		p.record(ctx)
		cancel()
		want := int64(2)
		if refuses {
			want = 0
		}
		if n := cleared.Load(); n != want || refuses != (p.course.last == nil) {
			t.Errorf("a switch refuses %v: watermarks cleared %d times, %+v", refuses, n, p.course)
		}
	}
}

// pageOf is the page of a demo with one phase.
func pageOf(t *testing.T) string {
	t.Helper()
	r := &Report{Demo: "incast", Speed: 1e7, whole: true,
		Calibration: &Calibration{Speed: 1e7, Why: "since it fits"}, Flows: []Flow{flow3("a", 100, 0)},
		Phases: []PhaseResult{{Phase: "a", Title: "three <senders>", course: courseOf()}}}
	whole(r)
	r.Judge()
	var b strings.Builder
	assert.Must(t, r.Page(&b))
	return b.String()
}

func TestPage(t *testing.T) {
	head, body, _ := strings.Cut(pageOf(t), "<body>")
	assert.Contains(t, head, web.Stylesheet, "the page has not the look of the switch's")
	golden.Check(t, "page.html", body)
}

// The page needs nothing from elsewhere, and everybody can read, reach and name all of it, on a wide screen and on a
// phone, by day and by night. The pointer gets the values of a moment in all plots.
func TestReportPageForEverybody(t *testing.T) {
	text := pageOf(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(text)) // a browser that is gone needs no page
	}))
	defer s.Close()
	p := webtest.Open(t, s.URL, false, 1000, 900)
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1200, 500, 320} {
			p.Look(dark, width, 900)
			found, texts := p.LowContrast()
			if found = append(found, p.Overflow()...); len(found) > 0 || texts < 40 {
				t.Errorf("dark %v, %d pixels, %d texts: %v", dark, width, texts, found)
			}
			columns := webtest.Eval[int](p, `new Set([...document.querySelectorAll(".plots svg")]
				.map(s => s.getBoundingClientRect().left)).size`)
			if wide := width > 1000; columns != 1 && !wide || columns != 2 && wide {
				t.Errorf("%d plots beside each other at %d pixels", columns, width)
			}
		}
	}
	found, roles := p.Nameless()
	if found = append(found, p.Unreached()...); len(found) > 0 || roles["image"] != 4 || roles["heading"] != 3 {
		t.Errorf("%v, and these roles: %v", found, roles)
	}
	point := func(event string) string {
		return webtest.Eval[string](p, `(() => {
			const plots = document.querySelector(".plots"), r = plots.children[1].getBoundingClientRect();
			plots.children[1].dispatchEvent(new PointerEvent("`+event+`", {clientX: r.left + r.width * 470 / 480, clientY: r.top, bubbles: true}));
			return [plots.previousElementSibling,
				...plots.querySelectorAll("g text")].map(e => e.textContent).join("|");
		})()`)
	}
	for _, want := range []string{"2.0 s after the load began|", "|h1 to s1:p1: 5.00|",
		"|s1:p2 to s2, priority 3: 7.50|", "|h1, by s1:p1: 60.0|", "|s1 lossless: 2.00|", "|s1:p1: 50.0|"} {
		assert.Contains(t, point("pointermove"), want, "pointed at, the plots say")
	}
	webtest.Eval[bool](p, `document.querySelector(".plots").dispatchEvent(new PointerEvent("pointerleave"))`)
	if got := point("pointerover"); strings.Contains(got, ":p1: ") || strings.Contains(got, "began") {
		t.Errorf("left alone, the plots say %q", got)
	}
	if faults := p.Faults(); len(faults) > 0 || p.Asked() > 2 {
		t.Errorf("the browser complains of %v, and asked for %d things", faults, p.Asked())
	}
	found = p.Strangers(strings.TrimPrefix(s.URL, "http://"))
	assert.True(t, len(found) <= 1 && (len(found) != 1 || found[0] == "data:,"), "the browser asked for %v", found)
}
