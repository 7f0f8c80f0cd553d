package judge

import (
	"fmt"
	"strings"
	"testing"
)

// linkReport is the report of a demo headroom with a run of each of the links.
func linkReport(keys string, links ...string) string {
	for i, l := range links {
		links[i] = fmt.Sprintf(`{"act":"%d",%s}`, i+1, l)
	}
	return `{"schema":1, "demo":"headroom", "pass":true,` + keys + `
 "checks":[{"act":"1","name":"lossless frames lost","want":"0","got":"0","pass":true,"judged":true}],
 "flows":[{"act":"1","name":"h1>h3","priority":3,"lossless":true,"sent":7,"received":7},
  {"act":"6","name":"h1>h3","priority":3,"sent":9,"received":8,"lost":1}],
 "links":[` + strings.Join(links, ",\n") + `]}`
}

func run(length string, mbits int) string {
	return fmt.Sprintf(`"length":"%s","speed_bits_per_second":%d000000`, length, mbits)
}

const controlLink = `"length":"10 km","speed_bits_per_second":1000000000,"control":true`

func TestJudgeLinks(t *testing.T) {
	judgeChanges(t, linkReport(`"quick":true,`, run("0 m", 1000), run("10 km", 1000), run("20 km", 1000),
		run("100 km", 100), run("10 km+", 1000), controlLink), []change{
		{"lost", `"sent":7,"received":7`, `"sent":7,"received":6`, "sent 7, received 6"},
		{"no control", `,"control":true`, "", "0 of 1 runs of 10 km at 1000 Mbit/s (control: true)"},
		{"no link that grows", "10 km+", "10 m", "0 of 1 runs of 10 km+ at 1000"},
		{"no link without delay", `"0 m"`, `"1 m"`, "0 of 1 runs of 0 m at 1000"},
		{"all at one speed", `:100000000}`, `:1000000000}`, "0 of 1 runs of 100 km at 100 Mbit/s"},
		{"not all, and it does not say so", `"quick":true,`, "", "of 5 runs of 0 m at 100 Mbit/s"},
	})
}

// Without --quick each of the eight links has five runs.
func TestJudgeAllLinks(t *testing.T) {
	links := []string{run("10 km+", 1000), controlLink}
	for _, speed := range []int{100, 1000} {
		for _, length := range []string{"0 m", "100 m", "10 km", "100 km"} {
			for range 5 {
				links = append(links, run(length, speed))
			}
		}
		links = append(links, run("20 km", speed), run("200 km", speed))
	}
	good := linkReport("", links...)
	judgeText(t, "good", good, "")
	for _, k := range []struct {
		length string
		speed  int
		want   string
	}{
		{"0 m", 100, "4 of 5"}, {"100 m", 1000, "4 of 5"}, {"10 km", 1000, "4 of 5"}, {"100 km", 1000, "4 of 5"},
		{"20 km", 100, "0 of 1"}, {"200 km", 1000, "0 of 1"},
	} {
		judgeText(t, k.length, strings.Replace(good, run(k.length, k.speed)+"}", `"length":"-"}`, 1),
			fmt.Sprintf("%s runs of %s at %d Mbit/s", k.want, k.length, k.speed))
	}
}
