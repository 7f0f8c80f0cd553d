package demo

import (
	"fmt"
	"os"
	"pfcswitch/dataplane/assert"
	"slices"
	"strings"
	"testing"
)

// shown returns what a README shows below a command.
func shown(t *testing.T, file, command string) (lines []string) {
	t.Helper()
	b := assert.Got(os.ReadFile(file)).Must(t)
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

// read makes the report of what the README shows of a demo with these phases.
func read(t *testing.T, phases []PhaseResult, lines []string) *Report {
	t.Helper()
	r := &Report{Pass: true}
	now := PhaseResult{}
	for _, line := range lines {
		var mbits, percent float64
		var n int64
		var class string
		f, s, h, tcp := Flow{Phase: now.Phase}, SwitchResult{Phase: now.Phase}, Headroom{}, Transfer{Phase: now.Phase}
		c := Congestion{Phase: now.Phase}
		if name, _, ok := strings.Cut(line, ") "); ok && line[0] == '(' {
			at := slices.IndexFunc(phases, func(a PhaseResult) bool { return a.Phase == name[1:] })
			assert.MustBeTrue(t, at >= 0, "the demo has no phase %s", name[1:])
			now = phases[at]
			r.Phases = append(r.Phases, now)
		} else if scan(line, 1, "speed: %d", &n) {
			_, why, _ := strings.Cut(line, ", ")
			r.Calibration = &Calibration{Speed: 1e6 * n, Why: why}
		} else if scan(line, 11, "%s %d %s %d %d %d %f %d %f %d %d", &f.Name, &f.Priority, &class, &f.Sent, &f.Received,
			&f.Lost, &percent, &f.Reordered, &mbits, &f.Latency.P50, &f.Latency.P999) {
			f.Lossless, f.Rate = class == "lossless", int64(mbits*1e6)
			f.Latency.P50, f.Latency.P999 = 1000*f.Latency.P50, 1000*f.Latency.P999
			r.Flows = append(r.Flows, f)
		} else if scan(line, 7, "%s %s %d %s %d %f %d", &tcp.Name, &tcp.Program, &tcp.Priority, &class, &tcp.Octets,
			&mbits, &tcp.Retransmitted) {
			tcp.Lossless, tcp.Rate = class == "lossless", int64(mbits*1e6)
			r.Transfers = append(r.Transfers, tcp)
		} else if how, row := cutHow(line); scan(row, 8, "%f %d %d %d %d %d %d %f", &percent, &c.XOFFs, &c.Marked,
			&c.CNPsSent, &c.CNPsReceived, &c.QueueMean, &c.QueueMax, &mbits) {
			c.How, c.Paused, c.Filled = how, percent/100, mbits/100
			r.Congestion = append(r.Congestion, c)
		} else if scan(line, 6, "switch %s lossless drops %d, PFC frames sent %d, most headroom used %d of %d bytes "+
			"at %s", &s.Name, &s.LosslessDrops, &s.PFCSent, &h.Peak, &h.Configured, &h.Port) {
			s.Name, s.Headroom = strings.TrimSuffix(s.Name, ":"), []Headroom{h}
			r.Switches = append(r.Switches, s)
		} else if scan(line, 1, "PASS (%d checks, 0 failed)", &n) {
			r.Checks = slices.Repeat([]Check{{Pass: true, Judged: true}}, int(n))
		}
	}
	return r
}

// cutHow cuts what holds the senders from a line of demo dcqcn.
func cutHow(line string) (how, row string) {
	for _, how := range []string{alone, controlled} {
		if row, ok := strings.CutPrefix(line, how); ok {
			return how, row
		}
	}
	return "", ""
}

// scan reads the values of a line and tells whether there are so many.
func scan(line string, values int, format string, into ...any) bool {
	n, _ := fmt.Sscanf(line, format, into...)
	return n == values
}

// READMEs show what demos print, line for line but for those left out: phases and flows that they have, as they write
// them.
func TestReadmeShowsDemos(t *testing.T) {
	results := func(phases []*phase) (all []PhaseResult) {
		for _, p := range phases {
			all = append(all, p.result())
		}
		return all
	}
	for _, tt := range []struct {
		file    string
		command string
		phases  []PhaseResult
		rows    int // of flows or connections, at least
	}{{"../../../README.md", "go run ./cmd/pfcswitch demo incast", results(incastPhases(short)), 8},
		{"README.md", "./pfcswitch demo host --report host.html", results(hostPhases(short)), 4},
		{"README.md", "./pfcswitch demo dcqcn", results(congestionPhases(short)), 4}} {
		lines := shown(t, tt.file, tt.command)
		r := read(t, tt.phases, lines)
		assert.MustBeTrue(t, len(r.Phases) == len(tt.phases) && len(r.Flows)+len(r.Transfers) >= tt.rows,
			"%s: the README shows %d phases, %d flows, %d connections", tt.command, len(r.Phases), len(r.Flows),
			len(r.Transfers))
		for _, f := range r.Flows {
			assert.True(t, f.Sent == f.Received+f.Lost && (!f.Lossless || f.Lost+f.Reordered == 0),
				"%s: %+v", f.Phase, f)
		}
		var b strings.Builder
		assert.Must(t, r.Text(&b))
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
			assert.MustBeTrue(t, n >= 0, "%s: the README shows\n%s\nand of the same figures the demo prints\n%s",
				tt.command, line, strings.Join(printed, "\n"))
			at += n + 1
		}
	}
}
