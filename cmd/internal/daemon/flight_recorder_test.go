package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/runner"
)

// The file of the first loss of a run stays, whatever is lost later, also where the recorder is changed in between. The
// other names go round, and a later run replaces the oldest file first.
func TestFirstLossIsKept(t *testing.T) {
	folder, age := t.TempDir(), time.Now().Add(-time.Hour)
	daemon := func(files int) *Daemon {
		return unplugged(t, Lossless3+fmt.Sprintf("capture: {ring: on, directory: %s, files: %d}", folder, files),
			"flow_control: pfc")
	}
	lose := func(d *Daemon, n int) (names []string) {
		t.Helper()
		for range n {
			name, _, _, err := d.flight.write()
			if err != nil {
				return append(names, err.Error())
			}
			age = age.Add(time.Second)
			must(t, os.Chtimes(filepath.Join(folder, name), age, age))
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(name, "test-loss-"), ".pcapng"))
		}
		return names
	}
	first := daemon(3)
	got := lose(first, 4)
	c := *first.cfg
	c.Capture.Snap = 100
	first.mu.Lock()
	must(t, first.putInForce(t.Context(), &c))
	first.mu.Unlock()
	got = append(got, lose(first, 3)...)
	assert.Same(t, got, []string{"1", "2", "3", "2", "3", "2", "3"}, "losses are written to")
	assert.Same(t, lose(daemon(3), 5), []string{"1", "2", "3", "2", "3"}, "a later run writes its losses to")
	if got := lose(daemon(1), 2); len(got) != 2 || got[0] != "1" || !strings.Contains(got[1], "first loss is kept") {
		t.Errorf("with one file: %v, want the first loss and why there is no other", got)
	}
	all, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(all) == 3, "files %v (%v), want three", all, err)
}

// A loss while the recorder is off writes no file once it is on again. The source tells whether it is on.
func TestLossWhileOffIsNotWritten(t *testing.T) {
	folder := t.TempDir()
	d := unplugged(t, Lossless3+"capture: {ring: on, directory: "+folder+"}", "flow_control: pfc")
	on := d.cfg
	off := *on
	off.Capture.Ring = false
	apply := func(c *config.Config) {
		t.Helper()
		d.mu.Lock()
		defer d.mu.Unlock()
		must(t, d.putInForce(t.Context(), c))
	}
	for _, c := range []*config.Config{&off, on} {
		if apply(c); d.Source().Keeps() != c.Capture.Ring {
			t.Errorf("capture.ring is %v, and the last frames are kept: %v", c.Capture.Ring, d.Source().Keeps())
		}
	}
	for range 20 { // a recorder that ends at once may or may not see the loss
		apply(&off)
		d.runner.Tap().Lost()
		apply(on)
	}
	apply(&off) // waits for what is being written
	all, err := os.ReadDir(folder)
	assert.True(t, err == nil && len(all) == 0, "files %v (%v), want none", all, err)
}

// A ring that was too small for the last seconds does not claim to have them.
func TestTimeOfTheFile(t *testing.T) {
	d := unplugged(t, Lossless3+"capture: {ring: on, memory: 5MiB, last: 60s, directory: "+t.TempDir()+"}",
		"flow_control: pfc")
	written := func() time.Duration {
		t.Helper()
		_, _, lasts, err := d.flight.write()
		must(t, err)
		return lasts
	}
	from := runner.Now()
	lasts, least := written(), min(time.Minute, time.Duration(from)-time.Millisecond)
	assert.True(t, lasts >= least, "nothing was overwritten, and the last %v were written, want %v", lasts, least)
	from = runner.Now()
	r := d.runner.Tap().Recorder()
	r.Lock()
	for range 50_000 {
		r.Put(&capture.Record{Port: 1, Time: runner.Now(), Length: 256})
	}
	r.Unlock()
	lasts, most := written(), time.Duration(runner.Now()-from)+time.Millisecond
	assert.True(t, lasts <= most, "the last %v were written, of which the ring has at most %v", lasts, most)
}
