package judge

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A linkReport makes a report of demo headroom with a run in each phase.
type linkReport struct{ flows, links []string }

// add adds a run that loses nothing. tripNs 0 is that of the link, and xoffs is also how often the receiver blocks.
func (r *linkReport) add(length string, mbits int, measured, configured, peak, tripNs int64, xoffs int) {
	phase := len(r.links) + 1
	r.flows = append(r.flows, fmt.Sprintf(
		`{"act":"%d","name":"h1>h3","priority":3,"lossless":true,"sent":7,"received":7}`, phase))
	r.links = append(r.links, fmt.Sprintf(`{"act":"%d","length":"%s","speed_bits_per_second":%d000000,`+
		`"measured_bytes":%d,"holds_bytes":%d,"peak_bytes":%d,"tightest_used_bytes":%d,`+
		`"tightest_room_bytes":80000,"trip_ns":%d,"blocked":%d,"xoffs":%d}`, phase, length, mbits, measured, configured,
		peak, peak-9, cmp.Or(tripNs, leastTrips[length]), xoffs, xoffs))
}

// json adds the control and returns the report.
func (r *linkReport) json(keys string) string {
	phase := len(r.links) + 1
	flows := append(r.flows, fmt.Sprintf(
		`{"act":"%d","name":"h1>h3","priority":3,"sent":9,"received":8,"lost":1}`, phase))
	links := append(r.links, fmt.Sprintf(`{"act":"%d","length":"10 km","speed_bits_per_second":1000000000,`+
		`"control":true,"measured_bytes":80000,"configured_bytes":3072,"peak_bytes":9000,"lost_frames":1}`, phase))
	return `{"schema":1, "demo":"headroom", "pass":true,` + keys + `
 "checks":[{"act":"1","name":"lossless frames lost","want":"0","got":"0","pass":true,"judged":true}],
 "flows":[` + strings.Join(flows, ",\n") + `],
 "links":[` + strings.Join(links, ",\n") + `]}`
}

// quickLinks is the report of demo headroom --quick as it should be.
var quickLinks = func() string {
	var r linkReport
	r.add("0 m", 1000, 70_000, 70_144, 9000, 4000, 250)
	r.add("10 km", 1000, 80_000, 80_128, 80_000, 103_000, 200)
	r.add("20 km", 1000, 90_000, 90_112, 9000, 205_000, 300)
	r.add("100 km", 100, 90_000, 90_112, 9000, 1_003_000, 300)
	r.add("10 km+", 1000, 90_000, 90_112, 9000, 104_000, 300)
	return r.json(`"quick":true,`)
}()

// fullLinks is the report of the whole demo headroom as it should be.
func fullLinks() string {
	var r linkReport
	add := func(length string, mbits, runs int) {
		for range runs {
			r.add(length, mbits, 70_000, 70_144, 9000, 0, 250)
		}
	}
	for _, speed := range []int{100, 1000} {
		for _, length := range []string{"0 m", "100 m", "10 km", "100 km"} {
			add(length, speed, 5)
		}
		add("20 km", speed, 1)
		add("200 km", speed, 1)
	}
	add("10 km+", 1000, 1)
	return r.json("")
}

func TestJudgeLinks(t *testing.T) {
	judgeChanges(t, quickLinks, []change{
		{"more than was found by then", `"tightest_used_bytes":79991,"tightest_room_bytes":80000`,
			`"tightest_used_bytes":79991,"tightest_room_bytes":79990`,
			"phase 2: 79991 bytes came after an XOFF, 79990 had been found by then"},
		{"more than was found, after another XOFF", `"tightest_used_bytes":79991,`,
			`"tightest_used_bytes":79991,"exceeded_xoffs":1,`,
			"phase 2: 79991 bytes came after an XOFF, 80000 had been found by then; 1 XOFFs let more through"},
		{"no XOFF that let anything through", `"tightest_used_bytes":79991`, `"tightest_used_bytes":0`,
			"phase 2: 0 bytes came after an XOFF"},
		{"more after one XOFF than after any", `"tightest_used_bytes":79991`, `"tightest_used_bytes":80001`,
			"phase 2: 80001 bytes came after an XOFF"},
		{"a trip that is shorter than the link", `"trip_ns":1003000`, `"trip_ns":999999`,
			"phase 4: a trip of 999999 ns there and back, on a link that takes 1000000"},
		{"waited in the ring", `"peak_bytes":80000,`, `"peak_bytes":80000,"ring_frames":3,`,
			"3 frames waited in the ring"},
		{"less in force than measured", `"holds_bytes":70144`, `"holds_bytes":69888`,
			"phase 1: 70000 bytes measured, and the headroom in force holds 69888"},
		{"not measured", `"measured_bytes":70000`, `"measured_bytes":0`, "phase 1: 0 bytes measured"},
		{"few XOFFs", `"xoffs":200}`, `"xoffs":199}`, "phase 2: 199 XOFFs"},
		{"nobody blocked", `"blocked":250`, `"blocked":199`, "phase 1: the receiver blocked 199 times"},
		{"the control lost nothing", `"lost_frames":1`, `"lost_frames":0`,
			"phase 6: nothing was lost with too little headroom"},
		{"lost", `"sent":7,"received":7`, `"sent":7,"received":6`, "sent 7, received 6"},
		{"no flow", `"act":"3","name":"h1>h3"`, `"act":"9","name":"h1>h3"`, "phase 3: no lossless flow"},
		{"no control", `"control":true,`, "", "0 of 1 runs of 10 km at 1000 Mbit/s (control: true)"},
		{"no link that grows", "10 km+", "10 m", "0 of 1 runs of 10 km+ at 1000"},
		{"no link without delay", `"0 m"`, `"1 m"`, "0 of 1 runs of 0 m at 1000"},
		{"all at one speed", `:100000000,`, `:1000000000,`, "0 of 1 runs of 100 km at 100 Mbit/s"},
		{"not all, and it does not say so", `"quick":true,`, "", "of 5 runs of 0 m at 100 Mbit/s"},
	})
}

// openCheck is a check of a run that was not judged.
func openCheck(phase string) string {
	return strings.Replace(quickLinks, `"checks":[`,
		`"checks":[{"act":"`+phase+`","name":"XOFFs","kind":"soft",
			"want":"at least 200","got":"19","judged":false,"reason":"it waited"},`, 1)
}

// Where the machine fell short in a run, too few pauses and late frames are no fault there, but a lost frame is. What
// could not be judged is printed.
func TestJudgeLinksOfABusyMachine(t *testing.T) {
	late := strings.NewReplacer(`"xoffs":200}`, `"xoffs":19}`, `"tightest_used_bytes":79991`,
		`"tightest_used_bytes":90000`)
	out := judgeText(t, "busy", late.Replace(openCheck("2")), "")
	if !strings.Contains(out, "not judged: phase 2 XOFFs: 19 (wanted: at least 200): it waited\n") {
		t.Errorf("the output does not name the check:\n%s", out)
	}
	judgeText(t, "busy in another run", late.Replace(openCheck("1")), "phase 2: 19 XOFFs")
	judgeText(t, "busy, and lost", strings.ReplaceAll(late.Replace(openCheck("2")), `"received":7`, `"received":6`),
		"phase 2, flow h1>h3, priority 3: sent 7, received 6")
	judgeText(t, "busy, and the control lost nothing",
		strings.Replace(late.Replace(openCheck("2")), `"lost_frames":1`, `"lost_frames":0`, 1),
		"nothing was lost with too little headroom")
}

// Without --quick each of the eight links has five runs.
func TestJudgeAllLinks(t *testing.T) {
	good := fullLinks()
	judgeText(t, "good", good, "")
	for _, k := range []struct {
		length string
		speed  int
		want   string
	}{
		{"0 m", 100, "4 of 5"}, {"100 m", 1000, "4 of 5"}, {"10 km", 1000, "4 of 5"}, {"100 km", 1000, "4 of 5"},
		{"20 km", 100, "0 of 1"}, {"200 km", 1000, "0 of 1"},
	} {
		one := regexp.MustCompile(fmt.Sprintf(`\{"act":"\d+","length":"%s","speed_bits_per_second":%d000000,.*\},\n`,
			k.length, k.speed)).FindString(good)
		if one == "" {
			t.Fatalf("no %s at %d", k.length, k.speed)
		}
		judgeText(t, k.length, strings.Replace(good, one, "", 1),
			fmt.Sprintf("%s runs of %s at %d Mbit/s", k.want, k.length, k.speed))
	}
}
