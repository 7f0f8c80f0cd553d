package main

import (
	"strings"
	"testing"
)

// goodLinks is the report of demo headroom as it should be.
const goodLinks = `{"schema":1, "demo":"headroom", "pass":true, "seconds":1,
 "checks":[{"act":"1","name":"lossless frames lost","want":"0","got":"0","pass":true}],
 "flows":[
  {"act":"1","name":"h1>h2","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"2","name":"h1>h2","priority":3,"lossless":true,"sent":8,"received":8},
  {"act":"3","name":"h1>h2","priority":3,"lossless":true,"sent":9,"received":9},
  {"act":"4","name":"h1>h2","priority":3,"lossless":false,"sent":9,"received":8,"lost":1}],
 "links":[
  {"act":"1","length":"0 m","measured_bytes":70000,"configured_bytes":70144,"peak_bytes":9000,"xoffs":2000},
  {"act":"2","length":"10 km","measured_bytes":80000,"configured_bytes":80128,"peak_bytes":80128,"xoffs":200},
  {"act":"3","length":"10 km+","measured_bytes":90000,"configured_bytes":90112,"peak_bytes":9000,"xoffs":300},
  {"act":"4","length":"10 km","control":true,"measured_bytes":80000,"configured_bytes":3072,"peak_bytes":9000,"xoffs":300,"lost_frames":1}]}`

func TestJudgeLinks(t *testing.T) {
	for _, test := range []struct {
		name, old, new string // what is changed in the good report
		want           string // "" = content
	}{
		{"good", "", "", ""},
		{"more than was found", `"peak_bytes":80128`, `"peak_bytes":80129`, "act 2: 80129 bytes came after an XOFF, 80128 had been found"},
		{"waited in the ring", `"peak_bytes":80128,`, `"peak_bytes":80128,"ring_frames":3,`, "3 frames waited in the ring"},
		{"less in force than measured", `"configured_bytes":70144`, `"configured_bytes":69888`, "act 1: 70000 bytes measured, 69888 in force"},
		{"not measured", `"measured_bytes":70000`, `"measured_bytes":0`, "act 1: 0 bytes measured"},
		{"few XOFFs", `"xoffs":200}`, `"xoffs":199}`, "act 2: 199 XOFFs"},
		{"the control lost nothing", `"lost_frames":1`, `"lost_frames":0`, "act 4: nothing was lost with too little headroom"},
		{"lost", `"received":8}`, `"received":7}`, "sent 8, received 7"},
		{"no flow", `"act":"3","name":"h1>h2"`, `"act":"9","name":"h1>h2"`, "act 3: no lossless flow"},
		{"no control", `"control":true,`, "", "no control"},
		{"no link that grows", "10 km+", "10 m", "no link that grows"},
		{"no link without delay", "0 m", "1 m", "no link without delay"},
	} {
		text := goodLinks
		if test.old != "" {
			if !strings.Contains(goodLinks, test.old) {
				t.Fatalf("%s: the good report has no %s", test.name, test.old)
			}
			text = strings.ReplaceAll(goodLinks, test.old, test.new)
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
