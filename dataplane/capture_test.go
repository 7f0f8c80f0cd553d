package dataplane

import (
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
)

// seen is a captured frame.
type seen struct {
	port   int
	out    bool
	held   int64
	length int
	data   string
	note   string
}

// tapped attaches to a switch.
func tapped(tb testing.TB, sw *Switch, snap int) *capture.Cursor {
	tb.Helper()
	c := assert.Got(sw.captureTap.Attach(capture.Want{Ports: capture.AllPorts, Snap: snap})).Must(tb)
	tb.Cleanup(c.Close)
	return c
}

func read(c *capture.Cursor) (all []seen) {
	for c.Read(func(r *capture.Record) bool {
		all = append(all, seen{r.Port, r.Out, r.Held, r.Length, string(r.Data), string(r.Note)})
		return true
	}) {
	}
	return all
}

// Notes say why the peer is told what it is told.
func TestNotesOfControl(t *testing.T) {
	r := plainRig(t, 2)
	hold := func() string { return string(r.sw.ExplainControlOut(nil, 0)) }
	obeyed := func(i int, want string) {
		t.Helper()
		assert.Equal(t, string(r.sw.ExplainControl(nil, i)), want, "note")
	}
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	for _, want := range []string{"XOFF 3: buffer, ingress queue holds ", " B, threshold ", " of 16384 B"} {
		got := hold()
		assert.True(t, strings.Contains(got, want), "note %q, want one that says %q", got, want)
	}
	r.tell(0)
	r.sw.HoldPeerForRing(0, true, r.now)
	got := hold()
	assert.True(t, strings.HasPrefix(got, "XOFF refreshed 3: buffer, the receive ring fills up, "), "note %q", got)
	r.sw.HoldPeerForRing(0, false, r.now)
	r.drain(1, second)
	got = hold()
	assert.True(t, strings.HasPrefix(got, "XON 3: ingress queue holds "), "note %q", got)

	r.hear(1, lossless, 0xffff)
	obeyed(1, "obeyed; paused: 3")
	r.hear(1, 5, 0xffff) // not under PFC
	obeyed(1, "obeyed in part: priority; paused: 3")
	r.pause(1, 9)
	obeyed(1, "ignored: disabled")
	r.hear(1, lossless, 0)
	obeyed(1, "obeyed; nothing is paused")
	obeyed(7, "ignored: the port is not configured")
}

func TestNotesOfPause(t *testing.T) {
	r := newRig(t, testConfig(2), pausePort(0), pausePort(1))
	r.offer(0, several(0, 1, 0, alone+1, small)...)
	got := string(r.sw.ExplainControlOut(nil, 0))
	assert.True(t, strings.HasPrefix(got, "XOFF all: buffer, ingress queue holds "), "note %q", got)
	r.pause(1, 0xffff)
	assert.Equal(t, string(r.sw.ExplainControl(nil, 1)), "obeyed; paused: all", "note")
}

// Every disposition has its text, and the text names a reason that exists.
func TestNotesOfDispositions(t *testing.T) {
	const reasonMask = 0x3f
	for f, note := range notes {
		reason := DropReason(disposition(f)&reasonMask) - 1
		there := disposition(f)&reasonMask != 0 && reason < NumDropReasons &&
			disposition(f)&(dispositionLost|dispositionCopy) != dispositionLost|dispositionCopy
		assert.True(t, there == (note != nil) && (!there || strings.Contains(string(note), reason.String())),
			"disposition %#x: %q", f, note)
	}
}

// A frame that waited for buffer is captured when it goes on, with the time of its arrival and how long it waited.
func TestHeldFrame(t *testing.T) {
	r := plainRig(t, 2)
	tap := tapped(t, r.sw, 64)
	arrived := r.now
	for seq := 0; !r.sw.RoomWaits(0); seq++ {
		r.offer(0, data(0, 1, lossless, seq, small))
	}
	const wait = 700_000
	r.now += wait
	for r.send(1, 8) != nil { // room
	}
	assert.MustEqual(t, r.leaveRoom(0), 1, "frames have waited")
	if got := read(tap); len(got) != 1 || got[0].held != r.now-arrived || got[0].note != "" || got[0].length != small {
		t.Errorf("captured %+v, want one frame that waited for %d ns", got, r.now-arrived)
	}
}

// A flood says so where a copy of it was dropped, and others go on.
func TestDispositionOfCopy(t *testing.T) {
	ports := testPorts(3)
	ports[2].MaxFrame = small - 100
	r := newRig(t, testConfig(3), ports...)
	r.arrive(0, ether(0xffff_ffff_ffff, host(0), tci(0, 0), experimental, 0, small), data(0, 2, 0, 1, small),
		data(0, 1, 0, 1, small))
	var notes []string
	for i := range r.burst {
		notes = append(notes, string(r.burst[i].disposition.note()))
	}
	assert.Same(t, notes, []string{"a copy was dropped: oversize", "dropped: oversize", ""}, "notes")
	r.settle()
}

// What finds no room is dropped and says so; a queue that is emptied says why.
func TestDispositions(t *testing.T) {
	cfg := testConfig(3)
	cfg.Buffer.Lossy.Size = 8 * cell
	r := newRig(t, cfg, testPorts(3)...)
	broadcast := ether(0xffff_ffff_ffff, host(0), tci(0, 0), experimental, 0, small)
	n, _ := r.arrive(0, slices.Repeat([][]byte{broadcast}, 13)...)
	assert.MustBeTrue(t, n == 13, "%d of 13 frames taken", n)
	burst := r.burst
	assert.True(t,
		burst[0].disposition == 0 && string(burst[len(burst)-1].disposition.note()) == "dropped: lossy-threshold",
		"dispositions %#x to %#x, want none and lossy-threshold", burst[0].disposition, burst[len(burst)-1].disposition)
	r.settle()

	c := tapped(t, r.sw, 64)
	r.sw.SetUp(1, false, r.now)
	purged := read(c)
	assert.True(t, len(purged) != 0 && purged[0].out && purged[0].port == 1 && purged[0].note == "dropped: port-down" &&
		purged[0].data == string(broadcast[:64]) && purged[0].length == small,
		"captured %+v, want the frames of the queue that was emptied", purged)
}
