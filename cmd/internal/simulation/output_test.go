package simulation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
)

// A file is a buffer that can be closed.
type file struct {
	bytes.Buffer
	closed bool
}

func (f *file) Close() error {
	f.closed = true
	return nil
}

// A capture has each frame that a switch has received, sent or obeyed, and nothing is missing.
func TestCaptureHasEveryFrame(t *testing.T) {
	files := map[string]*file{}
	o := standard
	o.Capture = func(name string) (io.WriteCloser, error) {
		files[name] = &file{}
		return files[name], nil
	}
	r := example(t, "leaf-spine.yaml", o)
	plain := example(t, "leaf-spine.yaml", standard)
	assert.True(t, r.Pass && r.Hops == plain.Hops && r.Lasted == plain.Lasted,
		"with captures: pass %v, %d hops in %d ns; without: %d in %d", r.Pass, r.Hops, r.Lasted, plain.Hops,
		plain.Lasted)
	assert.MustBeTrue(t, len(files) == 4, "%d files", len(files))
	var got, want uint64
	for name, f := range files {
		tally, err := capture.Copy(io.Discard, &f.Buffer)
		assert.True(t, err == nil && tally.Missing == 0 && f.closed && (tally.Frames == 0) == (name == "spine2"),
			"%s: %+v, %v, closed: %v", name, tally, err, f.closed)
		got += tally.Frames
	}
	for _, c := range r.Ports {
		want += c.FramesReceived + c.FramesSent
	}
	for _, f := range r.Flows { // h1 and h2 to h3, h4 to h1: through three switches, in and out
		want += 6 * f.Sent
	}
	// the next loop probes are due after the run, which takes less than a second
	assert.True(t, got == want, "%d frames, want %d", got, want)
}

// A capture has the MAC Control frames that a switch gets from another.
func TestCaptureHasControl(t *testing.T) {
	files := map[string]*file{}
	o := standard
	o.Capture = func(name string) (io.WriteCloser, error) {
		files[name] = &file{}
		return files[name], nil
	}
	r, err := simulate(t, "name: line\nswitches: {s1: {preset: roce}, s2: {preset: roce}}\nhosts: {h1: {}, h2: {}, "+
		"h3: {}}\nlinks:\n  l1: {ends: [h1, \"s1:p1\"]}\n  l2: {ends: [h2, \"s2:p1\"]}\n  l3: {ends: [h3, "+
		"\"s2:p2\"]}\n  up: {ends: [\"s1:up\", \"s2:up\"]}\ntraffic: {f: {incast: h2, duration: 60ms}}", o)
	assert.MustBeTrue(t, err == nil && r.Pass, "%+v, %v", r, err)
	want := 4*r.Flows[0].Sent + 2*r.Flows[1].Sent // through two switches and one, in and out
	between := uint64(0)
	for _, p := range r.Ports {
		want += p.FramesReceived + p.FramesSent
		between += p.FramesReceived
	}
	got := uint64(0)
	for _, f := range files {
		tally, err := capture.Copy(io.Discard, &f.Buffer)
		assert.True(t, err == nil, "%v", err)
		got += tally.Frames
	}
	assert.True(t, got == want && between != 0, "%d frames, want %d, %d of them between switches", got, want, between)
}

// A file that cannot be opened or written ends the run.
func TestCaptureFails(t *testing.T) {
	full := errors.New("no space")
	o := standard
	o.Capture = func(string) (io.WriteCloser, error) { return nil, full }
	_, err := Run(t.Context(), "../../../scripts/lab/incast.yaml", o)
	assert.True(t, errors.Is(err, full), "%v", err)
}

// The picture is XML, and names flows, switches and who is paused.
func TestPicture(t *testing.T) {
	var b bytes.Buffer
	o := standard
	o.SVG = &b
	example(t, "incast.yaml", o)
	for _, want := range []string{">h1&gt;h4 3<", ">h3&gt;h4 0<", ">s1<", ">h2<", "throughput", "buffer", "paused"} {
		assert.True(t, strings.Contains(b.String(), want), "the picture lacks %s", want)
	}
	n := strings.Count(b.String(), "<polyline")
	assert.True(t, n == 6+1+3, "%d lines, want those of six flows, a switch and three hosts", n)
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A panel with more lines than it has room for shows the largest, and says so.
func TestPanelOfMany(t *testing.T) {
	c := &course{at: []int64{1, 2}}
	for i := range 40 {
		c.rates = append(c.rates, plot.Series{Name: strings.Repeat("x", i+1), Values: []float64{1, float64(i)}})
	}
	var b bytes.Buffer
	assert.Must(t, c.svg(&b, "many"))
	assert.True(t, strings.Contains(b.String(), "(the 12 largest of 40)") &&
		strings.Count(b.String(), "<polyline") == 12 && strings.Contains(b.String(), strings.Repeat("x", 40)), "%v",
		b.String())
}
