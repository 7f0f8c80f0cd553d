package judge

import (
	"strings"
	"testing"
)

// locked is the report of demo deadlock as it should be.
const locked = `{"schema":1, "demo":"deadlock", "pass":true, "seconds":5,
 "checks":[{"act":"a","name":"frames that wait","kind":"hard","topic":"deadlock","want":"5, 5","got":"5, 5","pass":true,"judged":true},
  {"act":"b","name":"deadlocks detected","kind":"hard","topic":"deadlock","want":"1 at least","got":"3","pass":true,"judged":true},
  {"act":"b","name":"longest standstill","kind":"soft","want":"at most 650ms","got":"153ms","pass":true,"judged":true},
  {"act":"c","name":"deadlocks detected","kind":"hard","topic":"deadlock","want":"1 at least","got":"2","pass":true,"judged":true},
  {"act":"d","name":"deadlocks detected","kind":"hard","topic":"deadlock","want":"1 at least","got":"4","pass":true,"judged":true}],
 "flows":[
  {"act":"a","name":"h1>r3","priority":3,"lossless":false,"sent":1000,"received":970,"lost":30},
  {"act":"a","name":"h1>r2","priority":0,"lossless":false,"sent":9,"received":9},
  {"act":"b","name":"h1>r3","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"c","name":"h1>r2","priority":3,"lossless":false,"sent":100,"received":88,"lost":12},
  {"act":"d","name":"h2>r2","priority":3,"lossless":true,"sent":8,"received":8}],
 "acts":[{"act":"a"},{"act":"b"},{"act":"c"},{"act":"d"}],
 "switches":[{"act":"b","name":"s1","lossless_drops":0},{"act":"d","name":"s1","lossless_drops":0}]}`

func TestJudgeDeadlock(t *testing.T) {
	for _, test := range []struct {
		name, old, new string // what is changed in the good report
		want           string // "" = content
	}{
		{"good", "", "", ""},
		{"the lock did not last", `"got":"5, 5","pass":true`, `"got":"5, 0","pass":false`, "frames that wait: got 5, 0"},
		{"it stood too long", `"pass":true, "seconds"`, `"pass":false, "seconds"`, "pass is false"},
		{"nobody was hurt", `"received":970,"lost":30`, `"received":1000,"lost":0`, "act a: every frame of priority 3 arrived"},
		{"nothing was dropped", `"received":88,"lost":12`, `"received":100,"lost":0`, "act c: every frame"},
		{"lost in recovery", `"sent":7,"received":7`, `"sent":7,"received":6,"lost":1`, "sent 7, received 6, lost 1"},
		{"a switch lost", `"act":"d","name":"s1","lossless_drops":0`, `"act":"d","name":"s1","lossless_drops":2`, "lossless_drops 2"},
		{"no bystander", `{"act":"d","name":"h2>r2"`, `{"act":"x","name":"h2>r2"`, "act d: no lossless flow"},
		{"an act is missing", `,{"act":"d"}]`, `]`, "no act d"},
		{"nothing checked", `"act":"c","name":"deadlocks detected"`, `"act":"x","name":"deadlocks detected"`, "act c: nothing was checked"},
	} {
		text := locked
		if test.old != "" {
			if !strings.Contains(text, test.old) {
				t.Fatalf("%s: the report has no %s", test.name, test.old)
			}
			text = strings.Replace(text, test.old, test.new, 1)
		}
		var out strings.Builder
		ok, err := judgeDemo(strings.NewReader(text), &out)
		if err != nil {
			t.Fatal(err)
		}
		if ok != (test.want == "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: content %v, want one about %q:\n%s", test.name, ok, test.want, out.String())
		}
	}
}
