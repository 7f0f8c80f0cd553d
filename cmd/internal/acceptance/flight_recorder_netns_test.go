package acceptance

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/tshark"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// The loss of a lossless frame leaves a file that shows how it came to it, one for the whole incident, where the
// configuration says and nowhere else.
func TestLossIsWritten(t *testing.T) {
	tshark.Need(t)
	r := NewRig(t, 2)
	folder := filepath.Join(r.Dir, "losses")
	must(t, os.MkdirAll(folder, 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "test-loss.partial"), []byte("left by a switch that was killed"), 0o600))
	r.Start(Setup{Each: At100M, Keys: Lossless3 + "buffer: {ring_hold: off}\n" +
		"capture: {ring: on, directory: " + folder + ", last: 3s, snap: 64}",
		Ports: map[int]string{1: "priorities: {3: {alpha: 0.0625}}"}})
	liar, h2 := r.Station(1, macctl.ModeOff, 300e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := liar.Send(Stream{To: 2, Prio: 3})
	path := filepath.Join(folder, "test-loss-1.pcapng")
	eventually(t, "the file is there", func() bool { _, err := os.Stat(path); return err == nil })
	eventually(t, "frames are lost on", func() bool { return r.Snapshot(1).Counters.LosslessDrops[3] > 500 })
	stop()
	eventually(t, "what was not lost has come", func() bool {
		// of no known priority in a ring that was full, where the machine let it run full
		lost := r.Snapshot(1).Counters.LosslessDrops
		return h2.Tally(1, 3).Frames+lost[3]+lost[dataplane.NumPriorities] == liar.Sent[3].Load()
	})
	r.LossesAreTold(1)
	files := assert.Got(os.ReadDir(folder)).Must(t)
	info := assert.Got(os.Stat(path)).Must(t)
	assert.True(t, len(files) == 1 && info.Mode().Perm() == 0o600,
		"files %v, mode %v; want one for the whole incident, for its owner alone", files, info.Mode())
	var texts []string
	for _, e := range r.Source().Events(0) {
		if e.Kind == dataplane.EventCapture {
			texts = append(texts, e.Text)
		}
	}
	assert.True(t, len(texts) == 1 && strings.Contains(texts[0], path),
		"events %q, want one that names %s", texts, path)
	frames := tshark.Fields(t, path, captureFields...)
	// the ring where the machine lets the switch wait
	stops := regexp.MustCompile("^XOFF 3: (buffer|the receive ring fills up|frames wait unread in the receive ring)")
	xoff := slices.IndexFunc(frames, func(l map[string][]string) bool {
		return tshark.First(l, "frame.packet_flags_direction") == directionOut &&
			stops.MatchString(tshark.First(l, "frame.comment")) &&
			tshark.First(l, "macc.cbfc.enbv") == "0x0008"
	})
	lost := slices.IndexFunc(frames, func(l map[string][]string) bool {
		return tshark.First(l, "frame.comment") == "dropped: lossless-headroom (a LOSSLESS frame is lost)" &&
			tshark.First(l, "frame.interface_name") == "p1"
	})
	if xoff < 0 || lost < xoff {
		var said []string
		for i, l := range frames {
			if c := tshark.First(l, "frame.comment"); c != "" && len(said) < 20 {
				said = append(said, fmt.Sprintf("%d: %s", i, c))
			}
		}
		t.Errorf("XOFF is frame %d, the first loss %d of %d; want the XOFF that was not obeyed first\n%s", xoff, lost,
			len(frames), strings.Join(said, "\n"))
	}
}

// What the ring holds can be fetched, where it is on.
func TestCaptureLast(t *testing.T) {
	tshark.Need(t)
	dir := t.TempDir()
	keys := func(capture string) Setup {
		return Setup{Each: At100M, Keys: Lossless3 + "capture: {directory: " + dir + capture + "}"}
	}
	r := Start(t, 2, keys(", ring: on"))
	c := r.ServeControl()
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	h1.Send(Stream{To: 2, Prio: 3, Frames: 10})
	h2.Whole(h1, 3)
	k := r.startCapture(c, api.CaptureRequest{Last: time.Minute})
	eventually(t, "the capture has ended by itself", k.over)
	frames := slices.DeleteFunc(tshark.Fields(t, k.path, captureFields...), func(l map[string][]string) bool {
		return tshark.First(l, "vlan.priority") != "3" // XOFF where the switch waited for a CPU, LLDP, loop probes
	})
	assert.True(t, len(frames) == 20 && tshark.First(frames[0], "frame.cap_len") == "256",
		"%d frames, want what was received and sent of 10", len(frames))
	must(t, r.Apply(keys(""), 2))
	_, err := c.Capture(context.Background(), api.CaptureRequest{Last: time.Minute}, io.Discard)
	assert.Fails(t, err, "capture.ring is off", "with the ring off")
	assert.True(t, r.Source().Tap().Recorder() == nil, "with the ring off the data path still captures")
}
