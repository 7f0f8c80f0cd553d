package judge

import (
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

const (
	passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Output":"ok\n"}
{"Action":"pass","Package":"p","Elapsed":1.5}
`
	slow = `{"Action":"pass","Package":"q","Test":"TestS","Elapsed":6.2}
{"Action":"pass","Package":"q","Test":"TestT","Elapsed":71.8}
{"Action":"pass","Package":"q","Test":"TestT/part","Elapsed":70}
`
	failing = `{"Action":"output","Package":"q","Test":"TestB","Output":"    b_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"q","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"q","Elapsed":0}
`
	skipping = `{"Action":"output","Package":"s","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Package":"s","Test":"TestC","Output":"    c_test.go:7: needs network namespaces\n"}
{"Action":"output","Package":"s","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Package":"s","Test":"TestC","Elapsed":0}
{"Action":"pass","Package":"s","Elapsed":0}
`
	broken = `{"ImportPath":"b [b.test]","Action":"build-output","Output":"b/x.go:1: syntax error\n"}
{"ImportPath":"b [b.test]","Action":"build-fail"}
{"Action":"start","Package":"b"}
{"Action":"output","Package":"b","Output":"FAIL\tb [build failed]\n"}
{"Action":"fail","Package":"b","Elapsed":0,"FailedBuild":"b [b.test]"}
`
	dying = `{"Action":"run","Package":"d","Test":"TestD"}
{"Action":"output","Package":"d","Test":"TestD","Output":"panic: the reason\n"}
{"Action":"output","Package":"d","Output":"FAIL\td\t0.1s\n"}
{"Action":"fail","Package":"d","Elapsed":0.1}
`
	dyingLate = `{"Action":"run","Package":"d","Test":"TestC"}
{"Action":"run","Package":"d","Test":"TestC/part"}
{"Action":"output","Package":"d","Test":"TestC","Output":"    c_test.go:7: got 1\n"}
{"Action":"fail","Package":"d","Test":"TestC/part","Elapsed":0}
{"Action":"fail","Package":"d","Test":"TestC","Elapsed":0}
` + dying
	dyingUntested = `{"Action":"output","Package":"q","Output":"panic: at the start\n"}
{"Action":"fail","Package":"q","Elapsed":0}
`
	failingAfterAll = `{"Action":"run","Package":"q","Test":"TestB"}
{"Action":"output","Package":"q","Output":"found a leak\n"}
{"Action":"output","Package":"q","Output":"FAIL\tq\t0.1s\n"}
` + failing
	withoutTests = `{"Action":"output","Package":"n","Output":"?   \tn\t[no test files]\n"}
{"Action":"skip","Package":"n","Elapsed":0}
`
)

func TestJudgeTests(t *testing.T) {
	for _, test := range []struct {
		name, in string
		noSkips  bool
		ok       bool
		says     []string
	}{
		{"passing", passing, true, true, []string{"ok   p 1.5 s", "1 passed, 0 failed, 0 skipped"}},
		{"failing", passing + failing, false, false,
			[]string{"FAIL q TestB", "got 1, want 2", "1 passed, 1 failed, 0 skipped"}},
		{"skipping", passing + skipping, false, true,
			[]string{"SKIP s TestC: c_test.go:7: needs network namespaces", "1 passed, 0 failed, 1 skipped"}},
		{"skipping where none may be", passing + skipping, true, false,
			[]string{"SKIP s TestC", "skipped: 1", "1 passed, 0 failed, 1 skipped"}},
		{"build failed", passing + broken, false, false,
			[]string{"b/x.go:1: syntax error", "FAIL b", "1 passed, 1 failed"}},
		{"process died", passing + dying, false, false, []string{"panic: the reason", "1 passed, 1 failed"}},
		{"process died after a failure", passing + dyingLate, false, false,
			[]string{"FAIL d TestC", "c_test.go:7: got 1", "panic: the reason", "1 passed, 3 failed"}},
		{"one of several runs died without a test", passing + failing + dyingUntested, false, false,
			[]string{"FAIL q TestB", "panic: at the start", "1 passed, 2 failed"}},
		{"a word beside a failure", passing + failingAfterAll, false, false,
			[]string{"FAIL q TestB", "found a leak", "1 passed, 1 failed"}},
		{"no tests at all", withoutTests, false, false, []string{"0 passed, 0 failed, 0 skipped"}},
		{"the go command speaks", "go: downloading x\n" + passing, false, true, []string{"go: downloading x"}},
		{"slow tests", passing + slow, true, true, []string{"\nslowest: TestT 72 s, TestS 6 s\n4 passed"}},
		{"nothing", "", false, false, nil},
	} {
		var out strings.Builder
		ok, err := judgeTests(strings.NewReader(test.in), &out, test.noSkips)
		assert.True(t, ok == test.ok && err == nil, "%s: got %v, %v, want %v", test.name, ok, err, test.ok)
		for _, s := range test.says {
			assert.True(t, strings.Contains(out.String(), s),
				"%s: the output lacks %q:\n%s", test.name, s, out.String())
		}
	}
}

func TestPassingTestsAreQuiet(t *testing.T) {
	var out strings.Builder
	assert.Got(judgeTests(strings.NewReader(passing), &out, false)).Must(t)
	assert.True(t, !strings.Contains(out.String(), "RUN"), "output of a passing test: %s", out.String())
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		args   string
		in     string
		status int
	}{
		{"tests -no-skips", passing, 0},
		{"tests -no-skips", skipping, 1},
		{"tests -unknown", passing, 2},
		{"demo", "no JSON", 2},
		{"demo", `{"schema":2}`, 2},
		{"", "", 2},
	} {
		var out, errOut strings.Builder
		if got := Run(strings.Fields(test.args), strings.NewReader(test.in), &out, &errOut); got != test.status {
			t.Errorf("judge %s: status %d, want %d (%s%s)", test.args, got, test.status, out.String(), errOut.String())
		}
		assert.True(t, test.status != 2 || errOut.Len() != 0, "judge %s: status 2 without a word", test.args)
	}
}
