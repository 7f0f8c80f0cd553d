package demo

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/traffic"
)

// shown returns what a README shows below a command.
func shown(t *testing.T, file, command string) (lines []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "```console\n$ "+command+"\n")
	text, _, _ = strings.Cut(text, "```")
	text, _, _ = strings.Cut(text, "\n$ ")
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return lines
}

var (
	speedLine = regexp.MustCompile(`^speed: (\d+) Mbit/s, (.*)$`)
	actLine   = regexp.MustCompile(`^\((\w+)\) (.*)$`)
	flowLine  = regexp.MustCompile(
		`^(h\d>h\d) (\d) (lossless|lossy|unprotected) (\d+) (\d+) (\d+) [\d.]+ (\d+) ([\d.]+) (\d+) (\d+)$`)
	switchLine = regexp.MustCompile(
		`^switch (\w+): lossless drops (\d+), PFC frames sent (\d+), most headroom used (\d+) of (\d+) bytes at (\w+)$`)
	tcpLine = regexp.MustCompile(`^(h\d>h\d) (\w+) (\d) (lossless|unprotected) (\d+) ([\d.]+) (\d+)$`)
	endLine = regexp.MustCompile(`^PASS \((\d+) checks, 0 failed\)$`)
)

// read makes the report of what the README shows of a demo with these phases.
func read(t *testing.T, phases []PhaseResult, lines []string) *Report {
	t.Helper()
	r := &Report{Pass: true}
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	rate := func(text string) int64 {
		mbits, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(mbits * 1e6)
	}
	now := PhaseResult{}
	for _, line := range lines {
		if m := speedLine.FindStringSubmatch(line); m != nil {
			r.Calibration = &Calibration{Speed: int64(1e6 * number(m[1])), Why: m[2]}
		}
		if m := actLine.FindStringSubmatch(line); m != nil {
			at := slices.IndexFunc(phases, func(a PhaseResult) bool { return a.Phase == m[1] })
			if at < 0 {
				t.Fatalf("the demo has no act %s", m[1])
			}
			now = phases[at]
			r.Phases = append(r.Phases, now)
		}
		if m := flowLine.FindStringSubmatch(line); m != nil {
			r.Flows = append(r.Flows, Flow{Phase: now.Phase, Name: m[1], Priority: uint8(number(m[2])),
				Lossless: m[3] == "lossless", Sent: number(m[4]), Received: number(m[5]),
				Lost: number(m[6]), Reordered: number(m[7]), Rate: rate(m[8]),
				Latency: traffic.Latencies{P50: int64(1000 * number(m[9])), P999: int64(1000 * number(m[10]))}})
		}
		if m := tcpLine.FindStringSubmatch(line); m != nil {
			r.Transfers = append(r.Transfers, Transfer{Phase: now.Phase, Name: m[1], Program: m[2],
				Priority: uint8(number(m[3])), Lossless: m[4] == "lossless",
				Octets: number(m[5]), Rate: rate(m[6]), Retransmitted: number(m[7])})
		}
		if m := switchLine.FindStringSubmatch(line); m != nil {
			r.Switches = append(r.Switches, SwitchResult{Phase: now.Phase, Name: m[1], LosslessDrops: number(m[2]),
				PFCSent:  number(m[3]),
				Headroom: []Headroom{{Port: m[6], Peak: int64(number(m[4])), Configured: int64(number(m[5]))}}})
		}
		if m := endLine.FindStringSubmatch(line); m != nil {
			r.Checks = slices.Repeat([]Check{{Pass: true, Judged: true}}, int(number(m[1])))
		}
	}
	return r
}

// READMEs show what demos print, line for line but for those left out: phases and flows that they have, as they write
// them.
func TestReadmeShowsDemos(t *testing.T) {
	var incast, hosts []PhaseResult
	for _, a := range incastPhases(short) {
		incast = append(incast, PhaseResult{Phase: a.name, Title: a.title, Control: a.control})
	}
	for _, a := range hostPhases(short) {
		hosts = append(hosts, PhaseResult{Phase: a.name, Title: a.title, Control: a.control})
	}
	for _, tt := range []struct {
		file    string
		command string
		phases  []PhaseResult
		rows    int // of flows or connections, at least
	}{{"../../../README.md", "go run ./cmd/pfcswitch demo incast", incast, 8},
		{"README.md", "sudo ./pfcswitch demo host", hosts, 4}} {
		lines := shown(t, tt.file, tt.command)
		r := read(t, tt.phases, lines)
		if len(r.Phases) != len(tt.phases) || len(r.Flows)+len(r.Transfers) < tt.rows {
			t.Fatalf("%s: the README shows %d acts, %d flows, %d connections", tt.command, len(r.Phases), len(r.Flows),
				len(r.Transfers))
		}
		for _, f := range r.Flows {
			if f.Sent != f.Received+f.Lost || f.Lossless && f.Lost+f.Reordered != 0 {
				t.Errorf("%s: %+v", f.Phase, f)
			}
		}
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		var printed []string
		for line := range strings.Lines(b.String()) {
			printed = append(printed, strings.Join(strings.Fields(line), " "))
		}
		at := 0
		for _, line := range lines {
			if line == "…" {
				continue
			}
			n := slices.Index(printed[at:], line)
			if n < 0 {
				t.Fatalf("%s: the README shows\n%s\nand of the same figures the demo prints\n%s", tt.command, line,
					strings.Join(printed, "\n"))
			}
			at += n + 1
		}
	}
}
