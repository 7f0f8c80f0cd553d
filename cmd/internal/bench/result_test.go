package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

func rounds(of string, values ...float64) (all []result) {
	for i, v := range values {
		all = append(all, result{"delivered", "senders=1 octets=60 priority=3", of, i, []value{{frameRate, v}}})
	}
	return all
}

func TestSummarize(t *testing.T) {
	rows := summarize(append(append(rounds(dutPFC, 30, 10, 20), rounds(dutBridge, 10, 10, 40)...),
		rounds(dutOVS, 0, 0, 5, 9)...))
	assert.MustBeTrue(t, len(rows) == 3 && rows[0].dut == dutPFC && rows[1].dut == dutBridge && rows[2].dut == dutOVS,
		"rows: %+v", rows)
	p := rows[0]
	assert.True(t, p.median == 20 && p.least == 10 && p.most == 30 && p.rounds == 3, "of 30, 10, 20: %+v", p)
	// 30/10, 10/10, 20/40: the ratios by round, not the ratio of the medians.
	assert.Equal(t, p.ratios[dutBridge], stats{3, 1, 0.5, 3}, "to the bridge")
	// Rounds in which the peer has 0 tell nothing, nor rounds that only one of both has.
	assert.True(t, p.ratios[dutOVS].median == 4 && p.ratios[dutOVS].rounds == 1,
		"to Open vSwitch: %v, want 4", p.ratios[dutOVS])
	_, ok := p.ratios[dutOVSTSO]
	assert.True(t, !ok, "a ratio to what was not measured")
	assert.Equal(t, rows[2].median, 2.5, "median of 0, 0, 5, 9")
}

func TestJSONLines(t *testing.T) {
	b := &bench{}
	b.record("pause", "quanta=200 asked_us=1024.0", dutPFC, 2, value{stopped, 1100.5}, value{early, 0},
		value{beyond, math.NaN()}, value{toTwoPorts, math.Inf(1)})
	var out bytes.Buffer
	assert.Must(t, writeJSON(&out, machine{What: "machine", CPUs: 2, Busy: 0.25}, &cpuGaps{}, b.results,
		summarize(b.results)))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.Contains(t, lines[0], `"busy_cpu_share":0.25,`, "of the machine")
	var got map[string]any
	err := json.Unmarshal([]byte(lines[1]), &got)
	assert.MustBeTrue(t, err == nil && len(lines) == 4, "%d lines, %v", len(lines), err)
	want := map[string]any{"what": "pause", "switch": dutPFC, "round": 2.0, "quanta": 200.0, "asked_us": "1024.0",
		stopped: 1100.5, early: 0.0}
	for k, v := range want {
		assert.Equal(t, got[k], v, "%s", k)
	}
	assert.Equal(t, len(got), len(want), "%v has more than %v", got, want)
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	assert.Must(t, printTable(&out, summarize(append(rounds(dutPFC, 3e5, 1e5, 2e5), rounds(dutBridge, 1e5, 1e5,
		1e5)...))))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	assert.MustBeTrue(t, len(lines) == 3, "%d lines:\n%s", len(lines), out.String())
	want := "MEASURED CONDITIONS VALUE ROUNDS PFCSWITCH BRIDGE TO BRIDGE TO OVS TO OVS-TSO"
	assert.Equal(t, strings.Join(strings.Fields(lines[1]), " "), want, "head")
	want = "delivered senders=1 octets=60 priority=3 frames_per_second 3 " +
		"200000 (100000-300000) 100000 (100000-100000) 2.00 (1.00-3.00) - -"
	assert.Equal(t, strings.Join(strings.Fields(lines[2]), " "), want, "line")
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234567.8: "1234568", 123.4: "123", 12.34: "12.3", 1: "1",
		0.9876: "0.988", 0.000012345: "0.000012", -2.5: "-2.5", 100: "100"} {
		assert.Equal(t, number(v), want, "%v", v)
	}
}

func TestAims(t *testing.T) {
	rows := summarize(append(rounds(dutPFC, 130), rounds(dutBridge, 100)...))
	var out bytes.Buffer
	assert.Must(t, printAims(&out, rows))
	said := strings.Join(strings.Fields(out.String()), " ")
	assert.True(t, strings.Contains(said, "to the bridge senders=1 octets=60 priority=3 at least 1.3 - 1.30 yes") &&
		!strings.Contains(said, "Open vSwitch"), "%v", said)
	for _, test := range []struct {
		aim  aim
		v    float64
		want string
	}{
		{aim{least: 0.9}, 0.9, "yes"}, {aim{least: 0.9}, 0.89, "no"}, {aim{most: 2}, 2, "yes"}, {aim{most: 2}, 2.1,
			"no"}, {aim{better: 0.6}, 0.1, "-"},
	} {
		assert.Equal(t, test.aim.verdict(test.v), test.want, "%+v, %v", test.aim, test.v)
	}
}

// A switch that has fewer rounds than another does not pass for one that has all.
func TestRoundsThatDiffer(t *testing.T) {
	rows := summarize(append(rounds(dutPFC, 1, 2, 3), rounds(dutBridge, 1)...))
	assert.Equal(t, tableLine(rows, []string{dutPFC, dutBridge})[3], "1-3", "rounds, want 1-3")
}

// Every aim is about something that a part measures: names and conditions are those of the parts.
func TestAimsMeanRows(t *testing.T) {
	b := &bench{}
	for _, of := range []string{dutPFC, dutBridge, dutOVS, dutOVSTSO} {
		for _, conditions := range []string{"senders=1 octets=60 priority=3", "senders=2 octets=60 priority=3",
			"senders=1 octets=1514 priority=0"} {
			b.record("delivered", conditions, of, 0, value{frameRate, 1}, value{cpuPerFrame, 1})
		}
		b.record("loss-free", "octets=60 priority=3 trial=3s", of, 0, value{ofDelivered, 1})
		b.record("tcp", "streams=4 priority=0", of, 0, value{throughput, 1})
		b.record("latency", probeConditions("half", 60), of, 0, value{p50, 1}, value{p99, 1})
		b.record("latency", probeConditions("idle", 60), of, 0, value{p50, 1})
		b.record("ports", "ports=32 senders=1 octets=60", of, 0, value{toTwoPorts, 1})
		b.record("ports", "load=idle ports=8", of, 0, value{coreShare, 1})
		b.record("trunk", "device=trunk senders=1 octets=60 priority=3", of, 0, value{toBridged, 1})
	}
	rows := summarize(b.results)
	for i := range aims {
		found := aims[i].rows(rows)
		assert.True(t, len(found) != 0, "%s: no row is meant", aims[i].text)
		for _, r := range found {
			s, _ := aims[i].measured(r)
			assert.True(t, s.median == 1, "%s: %+v", aims[i].text, s)
		}
	}
}

func TestPlot(t *testing.T) {
	rows := summarize(append(rounds(dutPFC, 30, 10, 20), rounds(dutBridge, 40)...))
	var out bytes.Buffer
	assert.Must(t, writePlot(&out, machine{CPU: "<&> CPU", CPUs: 2}, rows))
	s := out.String()
	for _, want := range []string{
		"&lt;&amp;&gt; CPU",
		`width="240.0" height="12" fill="` + colours[dutPFC], // 20 of 40 takes half of the bars' width
		`width="480.0" height="12" fill="` + colours[dutBridge],
		`<line x1="450.0" x2="690.0"`, // from 10 to 30
	} {
		assert.True(t, strings.Contains(s, want), "no %s in\n%s", want, s)
	}
	wellFormed(t, &out)
}

// wellFormed reads an XML document.
func wellFormed(t *testing.T, in io.Reader) {
	t.Helper()
	for d := xml.NewDecoder(in); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("the plot: %v", err)
		}
	}
}

// Nothing but zeros, and nothing at all, can be drawn too.
func TestPlotWithoutValues(t *testing.T) {
	for _, rows := range [][]row{nil, summarize(rounds(dutPFC, 0))} {
		var out bytes.Buffer
		err := writePlot(&out, machine{}, rows)
		assert.True(t, err == nil && !strings.Contains(out.String(), "NaN"), "%v: %s", err, out.String())
		wellFormed(t, &out)
	}
}

func TestSmokeWantsRowsOfEveryPart(t *testing.T) {
	for _, p := range parts {
		assert.True(t, len(smokeRows[p.name]) != 0, "a smoke run asks nothing of part %s", p.name)
	}
	for rate, want := range map[float64]bool{0: false, 1: true} {
		assert.True(t, given(summarize(rounds(dutPFC, rate)), "delivered", frameRate, dutPFC) == want,
			"a rate of %v is given: %v", rate, !want)
	}
}

// A smoke run wants the rows of the peers that are there, and of no other.
func TestSmokeWantsPeers(t *testing.T) {
	for name, row := range map[string]struct {
		b        bench
		switches []string
		want     string
	}{
		"all":         {bench{peers: peers{ovs: "x"}}, switchNames, "pfcswitch bridge ovs ovs-tso machine"},
		"no OVS":      {bench{}, switchNames, "pfcswitch bridge machine"},
		"OVS, no TSO": {bench{peers: peers{ovs: "x"}, withoutTSO: true}, switchNames, "pfcswitch bridge ovs machine"},
		"only some":   {bench{peers: peers{ovs: "x"}}, []string{dutPFC, dutOVS}, "pfcswitch ovs machine"},
	} {
		row.b.opt.switches = row.switches
		var all []string
		for _, of := range columns {
			if row.b.present(of) {
				all = append(all, of)
			}
		}
		assert.Equal(t, strings.Join(all, " "), row.want, "%s", name)
	}
}
