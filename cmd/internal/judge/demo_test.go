package judge

import (
	"strings"
	"testing"
)

// good is the report of a demo as it should be.
const good = `{"schema":1, "demo":"incast", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"lossless frames lost","want":"0","got":"0","pass":true,"judged":true},
  {"act":"a","name":"share","kind":"soft","want":"95 %","got":"96 %","pass":true,"judged":true}],
 "flows":[
  {"act":"a","name":"h1>h4","priority":3,"lossless":true,"sent":1000,"received":1000,"lost":0,"reordered":0,"duplicated":0,
   "latency_ns":{"p50":50000,"p99":60000,"p999":70000,"max":80000},"rate_bits_per_second":33300000},
  {"act":"a","name":"h2>h4","priority":3,"lossless":true,"sent":3000,"received":3000,"lost":0,"reordered":0,"duplicated":0,
   "latency_ns":{"p50":0,"p99":0,"p999":0,"max":0},"rate_bits_per_second":99900000},
  {"act":"b","name":"h1>h4","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"c1","name":"h1>h4","priority":3,"lossless":false,"sent":1000,"received":400,"lost":600,"reordered":0,"duplicated":0,
   "latency_ns":{"p50":0,"p99":0,"p999":0,"max":0},"rate_bits_per_second":44400000},
  {"act":"c2","name":"h1>h4","priority":3,"lossless":false,"sent":9,"received":8,"lost":1}],
 "acts":[{"act":"a","control":false},{"act":"b","control":false},{"act":"c1","control":true},{"act":"c2","control":true}],
 "switches":[
  {"act":"a","name":"s1","lossless_drops":0,"pfc_sent":17,"headroom":[{"port":"p1","priority":3,"configured_bytes":20000,"peak_bytes":20000}]},
  {"act":"b","name":"s2","lossless_drops":0,"pfc_sent":18},
  {"act":"c1","name":"s1","lossless_drops":0,"pfc_sent":0,"headroom":[]}]}`

// goodHost is the report of a demo host as it should be.
const goodHost = `{"schema":1, "demo":"host", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"TCP segments sent again","want":"0","got":"0","pass":true,"judged":true}], "flows":[],
 "transfers":[{"act":"a","name":"h1>h4","lossless":true,"octets":1000,"segments_sent_again":0},
  {"act":"b","name":"h1>h4","lossless":false,"octets":900,"segments_sent_again":7}],
 "acts":[{"act":"a","control":false},{"act":"b","control":true}],
 "switches":[{"act":"a","name":"s1","pfc_sent":17},{"act":"b","name":"s1"}]}`

func TestJudgeDemoHost(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"unknown demo", `"demo":"host"`, `"demo":"ghost"`, "does not know it"},
		{"a switch lost frames", `"name":"s1","pfc_sent":17`, `"name":"s1","lossless_drops":1,"pfc_sent":17`, "act a, switch s1: lossless_drops 1"},
		{"nothing arrived", `"octets":1000`, `"octets":0`, "h1>h4: nothing arrived by TCP"},
		{"nothing lossless", `"lossless":true`, `"lossless":false`, "act a: no lossless flow"},
		{"nobody was held", `"pfc_sent":17`, `"pfc_sent":0`, "no switch sent PFC"},
		{"nothing was lost without flow control", `"segments_sent_again":7`, `"segments_sent_again":0`, "act b: without flow control nothing was lost"},
	} {
		if test.old != "" && !strings.Contains(goodHost, test.old) {
			t.Fatalf("%s: the good report has no %s", test.name, test.old)
		}
		var out strings.Builder
		ok, err := judgeDemo(strings.NewReader(strings.ReplaceAll(goodHost, test.old, test.new)), &out)
		if err != nil || ok != (test.want == "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: got %v, %v, want %q in\n%s", test.name, ok, err, test.want, out.String())
		}
	}
}

func TestJudgeDemo(t *testing.T) {
	for _, test := range []struct {
		name, old, new string // what is changed in the good report
		want           string // "" = content
	}{
		{"good", "", "", ""},
		{"a check failed", `"got":"0","pass":true`, `"got":"1","pass":false`, "lossless frames lost: got 1, want 0"},
		{"a soft check failed", `"got":"96 %","pass":true`, `"got":"70 %","pass":false`, "share: got 70 %, want 95 %"},
		{"a soft check is not judged", `"got":"96 %","pass":true,"judged":true`, `"got":"70 %","judged":false,"reason":"s1 waited"`, ""},
		{"it does not say why", `"got":"96 %","pass":true,"judged":true`, `"got":"70 %","judged":false`, `share: a check of kind "soft" is not judged, by reason ""`},
		{"a hard check is not judged", `"got":"0","pass":true,"judged":true`, `"got":"0","judged":false,"reason":"s1 waited"`, "lossless frames lost: a check of kind"},
		{"it could not run", `"pass":true, "seconds"`, `"pass":false, "could_not_run":"act c1: no load", "seconds"`, "it could not run: act c1: no load"},
		{"pass without checks", `{"act":"a","name":"lossless frames lost","want":"0","got":"0","pass":true,"judged":true},
  {"act":"a","name":"share","kind":"soft","want":"95 %","got":"96 %","pass":true,"judged":true}`, "", "of 0 checks"},
		{"a verdict against the checks", `"pass":true, "seconds"`, `"pass":false, "seconds"`, "pass is false"},
		{"lost", `"received":1000,"lost":0`, `"received":999,"lost":1`, "flow h1>h4, priority 3: sent 1000, received 999, lost 1"},
		{"lost but not told", `"received":1000,`, `"received":999,`, "received 999"},
		{"reordered", `"received":1000,"lost":0,"reordered":0`, `"received":1000,"lost":0,"reordered":2`, "reordered 2"},
		{"duplicated", `"lost":0,"reordered":0,"duplicated":0`, `"lost":0,"reordered":0,"duplicated":1`, "duplicated 1"},
		{"idle flow", `"sent":1000,"received":1000`, `"sent":0,"received":0`, "sent 0"},
		{"all lossy", `"lossless":true`, `"lossless":false`, "act b: no lossless flow"},
		{"a lossless act without flows", `{"act":"b","name":"h1>h4"`, `{"act":"x","name":"h1>h4"`, "act b: no lossless flow"},
		{"a lossless act without a switch", `{"act":"b","name":"s2"`, `{"act":"x","name":"s2"`, "act b: no counters of any switch"},
		{"counted drops", `"lossless_drops":0,"pfc_sent":17`, `"lossless_drops":3,"pfc_sent":17`, "lossless_drops 3"},
		{"no PFC", `"pfc_sent":17`, `"pfc_sent":0`, "no switch sent PFC"},
		{"headroom too small", `"peak_bytes":20000`, `"peak_bytes":20001`, "20001 bytes of headroom used, 20000 configured"},
		{"control run without loss", `"received":400,"lost":600`, `"received":1000,"lost":0`, "act c1: without flow control nothing was lost"},
		{"no control acts", `"control":true`, `"control":false`, "no act c2 (control: true)"},
		{"one control act", `,{"act":"c2","control":true}`, "", "no act c2"},
		{"one lossless act", `{"act":"b","control":false},`, "", "no act b (control: false)"},
		{"no acts", `"acts":[`, `"other":[`, "no act a"},
	} {
		text := good
		if test.old != "" {
			if !strings.Contains(good, test.old) {
				t.Fatalf("%s: the good report has no %s", test.name, test.old)
			}
			text = strings.ReplaceAll(good, test.old, test.new)
		}
		var out strings.Builder
		ok, err := judgeDemo(strings.NewReader(text), &out)
		if err != nil || ok != (test.want == "") {
			t.Errorf("%s: got %v, %v\n%s", test.name, ok, err, out.String())
		}
		if !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: the output lacks %q:\n%s", test.name, test.want, out.String())
		}
	}
}

// Rates depend on the machine: they are told, whatever they are.
func TestRatesAreToldNotJudged(t *testing.T) {
	var out strings.Builder
	if ok, err := judgeDemo(strings.NewReader(good), &out); !ok || err != nil {
		t.Fatal(ok, err)
	}
	// Rates are the report's own, whatever an act's time was. 1000 and 3000 of 4000 frames: Jain's index is 4000² / (2·(1000² + 3000²)) = 0.8.
	for _, want := range []string{"33.3 Mbit/s, share 25.0 %", "99.9 Mbit/s, share 75.0 %", "44.4 Mbit/s, share 100.0 %", "fairness 0.800", "p50 50 µs, p99.9 70 µs", "lost 600"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
