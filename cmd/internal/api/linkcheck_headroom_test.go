package api

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A headroom of one cell holds a frame, of so many octets on the wire.
const wireOctets = 84

// sampleCheck is a check of a port of 1 Gbit/s with a headroom of 893 cells, which hold 75,012 octets on the wire.
func sampleCheck() *HeadroomCheck {
	r := headroom.CheckResult{AfterXoff: []int64{6152, 4614, 9228, 4614}, BeforeXoff: 3076,
		Filled: 12 * time.Millisecond, Octets: 1_470_000}
	return newCheck(&r, 893)
}

func newCheck(r *headroom.CheckResult, cells int64) *HeadroomCheck {
	return checkOf(r, 1e9, slices.Repeat([]int64{cells}, len(r.AfterXoff)), cells)
}

// checkOf is a check of a port with a speed, or with none, of 0. The headroom has so many cells at each XOFF, and at
// the end.
func checkOf(r *headroom.CheckResult, speed int64, then []int64, now int64) *HeadroomCheck {
	inForce := HeadroomInForce{Now: 256 * now}
	for _, cells := range then {
		inForce.Then = append(inForce.Then, 256*cells)
	}
	in := headroom.Inputs{Speed: 1e9, MaxFrame: 1514, Burst: 62_500}
	info := HeadroomInfo{Port: "p1", Calculated: headroom.Calculate(in, macctl.ModePFC), Packing: in.Packing(256, 1),
		Report: headroom.Report{Neighbour: "s2",
			Measured: headroom.Measure(in, headroom.Finding{RoundTrip: 40 * time.Microsecond})}}
	h := NewHeadroomCheck("s1", start, r, info, &dataplane.PortConfig{Mode: macctl.ModePFC, Speed: speed}, 3, inForce)
	h.ElapsedNs = 31_000_000
	return h
}

func TestHeadroomCheckText(t *testing.T) {
	h := sampleCheck()
	text := h.Text()
	for _, want := range []string{
		"port p1, priority 3, neighbor s2: 4 XOFFs in 31ms, into 980.0 Mbit/s (98.0 % of the port's speed)\n",
		"4,614  4,614  9,228  9,228  9,228  9,228        3,076", "75,012", "228,608", "<- held", "PASS",
	} {
		assert.True(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
}

// The JSON of linkcheck --headroom is a golden file.
func TestHeadroomCheckGolden(t *testing.T) {
	golden.Check(t, "linkcheck-headroom.json", jsonOf(t, sampleCheck()))
}

// The check passes only if every sample fits the headroom in force, and the peer stopped each time.
func TestHeadroomCheckVerdict(t *testing.T) {
	full := func(after ...int64) headroom.CheckResult {
		return headroom.CheckResult{AfterXoff: after, Filled: time.Millisecond, Octets: 62_500} // half of 1 Gbit/s
	}
	const fits = 20 * wireOctets
	idle, unstopped := full(10, fits), full(10)
	idle.Octets--
	unstopped.Unstopped = 1
	idleAndMore := idle
	idleAndMore.AfterXoff = []int64{10, fits + 1}
	for _, tt := range []struct {
		name   string
		result headroom.CheckResult
		cells  int64
		fits   bool
		doubt  bool
		says   string
	}{
		{"it fits", full(10, fits), 20, true, false, "PASS"},
		{"an octet more", full(10, fits+1, 3), 20, false, false,
			"FAIL: more came than the headroom in force holds, after 1 of the XOFFs"},
		{"the peer goes on", unstopped, 20, false, false, "FAIL: after 1 of the XOFFs"},
		{"nothing was found", headroom.CheckResult{}, 20, false, false, "FAIL"},
		{"it fits, and the link was not full", idle, 20, true, true,
			"INCONCLUSIVE: what came fits the headroom in force, but the peer was to fill the link, and it carried " +
				"50.0 % of"},
		{"an octet more, though the link was not full", idleAndMore, 20, false, false, "FAIL: more came"},
	} {
		h := newCheck(&tt.result, tt.cells)
		assert.True(t, h.Fits == tt.fits && strings.Contains(h.Text(), tt.says) && (h.Inconclusive != nil) == tt.doubt,
			"%s: fits %v, inconclusive %v\n%s", tt.name, h.Fits, h.Inconclusive, h.Text())
	}
}

// A sample is compared with the headroom in force when its XOFF left, and with the headroom at the end. The check
// itself may raise the headroom.
func TestHeadroomCheckThatGrows(t *testing.T) {
	r := headroom.CheckResult{AfterXoff: []int64{10 * wireOctets, 30 * wireOctets}, Filled: time.Millisecond,
		Octets: 125_000}
	for _, tt := range []struct {
		name     string
		then     []int64 // cells
		now      int64
		exceeded int
		says     string
	}{
		{"raised by the check, in time", []int64{10, 30}, 30, 0, "PASS"},
		{"raised after more had come", []int64{20, 20}, 30, 1,
			"FAIL: more came than the headroom in force holds, after 1 of the XOFFs"},
		{"lowered since", []int64{30, 30}, 20, 0, "FAIL: more came than the headroom holds that is in force by now"},
		{"not known for all", []int64{30}, 30, 1, "FAIL"},
	} {
		h := checkOf(&r, 1e9, tt.then, tt.now)
		if h.Exceeded != tt.exceeded || !strings.Contains(h.Text(), tt.says) || !strings.Contains(h.Event(), tt.says) ||
			h.Fits != (tt.says == "PASS") {
			t.Errorf("%s: fits %v, %d exceeded, %s\n%s", tt.name, h.Fits, h.Exceeded, h.Event(), h.Text())
		}
	}
}

// The event says how full the link was, also where the verdict does not depend on that. A port without a speed has to
// carry half of what its headroom is counted for.
func TestHeadroomCheckEvent(t *testing.T) {
	const noSpeed = "50.0 % of the 10000 Mbit/s that the headroom of a port without a speed is counted for"
	for _, tt := range []struct {
		octets        uint64 // in a millisecond
		speed, after  int64
		carried, want string
	}{
		{125_000, 1e9, 1681, "100.0 % of the port's speed",
			"FAIL: more came than the headroom in force holds, after 1 of the XOFFs"},
		{12_500, 1e9, 1681, "10.0 % of the port's speed",
			"FAIL: more came than the headroom in force holds, after 1 of the XOFFs"},
		{625_000, 0, 10, noSpeed, "PASS: what came after XOFF fits the headroom in force"},
		{624_999, 0, 10, noSpeed, "INCONCLUSIVE: what came fits the headroom in force, but the peer was to fill the " +
			"link, and it carried " + noSpeed},
	} {
		want := fmt.Sprintf("checked by 1 XOFFs into a link that carried %s: at most %d B came after one, and "+
			"5120 B are in force, which hold 1680 on the wire: %s", tt.carried, tt.after, tt.want)
		h := checkOf(&headroom.CheckResult{AfterXoff: []int64{tt.after}, Filled: time.Millisecond, Octets: tt.octets},
			tt.speed, []int64{20}, 20)
		assert.Equal(t, h.Event(), want, "%d octets", tt.octets)
	}
}

func TestQuantile(t *testing.T) {
	sorted := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for permille, want := range map[int]int64{0: 1, 100: 1, 500: 5, 501: 6, 900: 9, 990: 10, 1000: 10} {
		assert.Equal(t, Quantile(sorted, permille), want, "Quantile(%d)", permille)
	}
}

// A check is requested over the socket. Requests out of range are refused before the switch gets them.
func TestCheckHeadroom(t *testing.T) {
	f := &fake{}
	c, _ := serve(t, f)
	five := 5
	got, err := c.CheckHeadroom(t.Context(), HeadroomCheckRequest{Port: "p1", Priority: &five, Xoffs: 9})
	assert.True(t, err == nil && reflect.DeepEqual(got, sampleCheck()), "got %+v, %v", got, err)
	assert.True(t, f.asked.Port == "p1" && *f.asked.Priority == 5 && f.asked.Xoffs == 9, "asked %+v", f.asked)
	_, err = c.CheckHeadroom(t.Context(), HeadroomCheckRequest{Port: "p1"})
	assert.True(t, err == nil && f.asked.Priority == nil && f.asked.Xoffs == DefaultXoffs,
		"by default: %+v, %v", f.asked, err)
	_, err = c.CheckHeadroom(t.Context(), HeadroomCheckRequest{Port: "p9"})
	assert.True(t, err != nil && err.Error() == "there is no port p9", "refused: %v", err)
	f.asked = HeadroomCheckRequest{}
	for _, q := range []url.Values{{"priority": {"8"}}, {"priority": {"x"}}, {"xoffs": {"0"}}, {"xoffs": {"10001"}},
		{"xoffs": {"1e9"}}} {
		w := httptest.NewRecorder()
		NewServer(f, start, 0).ServeHTTP(w, httptest.NewRequest("POST", "/v1/linkcheck/headroom?"+q.Encode(), nil))
		assert.True(t, w.Code == 400 && f.asked.Port == "" && f.asked.Xoffs == 0,
			"%v: status %d, the switch was asked for %+v", q, w.Code, f.asked)
	}
}
