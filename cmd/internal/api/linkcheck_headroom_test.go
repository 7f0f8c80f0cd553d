package api

import (
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// sampleCheck is a check of a port of 1 Gbit/s with a headroom of 75,008 octets.
func sampleCheck() *HeadroomCheck {
	r := headroom.CheckResult{After: []int64{6152, 4614, 9228, 4614}, Before: 3076, Filled: 12 * time.Millisecond, Octets: 1_470_000}
	return newCheck(&r, 75_008)
}

func newCheck(r *headroom.CheckResult, inForce int64) *HeadroomCheck {
	in := headroom.Inputs{Speed: 1e9, MaxFrame: 1514, Burst: 62_500}
	info := HeadroomInfo{Port: "p1", Calculated: headroom.Calculate(in, headroom.PFC), Report: headroom.Report{Neighbour: "s2",
		Measured: headroom.Measure(in, headroom.Finding{Trip: 40 * time.Microsecond})}}
	h := NewHeadroomCheck("s1", start, r, info, &dataplane.PortConfig{Mode: macctl.ModePFC, Speed: 1e9}, 3, inForce)
	h.ElapsedNs = 31_000_000
	return h
}

func TestHeadroomCheckText(t *testing.T) {
	h := sampleCheck()
	text := h.Text()
	for _, want := range []string{
		"port p1, priority 3, neighbor s2: 4 XOFFs in 31ms, into 980.0 Mbit/s (98.0 % of the port's speed)\n",
		"4,614  4,614  9,228  9,228  9,228  9,228        3,076", "75,008", "<- in force", "PASS",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What linkcheck --headroom answers, as programs read it, stands in a golden file.
func TestHeadroomCheckGolden(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, sampleCheck()); err != nil {
		t.Fatal(err)
	}
	golden(t, "linkcheck-headroom.json", b.String())
}

// The check passes only where the most that came is no more than what is in force, and the peer stopped each time.
func TestHeadroomCheckVerdict(t *testing.T) {
	for _, tt := range []struct {
		name    string
		result  headroom.CheckResult
		inForce int64
		fits    bool
		says    string
	}{
		{"it fits", headroom.CheckResult{After: []int64{10, 20}}, 20, true, "PASS"},
		{"an octet more", headroom.CheckResult{After: []int64{10, 21, 3}}, 20, false, "FAIL: more came"},
		{"the peer goes on", headroom.CheckResult{After: []int64{10}, Unstopped: 1}, 20, false, "FAIL: after 1 of the XOFFs"},
		{"nothing was found", headroom.CheckResult{}, 20, false, "FAIL"},
	} {
		h := newCheck(&tt.result, tt.inForce)
		if h.Fits != tt.fits || !strings.Contains(h.Text(), tt.says) {
			t.Errorf("%s: fits %v\n%s", tt.name, h.Fits, h.Text())
		}
	}
}

func TestQuantile(t *testing.T) {
	sorted := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for permille, want := range map[int]int64{0: 1, 100: 1, 500: 5, 501: 6, 900: 9, 990: 10, 1000: 10} {
		if got := Quantile(sorted, permille); got != want {
			t.Errorf("Quantile(%d) = %d, want %d", permille, got, want)
		}
	}
}

// A check is asked for over the socket; what makes no sense is refused before the switch hears of it.
func TestCheckHeadroom(t *testing.T) {
	f := &fake{}
	c, _ := serve(t, f)
	five := 5
	got, err := c.CheckHeadroom(t.Context(), HeadroomCheckAsk{Port: "p1", Priority: &five, Xoffs: 9})
	if err != nil || !reflect.DeepEqual(got, sampleCheck()) {
		t.Errorf("got %+v, %v", got, err)
	}
	if f.asked.Port != "p1" || *f.asked.Priority != 5 || f.asked.Xoffs != 9 {
		t.Errorf("asked %+v", f.asked)
	}
	if _, err := c.CheckHeadroom(t.Context(), HeadroomCheckAsk{Port: "p1"}); err != nil || f.asked.Priority != nil || f.asked.Xoffs != DefaultXoffs {
		t.Errorf("by default: %+v, %v", f.asked, err)
	}
	if _, err := c.CheckHeadroom(t.Context(), HeadroomCheckAsk{Port: "p9"}); err == nil || err.Error() != "there is no port p9" {
		t.Errorf("refused: %v", err)
	}
	f.asked = HeadroomCheckAsk{}
	for _, q := range []url.Values{{"priority": {"8"}}, {"priority": {"x"}}, {"xoffs": {"0"}}, {"xoffs": {"10001"}}, {"xoffs": {"1e9"}}} {
		w := httptest.NewRecorder()
		NewServer(f, start, 0).ServeHTTP(w, httptest.NewRequest("POST", "/v1/linkcheck/headroom?"+q.Encode(), nil))
		if w.Code != 400 || f.asked.Port != "" || f.asked.Xoffs != 0 {
			t.Errorf("%v: status %d, the switch was asked for %+v", q, w.Code, f.asked)
		}
	}
}
