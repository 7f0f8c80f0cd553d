package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// quickLinks is the report of demo headroom --quick as it should be.
const quickLinks = `{"schema":1, "demo":"headroom", "pass":true, "seconds":1, "quick":true,
 "checks":[{"act":"1","name":"lossless frames lost","want":"0","got":"0","pass":true}],
 "flows":[
  {"act":"1","name":"h1>h3","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"2","name":"h1>h3","priority":3,"lossless":true,"sent":8,"received":8},
  {"act":"3","name":"h1>h3","priority":3,"lossless":true,"sent":9,"received":9},
  {"act":"4","name":"h1>h3","priority":3,"lossless":true,"sent":6,"received":6},
  {"act":"5","name":"h1>h3","priority":3,"lossless":true,"sent":5,"received":5},
  {"act":"6","name":"h1>h3","priority":3,"lossless":false,"sent":9,"received":8,"lost":1}],
 "links":[
  {"act":"1","length":"0 m","speed_bits_per_second":1000000000,"measured_bytes":70000,"configured_bytes":70144,"peak_bytes":9000,"tightest_used_bytes":8991,"tightest_room_bytes":80000,"wire_bytes":505,"trip_ns":4000,"t_ns":4000,"longest_trip_ns":4900,"precision_ns":20,"blocked":250,"xoffs":2000},
  {"act":"2","length":"10 km","speed_bits_per_second":1000000000,"measured_bytes":80000,"configured_bytes":80128,"peak_bytes":80000,"tightest_used_bytes":79991,"tightest_room_bytes":80000,"wire_bytes":12880,"trip_ns":103000,"t_ns":103000,"longest_trip_ns":103900,"precision_ns":20,"blocked":200,"xoffs":200},
  {"act":"3","length":"20 km","speed_bits_per_second":1000000000,"measured_bytes":90000,"configured_bytes":90112,"peak_bytes":9000,"tightest_used_bytes":8991,"tightest_room_bytes":80000,"wire_bytes":25630,"trip_ns":205000,"t_ns":205000,"longest_trip_ns":205900,"precision_ns":20,"blocked":200,"xoffs":300},
  {"act":"4","length":"100 km","speed_bits_per_second":100000000,"measured_bytes":90000,"configured_bytes":90112,"peak_bytes":9000,"tightest_used_bytes":8991,"tightest_room_bytes":80000,"wire_bytes":12538,"trip_ns":1003000,"t_ns":1003000,"longest_trip_ns":1003900,"precision_ns":20,"blocked":300,"xoffs":300},
  {"act":"5","length":"10 km+","speed_bits_per_second":1000000000,"measured_bytes":90000,"configured_bytes":90112,"peak_bytes":9000,"tightest_used_bytes":8991,"tightest_room_bytes":80000,"wire_bytes":13005,"trip_ns":104000,"t_ns":104000,"longest_trip_ns":104900,"precision_ns":20,"blocked":300,"xoffs":300},
  {"act":"6","length":"10 km","speed_bits_per_second":1000000000,"control":true,"measured_bytes":80000,"configured_bytes":3072,"peak_bytes":9000,"tightest_used_bytes":8991,"tightest_room_bytes":80000,"wire_bytes":12880,"trip_ns":103000,"t_ns":103000,"longest_trip_ns":103900,"precision_ns":20,"xoffs":300,"lost_frames":1}]}`

// fullLinks is the report of the whole demo headroom as it should be.
func fullLinks() string {
	var flows, links []string
	add := func(length string, speed, runs int) {
		for range runs {
			act := len(links) + 1
			flows = append(flows, fmt.Sprintf(`{"act":"%d","name":"h1>h3","priority":3,"lossless":true,"sent":7,"received":7}`, act))
			links = append(links, fmt.Sprintf(`{"act":"%d","length":"%s","speed_bits_per_second":%d000000,"measured_bytes":70000,"configured_bytes":70144,"peak_bytes":9000,"tightest_used_bytes":9000,"tightest_room_bytes":9000,"wire_bytes":%d,"trip_ns":%d,"t_ns":%d,"longest_trip_ns":%d,"blocked":250,"xoffs":250}`,
				act, length, speed, (leastTrips[length]*int64(speed)+7999)/8000, leastTrips[length], leastTrips[length], leastTrips[length]))
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
	links = append(links, `{"act":"c","length":"10 km","speed_bits_per_second":1000000000,"control":true,"lost_frames":1}`)
	return `{"schema":1, "demo":"headroom", "pass":true, "checks":[{"act":"1","name":"n","pass":true}],
 "flows":[` + strings.Join(flows, ",\n") + `],
 "links":[` + strings.Join(links, ",\n") + `]}`
}

func judgeText(t *testing.T, name, text, want string) {
	t.Helper()
	var out strings.Builder
	ok, err := judgeDemo(strings.NewReader(text), &out)
	if err != nil || ok != (want == "") {
		t.Errorf("%s: got %v, %v\n%s", name, ok, err, out.String())
	}
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s: the output lacks %q:\n%s", name, want, out.String())
	}
}

func TestJudgeLinks(t *testing.T) {
	for _, test := range []struct {
		name, old, new string // what is changed in the good report
		want           string // "" = content
	}{
		{"good", "", "", ""},
		{"more than was found by then", `"tightest_used_bytes":79991,"tightest_room_bytes":80000`, `"tightest_used_bytes":79991,"tightest_room_bytes":79990`, "act 2: 79991 bytes came after an XOFF, 79990 had been found by then"},
		{"more than was found, after another XOFF", `"tightest_used_bytes":79991,`, `"tightest_used_bytes":79991,"exceeded_xoffs":1,`, "act 2: 79991 bytes came after an XOFF, 80000 had been found by then; 1 XOFFs let more through"},
		{"no XOFF that let anything through", `"tightest_used_bytes":79991`, `"tightest_used_bytes":0`, "act 2: 0 bytes came after an XOFF"},
		{"more after one XOFF than after any", `"tightest_used_bytes":79991`, `"tightest_used_bytes":80001`, "act 2: 80001 bytes came after an XOFF"},
		{"a trip that is shorter than the link", `"trip_ns":1003000`, `"trip_ns":999999`, "act 4: a trip of 999999 ns there and back, on a link that takes 1000000"},
		{"a link of double length that is no longer", `"wire_bytes":25630,"trip_ns":205000,"t_ns":205000`, `"wire_bytes":15630,"trip_ns":125000,"t_ns":125000`,
			"act 3: a trip of 125000 ns there and back, on a link that takes 200000"},
		{"one that is far longer", `"wire_bytes":25630,"trip_ns":205000,"t_ns":205000,"longest_trip_ns":205900`, `"wire_bytes":62505,"trip_ns":500000,"t_ns":500000,"longest_trip_ns":500000`,
			"act 3: the wire part of 20 km is 4.85 times that of 10 km, by the shortest trips 4.85 times"},
		{"one that a late machine has made longer", `"wire_bytes":25630,"trip_ns":205000,"t_ns":205000,"longest_trip_ns":205900`, `"wire_bytes":62505,"trip_ns":205000,"t_ns":500000,"longest_trip_ns":500000`, ""},
		{"a wire part that is longer than its trip", `"wire_bytes":25630`, `"wire_bytes":25631`, "act 3: the wire part is 25631 bytes, and 25630 pass in 205040 ns"},
		{"one that is shorter", `"wire_bytes":12538`, `"wire_bytes":12537`, "act 4: the wire part is 12537 bytes, and 12538 pass in 1003040 ns"},
		{"t that no trip took", `"wire_bytes":25630,"trip_ns":205000,"t_ns":205000`, `"wire_bytes":62505,"trip_ns":205000,"t_ns":500000`, "act 3: t is 500000 ns, and the trips took 205000 to 205900"},
		{"t that is shorter than any trip", `"t_ns":205000`, `"t_ns":204999`, "act 3: t is 204999 ns, and the trips took 205000 to 205900"},
		{"waited in the ring", `"peak_bytes":80000,`, `"peak_bytes":80000,"ring_frames":3,`, "3 frames waited in the ring"},
		{"less in force than measured", `"configured_bytes":70144`, `"configured_bytes":69888`, "act 1: 70000 bytes measured, 69888 in force"},
		{"not measured", `"measured_bytes":70000`, `"measured_bytes":0`, "act 1: 0 bytes measured"},
		{"few XOFFs", `"xoffs":200}`, `"xoffs":199}`, "act 2: 199 XOFFs"},
		{"nobody blocked", `"blocked":250`, `"blocked":199`, "act 1: the receiver blocked 199 times"},
		{"the control lost nothing", `"lost_frames":1`, `"lost_frames":0`, "act 6: nothing was lost with too little headroom"},
		{"lost", `"received":8}`, `"received":7}`, "sent 8, received 7"},
		{"no flow", `"act":"3","name":"h1>h3"`, `"act":"9","name":"h1>h3"`, "act 3: no lossless flow"},
		{"no control", `"control":true,`, "", "0 of 1 runs of 10 km at 1000 Mbit/s (control: true)"},
		{"no link that grows", "10 km+", "10 m", "0 of 1 runs of 10 km+ at 1000"},
		{"no link without delay", `"0 m"`, `"1 m"`, "0 of 1 runs of 0 m at 1000"},
		{"all at one speed", `:100000000,`, `:1000000000,`, "0 of 1 runs of 100 km at 100 Mbit/s"},
		{"not all, and it does not say so", `"quick":true,`, "", "of 5 runs of 0 m at 100 Mbit/s"},
	} {
		text := quickLinks
		if test.old != "" {
			if !strings.Contains(quickLinks, test.old) {
				t.Fatalf("%s: the good report has no %s", test.name, test.old)
			}
			text = strings.ReplaceAll(quickLinks, test.old, test.new)
		}
		judgeText(t, test.name, text, test.want)
	}
}

// What could not be judged is printed, and decides nothing.
func TestJudgeOpenLinks(t *testing.T) {
	open := strings.Replace(quickLinks, `"quick":true,`, `"quick":true,"not_judged":[{"act":"2","name":"generous","want":"at most 1","got":"1.7","why":"one run"}],`, 1)
	var out strings.Builder
	if ok, err := judgeDemo(strings.NewReader(open), &out); err != nil || !ok || !strings.Contains(out.String(), "not judged: act 2 generous: 1.7 (wanted: at most 1): one run\n") {
		t.Errorf("%v, %v\n%s", ok, err, out.String())
	}
}

// Where processes stood still, too few pauses and late frames are no fault, but a lost frame is.
func TestJudgeLinksOfABusyMachine(t *testing.T) {
	busy := strings.NewReplacer(`"quick":true,`, `"quick":true,"machine_limit":"it waited",`, `"xoffs":200}`, `"xoffs":19}`, `"tightest_used_bytes":79991`, `"tightest_used_bytes":90000`, `"wire_bytes":25630,"trip_ns":205000,"t_ns":205000,"longest_trip_ns":205900`, `"wire_bytes":62505,"trip_ns":500000,"t_ns":500000,"longest_trip_ns":500000`).Replace(quickLinks)
	judgeText(t, "busy", busy, "")
	judgeText(t, "busy, and lost", strings.Replace(busy, `"received":8}`, `"received":7}`, 1), "sent 8, received 7")
	judgeText(t, "busy, and the control lost nothing", strings.Replace(busy, `"lost_frames":1`, `"lost_frames":0`, 1), "nothing was lost with too little headroom")
}

// Without --quick each of the eight links has five runs.
func TestJudgeAllLinks(t *testing.T) {
	good := fullLinks()
	judgeText(t, "good", good, "")
	for _, k := range []struct {
		length string
		speed  int
		want   string
	}{{"0 m", 100, "4 of 5"}, {"100 m", 1000, "4 of 5"}, {"10 km", 1000, "4 of 5"}, {"100 km", 1000, "4 of 5"}, {"20 km", 100, "0 of 1"}, {"200 km", 1000, "0 of 1"}} {
		one := regexp.MustCompile(fmt.Sprintf(`\{"act":"\d+","length":"%s","speed_bits_per_second":%d000000,.*\},\n`, k.length, k.speed)).FindString(good)
		if one == "" {
			t.Fatalf("no %s at %d", k.length, k.speed)
		}
		judgeText(t, k.length, strings.Replace(good, one, "", 1), fmt.Sprintf("%s runs of %s at %d Mbit/s", k.want, k.length, k.speed))
	}
}
