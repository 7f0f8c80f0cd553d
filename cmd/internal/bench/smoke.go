package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
)

// smokeRows are those that a part has to have given where it works: of the switch, and more than 0 where it is not a count
// of faults.
var smokeRows = map[string][]rowKey{
	"frames": {{what: "delivered", metric: frameRate, of: ofPFC}, {what: "delivered", metric: cpuPerFrame, of: ofBridge},
		{what: "delivered", metric: frameRate, of: ofOVS}, {what: "delivered", metric: frameRate, of: ofOVSTSO},
		{what: "memory", metric: pss, of: ofOVS}, {what: "memory", metric: pss, of: ofOVSTSO}, {what: "memory", metric: pss, of: ofPFC}},
	"lossfree": {{what: "loss-free", metric: frameRate, of: ofPFC}, {what: "loss-free", metric: frameRate, of: ofBridge},
		{what: "loss-free", metric: frameRate, of: ofOVS}, {what: "loss-free", metric: frameRate, of: ofOVSTSO}},
	"tcp": {{what: "tcp", metric: throughput, of: ofPFC}, {what: "tcp", metric: throughput, of: ofBridge},
		{what: "tcp", metric: throughput, of: ofOVS}, {what: "tcp", metric: throughput, of: ofOVSTSO}},
	"latency": {{what: "latency", metric: p99, of: ofPFC}, {what: "latency", metric: p99, of: ofBridge}, {what: "latency", metric: p99, of: ofOVS},
		{what: "latency", metric: p99, of: ofOVSTSO}, {what: ofGaps, metric: highest, of: ofMachine}},
	"xoff":    {{what: "xoff-reaction", metric: p99, of: ofPFC}},
	"pause":   {{what: "pause", metric: stopped, of: ofPFC}},
	"ports":   {{what: "ports", metric: toTwoPorts, of: ofPFC}},
	"fdb":     {{what: "fdb", metric: toEmpty, of: ofPFC}, {what: "fdb", metric: toOne, of: ofPFC}},
	"trunk":   {{what: "trunk", metric: toBridged, of: ofPFC}},
	"choices": {{what: "choice", metric: coreShare, of: ofPFC}, {what: "choice", metric: ofFair, of: ofPFC}, {what: "choice", metric: toAsIs, of: ofPFC}},
	"flap":    {{what: "flap", metric: outage, of: ofPFC}},
}

// judgeSmoke says whether every part gave results and what is written can be read.
func (b *bench) judgeSmoke(rows []row) error {
	var errs []error
	for _, p := range b.opt.parts {
		if p.name == "tcp" && b.peers.iperf3 == "" || p.name == "lossfree" && b.opt.search == 0 {
			continue // said before
		}
		for _, want := range smokeRows[p.name] {
			if !b.present(want.of) {
				continue // said before
			}
			if !given(rows, want) {
				errs = append(errs, fmt.Errorf("part %s gave no %s of %s", p.name, want.metric, want.of))
			}
		}
	}
	var lines, drawn bytes.Buffer
	errs = append(errs, writeJSON(&lines, b.machine, &b.gaps, b.results, rows), readable(&lines), plot(&drawn, b.machine, rows), wellFormed(&drawn))
	return errors.Join(errs...)
}

// given tells whether there is a row of the kind that is more than 0.
func given(rows []row, want rowKey) bool {
	for i := range rows {
		r := &rows[i]
		if r.what == want.what && r.metric == want.metric && r.of == want.of && r.median > 0 && !math.IsInf(r.median, 0) {
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
