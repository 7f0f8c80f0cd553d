package judge

import (
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// A change of a report that is as it should be, and what the judge prints then; "" where it still passes.
type change struct{ name, old, new, want string }

// judgeChanges judges a good report, and the same with changes.
func judgeChanges(t *testing.T, good string, changes []change) {
	t.Helper()
	judgeText(t, "good", good, "")
	for _, c := range changes {
		assert.MustBeTrue(t, strings.Contains(good, c.old), "%s: the good report has no %s", c.name, c.old)
		judgeText(t, c.name, strings.ReplaceAll(good, c.old, c.new), c.want)
	}
}

func judgeText(t *testing.T, name, text, want string) (printed string) {
	t.Helper()
	var out strings.Builder
	ok, err := judgeDemo(strings.NewReader(text), &out)
	assert.True(t, err == nil && ok == (want == ""), "%s: got %v, %v\n%s", name, ok, err, out.String())
	assert.True(t, strings.Contains(out.String(), want), "%s: the output lacks %q:\n%s", name, want, out.String())
	return out.String()
}

// good is the report of a demo as it should be.
const good = `{"schema":1, "demo":"incast", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"lossless frames lost","want":"0","got":"0","pass":true,"judged":true},
  {"act":"a","name":"share","kind":"soft","want":"95 %","got":"96 %","pass":true,"judged":true}],
 "flows":[
  {"act":"a","name":"h1>h4","priority":3,"lossless":true,
   "sent":1000,"received":1000,"lost":0,"reordered":0,"duplicated":0,
   "latency_ns":{"p50":50000,"p99":60000,"p999":70000,"max":80000},"rate_bits_per_second":33300000},
  {"act":"a","name":"h2>h4","priority":3,"lossless":true,
   "sent":3000,"received":3000,"lost":0,"reordered":0,"duplicated":0,
   "latency_ns":{"p50":0,"p99":0,"p999":0,"max":0},"rate_bits_per_second":99900000},
  {"act":"b","name":"h1>h4","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"c1","name":"h1>h4","priority":3,"lossless":false,
   "sent":1000,"received":400,"lost":600,"reordered":0,"duplicated":0,
   "latency_ns":{"p50":0,"p99":0,"p999":0,"max":0},"rate_bits_per_second":44400000},
  {"act":"c2","name":"h1>h4","priority":3,"lossless":false,"sent":9,"received":8,"lost":1}],
 "acts":[{"act":"a","control":false},{"act":"b","control":false},
  {"act":"c1","control":true},{"act":"c2","control":true}],
 "switches":[
  {"act":"a","name":"s1","lossless_drops":0,"pfc_sent":17},
  {"act":"b","name":"s2","lossless_drops":0,"pfc_sent":18},
  {"act":"c1","name":"s1","lossless_drops":0,"pfc_sent":0}]}`

// goodHost is the report of a demo host as it should be.
const goodHost = `{"schema":1, "demo":"host", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"TCP segments sent again","want":"0","got":"0","pass":true,"judged":true}], "flows":[],
 "transfers":[{"act":"a","name":"h1>h4","lossless":true,"octets":1000,"segments_sent_again":0},
  {"act":"b","name":"h1>h4","lossless":false,"octets":900,"segments_sent_again":7}],
 "acts":[{"act":"a","control":false},{"act":"b","control":true}],
 "switches":[{"act":"a","name":"s1","pfc_sent":17},{"act":"b","name":"s1"}]}`

func TestJudgeDemoHost(t *testing.T) {
	judgeChanges(t, goodHost, []change{
		{"unknown demo", `"demo":"host"`, `"demo":"ghost"`, "does not know it"},
		{"a switch lost frames", `"name":"s1","pfc_sent":17`, `"name":"s1","lossless_drops":1,"pfc_sent":17`,
			"phase a, switch s1: lossless_drops 1"},
		{"nothing arrived", `"octets":1000`, `"octets":0`, "h1>h4: nothing arrived by TCP"},
		{"nothing lossless", `"lossless":true`, `"lossless":false`, "phase a: no lossless flow"},
	})
}

func TestJudgeDemo(t *testing.T) {
	judgeChanges(t, good, []change{
		{"a check failed", `"got":"0","pass":true`, `"got":"1","pass":false`, "lossless frames lost: got 1, want 0"},
		{"a soft check failed", `"got":"96 %","pass":true`, `"got":"70 %","pass":false`, "share: got 70 %, want 95 %"},
		{"a soft check is not judged", `"got":"96 %","pass":true,"judged":true`,
			`"got":"70 %","judged":false,"reason":"s1 waited"`, ""},
		{"it does not say why", `"got":"96 %","pass":true,"judged":true`, `"got":"70 %","judged":false`,
			`share: a check of kind "soft" is not judged, by reason ""`},
		{"a hard check is not judged", `"got":"0","pass":true,"judged":true`,
			`"got":"0","judged":false,"reason":"s1 waited"`, "lossless frames lost: a check of kind"},
		{"it could not run", `"pass":true, "seconds"`, `"pass":false, "could_not_run":"phase c1: no load", "seconds"`,
			"it could not run: phase c1: no load"},
		{"pass without checks", `{"act":"a","name":"lossless frames lost","want":"0","got":"0","pass":true,"judged":true},
  {"act":"a","name":"share","kind":"soft","want":"95 %","got":"96 %","pass":true,"judged":true}`, "", "of 0 checks"},
		{"a verdict against the checks", `"pass":true, "seconds"`, `"pass":false, "seconds"`, "pass is false"},
		{"lost", `"received":1000,"lost":0`, `"received":999,"lost":1`,
			"flow h1>h4, priority 3: sent 1000, received 999, lost 1"},
		{"lost but not reported", `"received":1000,`, `"received":999,`, "received 999"},
		{"reordered", `"received":1000,"lost":0,"reordered":0`, `"received":1000,"lost":0,"reordered":2`,
			"reordered 2"},
		{"duplicated", `"lost":0,"reordered":0,"duplicated":0`, `"lost":0,"reordered":0,"duplicated":1`,
			"duplicated 1"},
		{"idle flow", `"sent":1000,"received":1000`, `"sent":0,"received":0`, "sent 0"},
		{"all lossy", `"lossless":true`, `"lossless":false`, "phase b: no lossless flow"},
		{"a lossless phase without flows", `{"act":"b","name":"h1>h4"`, `{"act":"x","name":"h1>h4"`,
			"phase b: no lossless flow"},
		{"a lossless phase without a switch", `{"act":"b","name":"s2"`, `{"act":"x","name":"s2"`,
			"phase b: no counters of any switch"},
		{"counted drops", `"lossless_drops":0,"pfc_sent":17`, `"lossless_drops":3,"pfc_sent":17`, "lossless_drops 3"},
		{"no control phases", `"control":true`, `"control":false`, "no phase c2 (control: true)"},
		{"one control phase", `,{"act":"c2","control":true}`, "", "no phase c2"},
		{"one lossless phase", `{"act":"b","control":false},`, "", "no phase b (control: false)"},
		{"no phases", `"acts":[`, `"other":[`, "no phase a"},
	})
}

// goodTrunk is the report of a demo trunk as it should be.
const goodTrunk = `{"schema":1, "demo":"trunk", "pass":true, "seconds":2,
 "checks":[{"act":"1","name":"frames lost","want":"0","got":"0","pass":true,"judged":true}],
 "flows":[{"act":"1","name":"h1>h4","priority":1,"sent":100,"received":40,"lost":60},
  {"act":"2a","name":"h1>h4","priority":3,"lossless":true,"sent":100,"received":100},
  {"act":"2b","name":"h1>h2","priority":3,"lossless":true,"sent":200,"received":200,"reordered":9},
  {"act":"3a","name":"h1>h2","priority":0,"sent":100,"received":100,"reordered":50}],
 "acts":[{"act":"1","control":false},{"act":"2a","control":false},{"act":"2b","control":false},
  {"act":"3a","control":false},{"act":"3b","control":false}],
 "switches":[{"act":"1","name":"s1"},{"act":"2a","name":"s1","pfc_sent":17},{"act":"2b","name":"s1","pfc_sent":18},
   {"act":"3a","name":"s1"},{"act":"3b","name":"s1"}]}`

func TestJudgeDemoTrunk(t *testing.T) {
	judgeChanges(t, goodTrunk, []change{
		{"unknown demo", `"demo":"trunk"`, `"demo":"trank"`, "does not know it"},
		{"a phase is missing", `{"act":"3a","control":false},`, "", "no phase 3a"},
		{"nothing lossless", `"lossless":true`, `"lossless":false`, "phase 2a: no lossless flow"},
		{"lossless and lost", `"sent":100,"received":100},
  {"act":"2b"`, `"sent":100,"received":99},
  {"act":"2b"`, "sent 100, received 99"},
		{"lost on the way back", `"received":200`, `"received":199`, "sent 200, received 199"},
		{"out of order", `"sent":100,"received":100},
  {"act":"2b"`, `"sent":100,"received":100,"reordered":1},
  {"act":"2b"`, "reordered 1"},
	})
}

// slowed is the report of a demo dcqcn as it should be.
const slowed = `{"schema":1, "demo":"dcqcn", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"lossless frames lost","kind":"hard","want":"0","got":"0","pass":true,"judged":true}],
 "flows":[{"act":"a","name":"h1>h4","priority":3,"lossless":true,"sent":100,"received":100},
  {"act":"b","name":"h1>h4","priority":3,"lossless":true,"sent":90,"received":90}],
 "acts":[{"act":"a"},{"act":"b"}], "switches":[{"act":"a","name":"s1"},{"act":"b","name":"s1"}],
 "congestion":[{"act":"a","paused_share":0.7},
  {"act":"b","paused_share":0.02,"ecn_marked_frames":280,"cnp_received_frames":24}]}`

func TestJudgeDemoDCQCN(t *testing.T) {
	judgeChanges(t, slowed, []change{
		{"nobody was paused", `"paused_share":0.7`, `"paused_share":0`, "phase a: not what it has to show"},
		{"marks without ECN", `"paused_share":0.7`, `"ecn_marked_frames":1,"cnp_received_frames":1`, "phase a: not"},
		{"pauses and marks", `"paused_share":0.7`, `"paused_share":0.7,"ecn_marked_frames":1`, "phase a: not"},
		{"pauses and CNPs", `"paused_share":0.7`, `"paused_share":0.7,"cnp_received_frames":1`, "phase a: not"},
		{"no marks", `"ecn_marked_frames":280`, `"ecn_marked_frames":0`, "phase b: not what it has to show"},
		{"no CNPs", `"cnp_received_frames":24`, `"cnp_received_frames":0`, "phase b: not what it has to show"},
		{"no word of it", `"congestion":[{"act":"a"`, `"congestion":[{"act":"x"`, "phase a: not"},
		{"lost with DCQCN", `"sent":90,"received":90`, `"sent":90,"received":89`, "sent 90, received 89"},
		{"a phase is missing", `,{"act":"b"}]`, `]`, "no phase b"},
	})
}

// locked is the report of demo deadlock as it should be.
const locked = `{"schema":1, "demo":"deadlock", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"frames that wait","kind":"hard","topic":"deadlock",
   "want":"5, 5","got":"5, 5","pass":true,"judged":true},
  {"act":"b","name":"deadlocks detected","kind":"hard","topic":"deadlock","want":"1 at least","got":"3","pass":true,
   "judged":true},
  {"act":"b","name":"longest standstill","kind":"soft","want":"at most 650ms","got":"153ms","pass":true,"judged":true},
  {"act":"c","name":"deadlocks detected","kind":"hard","topic":"deadlock","want":"1 at least","got":"2","pass":true,
   "judged":true},
  {"act":"d","name":"deadlocks detected","kind":"hard","topic":"deadlock","want":"1 at least","got":"4","pass":true,
   "judged":true}],
 "flows":[
  {"act":"a","name":"h1>r3","priority":3,"lossless":false,"sent":1000,"received":970,"lost":30},
  {"act":"a","name":"h1>r2","priority":0,"lossless":false,"sent":9,"received":9},
  {"act":"b","name":"h1>r3","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"c","name":"h1>r2","priority":3,"lossless":false,"sent":100,"received":88,"lost":12},
  {"act":"d","name":"h2>r2","priority":3,"lossless":true,"sent":8,"received":8}],
 "acts":[{"act":"a"},{"act":"b"},{"act":"c"},{"act":"d"}],
 "switches":[{"act":"b","name":"s1","lossless_drops":0},{"act":"d","name":"s1","lossless_drops":0}]}`

func TestJudgeDeadlock(t *testing.T) {
	judgeChanges(t, locked, []change{
		{"the lock did not last", `"got":"5, 5","pass":true`, `"got":"5, 0","pass":false`,
			"frames that wait: got 5, 0"},
		{"it stood too long", `"pass":true, "seconds"`, `"pass":false, "seconds"`, "pass is false"},
		{"nobody was hurt", `"received":970,"lost":30`, `"received":1000,"lost":0`,
			"phase a: every frame of priority 3 arrived"},
		{"nothing was dropped", `"received":88,"lost":12`, `"received":100,"lost":0`, "phase c: every frame"},
		{"lost in recovery", `"sent":7,"received":7`, `"sent":7,"received":6,"lost":1`, "sent 7, received 6, lost 1"},
		{"a switch lost", `"act":"d","name":"s1","lossless_drops":0`, `"act":"d","name":"s1","lossless_drops":2`,
			"lossless_drops 2"},
		{"no bystander", `{"act":"d","name":"h2>r2"`, `{"act":"x","name":"h2>r2"`, "phase d: no lossless flow"},
		{"a phase is missing", `,{"act":"d"}]`, `]`, "no phase d"},
	})
}

// Rates depend on the machine: they are printed, whatever they are.
func TestRatesArePrinted(t *testing.T) {
	printed := judgeText(t, "good", good, "")
	// Rates are the report's own, whatever a phase's time was. 1000 and 3000 of 4000 frames: Jain's index is 4000² /
	// (2·(1000² + 3000²)) = 0.8.
	for _, want := range []string{"33.3 Mbit/s, share 25.0 %", "99.9 Mbit/s, share 75.0 %",
		"44.4 Mbit/s, share 100.0 %", "fairness 0.800", "p50 50 µs, p99.9 70 µs", "lost 600"} {
		assert.True(t, strings.Contains(printed, want), "the output lacks %q:\n%s", want, printed)
	}
}
