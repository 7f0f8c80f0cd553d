package simulation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// line is a topology of switches in a line, each with a host.
func line(t *testing.T, n int) *config.Topology {
	t.Helper()
	var switches, hosts, links []string
	for i := 1; i <= n; i++ {
		switches = append(switches, fmt.Sprintf("s%d: {preset: roce}", i))
		hosts = append(hosts, fmt.Sprintf("h%d: {}", i))
		links = append(links, fmt.Sprintf("h%d: {ends: [h%[1]d, \"s%[1]d:h\"]}", i))
		if i > 1 {
			links = append(links, fmt.Sprintf("s%d: {ends: [\"s%d:up\", \"s%[1]d:down\"]}", i, i-1))
		}
	}
	text := fmt.Sprintf("name: line\nswitches: {%s}\nhosts: {%s}\nlinks: {%s}\n", strings.Join(switches, ", "),
		strings.Join(hosts, ", "), strings.Join(links, ", "))
	return assert.Got(config.ParseTopology("lab.yaml", []byte(text), nil)).Must(t)
}

// Holds are numbered from where frames pile up, each once.
func TestHolds(t *testing.T) {
	// a port that was held by its peer for ms, and whose own buffer held its peer so often
	port := func(name string, ms int64, xoff uint64) Port {
		s, p, _ := strings.Cut(name, ":")
		return Port{Switch: s, Port: p, Priority: 3, PausedNs: ms * 1_000_000, Xoff: xoff}
	}
	host := func(name string, ms int64) Host { return Host{Name: name, PausedNs: [8]int64{3: ms * 1_000_000}} }
	for _, tt := range []struct {
		name  string
		ports []Port
		hosts []Host
		want  string
	}{
		{"nobody", nil, []Host{host("h1", 0)}, ""},
		{"two switches back", []Port{port("s1:up", 50, 0), port("s1:h", 0, 1), port("s2:up", 60, 0),
			port("s2:down", 0, 1), port("s3:down", 0, 1)}, []Host{host("h1", 40)},
			"1 s3:down>s2:up, 2 s2:down>s1:up, 3 s1:h>h1"},
		{"a host", []Port{port("s3:h", 70, 0), port("s3:down", 0, 1), port("s2:up", 60, 0)}, nil,
			"1 h3>s3:h, 2 s3:down>s2:up"},
		{"back for a moment", []Port{port("s1:up", 50, 3), port("s1:h", 0, 1), port("s2:down", 2, 1)},
			[]Host{host("h1", 60)}, "1 s2:down>s1:up, 2 s1:h>h1, 2 s1:up>s2:down"},
		{"back by one that stood still", []Port{port("s1:up", 50, 0), port("s1:h", 0, 1), port("s2:down", 55, 1)},
			[]Host{host("h1", 60)}, "1 s2:down>s1:up, 2 s1:h>h1, 2 s1:up>s2:down"},
		{"each other", []Port{port("s1:up", 50, 1), port("s1:h", 0, 1), port("s2:down", 45, 1)},
			[]Host{host("h1", 40)}, "1 s2:down>s1:up, 2 s1:up>s2:down, 2 s1:h>h1"},
	} {
		r := &Report{Ports: tt.ports, Hosts: tt.hosts, Lasted: 100_000_000}
		r.AddHolds(line(t, 3))
		var got []string
		for _, h := range r.Holds {
			got = append(got, fmt.Sprintf("%d %s>%s", h.Step, h.By, h.Held))
		}
		assert.True(t, strings.Join(got, ", ") == tt.want, "%s: %v, want %s", tt.name, got, tt.want)
		i := slices.IndexFunc(r.Holds, func(h Hold) bool { return h.Held == "h1" })
		assert.True(t, i < 0 || (r.Holds[i].Share*1e8 == float64(r.Holds[i].Ns) && r.Holds[i].Priority == 3),
			"%s: %+v", tt.name, r.Holds)
	}
}

// Of a slow receiver behind three switches the text shows the way of the pauses.
func TestHoldsOfASlowReceiver(t *testing.T) {
	lab := assert.Got(config.ParseTopology("lab.yaml", []byte("name: line\nswitches: {s1: &s {preset: roce, buffer: "+
		"{lossless: {size: 512KiB}}}, s2: *s}\nhosts: {h1: {}, h2: {}}\nlinks: {l1: {ends: [h1, \"s1:p\"], speed: "+
		"1G}, up: {ends: [\"s1:up\", \"s2:down\"], speed: 1G}, l2: {ends: [h2, \"s2:p\"], speed: 100M}}\ntraffic: {f: "+
		"{from: h1, to: h2, duration: 20ms}}"), nil)).Must(t)
	r, err := RunTopology(t.Context(), lab, standard)
	assert.MustBeTrue(t, err == nil && r.Pass, "%v %v", r, err)
	var b bytes.Buffer
	assert.Must(t, r.Text(&b))
	_, text, _ := strings.Cut(b.String(), "STEP  BY")
	var svg bytes.Buffer
	err = errors.Join(r.HoldsPicture(&svg), xml.Unmarshal(svg.Bytes(), new(struct{})))
	assert.True(t, err == nil && strings.Count(svg.String(), "<path") == 2 &&
		strings.Count(svg.String(), "<rect x=") == 3, "%v: %s", err, svg.String())
	first, second := strings.Index(text, "\n1     s2:down  s1:up"), strings.Index(text, "\n2     s1:p     h1")
	assert.True(t, first >= 0 && second >= first, "%s", b.String())
}
