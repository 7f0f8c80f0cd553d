package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// smokeRows are those that a part has to have given where it works, more than 0, of devices under test.
var smokeRows = map[string][]struct {
	what, metric string
	duts         []string
}{
	"frames": {{"delivered", frameRate, switchNames}, {"delivered", cpuPerFrame, []string{dutBridge}},
		{"memory", pss, []string{dutPFC, dutOVS, dutOVSTSO}}},
	"lossfree": {{"loss-free", frameRate, switchNames}},
	"tcp":      {{"tcp", throughput, switchNames}},
	"latency":  {{"latency", p99, switchNames}, {machineGaps, highest, []string{dutMachine}}},
	"xoff":     {{"xoff-reaction", p99, []string{dutPFC}}},
	"pause":    {{"pause", stopped, []string{dutPFC}}},
	"ports":    {{"ports", toTwoPorts, []string{dutPFC}}},
	"fdb":      {{"fdb", toEmpty, []string{dutPFC}}, {"fdb", toOne, []string{dutPFC}}},
	"trunk":    {{"trunk", toBridged, []string{dutPFC}}},
	"choices": {{"choice", coreShare, []string{dutPFC}}, {"choice", ofFairShare, []string{dutPFC}},
		{"choice", toAsIs, []string{dutPFC}}},
	"flap": {{"flap", outage, []string{dutPFC}}},
}

// judgeSmoke says whether every part gave results and what is written can be read.
func (b *bench) judgeSmoke(rows []row) error {
	var errs []error
	for _, p := range b.opt.parts {
		if p.name == "tcp" && b.peers.iperf3 == "" || p.name == "lossfree" && b.opt.search == 0 {
			continue // said before
		}
		for _, want := range smokeRows[p.name] {
			for _, dut := range want.duts {
				key := rowKey{what: want.what, metric: want.metric, dut: dut}
				if b.present(dut) && !given(rows, key) { // an absent one was noted
					errs = append(errs, fmt.Errorf("part %s gave no %s of %s", p.name, want.metric, dut))
				}
			}
		}
	}
	var lines, drawn bytes.Buffer
	errs = append(errs, writeJSON(&lines, b.machine, &b.gaps, b.results, rows), readable(&lines),
		plot(&drawn, b.machine, rows), wellFormed(&drawn))
	return errors.Join(errs...)
}

// given tells whether there is a row of the kind that is more than 0.
func given(rows []row, want rowKey) bool {
	for i := range rows {
		r := &rows[i]
		if r.what == want.what && r.metric == want.metric && r.dut == want.dut &&
			r.median > 0 && !math.IsInf(r.median, 0) {
			return true
		}
	}
	return false
}

// readable reads JSON lines.
func readable(in io.Reader) error {
	for d := json.NewDecoder(in); ; {
		var line struct{ What string }
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the JSON lines: %w", err)
		case line.What == "":
			return errors.New("the JSON lines: one does not say what it is")
		}
	}
}

// wellFormed reads an XML document.
func wellFormed(in io.Reader) error {
	for d := xml.NewDecoder(in); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the plot: %w", err)
		}
	}
}

// verify shows on links whose answer is known that figures are what they say: counters against those that "ip" reads,
// and latency against a delay that pfcswitch adds. The latency is at least as much, and less than a second more. The
// switch sends nothing of its own.
func (b *bench) verify() error {
	const delay = 5 * time.Millisecond
	text := fmt.Sprintf(`preset: roce
metrics: {listen: off}
lldp: {agent: off}
ports:
  p1: {speed: 1G, tagged: [10], loop: off}
  p2: {speed: 1G, tagged: [10], loop: off}
  p3: {speed: 1G, tagged: [10], loop: off}
  p4: {speed: 1G, tagged: [10], loop: off, delay: %s}
`, delay)
	n, err := b.startNetwork("verify", dutPFC, comparedHosts, text+staticEntries(2, 4))
	if err != nil {
		return err
	}
	if err := n.forwards(); err != nil {
		return err
	}
	if err := n.verifyCounters(); err != nil {
		return err
	}
	values, err := n.probe(n.hosts[0])
	if err != nil {
		return err
	}
	got := time.Duration(values[0].v * 1e3)
	if values[0].metric != p50 || got < delay || got > delay+time.Second {
		return fmt.Errorf("latency behind a port with a delay of %v: %s is %v", delay, values[0].metric, got)
	}
	_, err = fmt.Fprintf(b.out, "latency behind a port with a delay of %v: %v (median)\n", delay, got)
	return err
}

// verifyCounters sends a known number of frames and compares what is counted with what "ip" says.
func (n *network) verifyCounters() error {
	o, err := n.b.measure(load{through: n, flows: n.flowsToHost2(1), octets: 512, priority: probePriority,
		time: 100 * time.Millisecond, rate: 10_000})
	if err != nil {
		return err
	}
	c, err := n.hosts[1].Stats("eth0")
	if err != nil {
		return err
	}
	said, err := n.b.do(n.hosts[1], "ip", "-s", "-j", "link", "show", "eth0")
	if err != nil {
		return err
	}
	var links []struct {
		Stats struct {
			Rx struct{ Bytes, Packets uint64 }
		} `json:"stats64"`
	}
	if err := json.Unmarshal([]byte(said), &links); err != nil || len(links) != 1 {
		return fmt.Errorf("ip -s -j link: %q: %w", said, err)
	}
	rx := links[0].Stats.Rx
	if o.delivered != o.offered || o.offered == 0 || rx.Packets != c.ReceivedFrames || rx.Bytes != c.ReceivedBytes {
		return fmt.Errorf("%d frames offered, %d counted as delivered; "+
			"counted %d frames and %d octets in all, ip says %d and %d",
			o.offered, o.delivered, c.ReceivedFrames, c.ReceivedBytes, rx.Packets, rx.Bytes)
	}
	return nil
}
