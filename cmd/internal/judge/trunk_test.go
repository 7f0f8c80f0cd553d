package judge

import (
	"strings"
	"testing"
)

// goodTrunk is the report of a demo trunk as it should be.
const goodTrunk = `{"schema":1, "demo":"trunk", "pass":true, "seconds":2,
 "checks":[{"act":"1","name":"frames lost","want":"0","got":"0","pass":true,"judged":true}],
 "flows":[{"act":"1","name":"h1>h4","priority":1,"sent":100,"received":40,"lost":60},
  {"act":"2a","name":"h1>h4","priority":3,"lossless":true,"sent":100,"received":100},
  {"act":"2b","name":"h1>h2","priority":3,"lossless":true,"sent":200,"received":200,"reordered":9},
  {"act":"3a","name":"h1>h2","priority":0,"sent":100,"received":100,"reordered":50}],
 "acts":[{"act":"1","control":false},{"act":"2a","control":false},{"act":"2b","control":false},{"act":"3a","control":false},{"act":"3b","control":false}],
 "meters":[{"priority":1,"real":{"offered":100,"green":20,"yellow":20,"red":60,"delivered":40}},
  {"priority":2,"real":{"offered":100,"green":70,"yellow":30,"red":0,"delivered":100}},
  {"priority":4,"real":{"offered":50,"green":50,"yellow":0,"red":0,"delivered":50}}],
 "switches":[{"act":"1","name":"s1"},{"act":"2a","name":"s1","pfc_sent":17},{"act":"2b","name":"s1","pfc_sent":18},{"act":"3a","name":"s1"},{"act":"3b","name":"s1"}]}`

func TestJudgeDemoTrunk(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"unknown demo", `"demo":"trunk"`, `"demo":"trank"`, "does not know it"},
		{"an act is missing", `{"act":"3a","control":false},`, "", "no act 3a"},
		{"nothing lossless", `"lossless":true`, `"lossless":false`, "act 2a: no lossless flow"},
		{"lossless and lost", `"sent":100,"received":100},
  {"act":"2b"`, `"sent":100,"received":99},
  {"act":"2b"`, "sent 100, received 99"},
		{"lost on the way back", `"received":200`, `"received":199`, "sent 200, received 199"},
		{"out of order", `"sent":100,"received":100},
  {"act":"2b"`, `"sent":100,"received":100,"reordered":1},
  {"act":"2b"`, "reordered 1"},
		{"nobody was held", `"pfc_sent":17`, `"pfc_sent":0`, "act 2a: no switch sent PFC"},
		{"the uplink was not held", `"pfc_sent":18`, `"pfc_sent":0`, "act 2b: no switch sent PFC"},
		{"nothing is red", `"red":60`, `"red":0`, "above its peak rate: false"},
		{"nothing is yellow only", `"yellow":30`, `"yellow":0`, "between its rates: false"},
		{"green and lost", `"delivered":50`, `"delivered":49`, "below its committed rate: false"},
		{"no meters", `"meters":[`, `"others":[`, "all three have to be shown"},
	} {
		if test.old != "" && !strings.Contains(goodTrunk, test.old) {
			t.Fatalf("%s: the good report has no %s", test.name, test.old)
		}
		var out strings.Builder
		ok, err := judgeDemo(strings.NewReader(strings.ReplaceAll(goodTrunk, test.old, test.new)), &out)
		if err != nil || ok != (test.want == "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: got %v, %v, want %q in\n%s", test.name, ok, err, test.want, out.String())
		}
	}
}
