package acceptance

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/tshark"
	"pfcswitch/cmd/internal/tcpdump"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/frame"
	"pfcswitch/lldp"
	"pfcswitch/macctl"
)

// captured is a capture that goes on.
type captured struct {
	t      *testing.T
	path   string
	cancel func()
	done   chan struct{}
	tally  capture.Tally
}

// startCapture begins to write a file.
func (r *Rig) startCapture(c *api.Client, request api.CaptureRequest) *captured {
	r.T.Helper()
	f := assert.Got(os.CreateTemp(r.Dir, "*.pcapng")).Must(r.T)
	ctx, cancel := context.WithCancel(context.Background())
	k := &captured{t: r.T, path: f.Name(), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		var err error
		k.tally, err = c.Capture(ctx, request, f)
		assert.NoError(r.T, err, "capture")
		err = f.Close()
		assert.True(r.T, err == nil, "%v", err)
	}()
	r.T.Cleanup(k.end)
	eventually(r.T, "the file begins", func() bool {
		info, err := f.Stat()
		return err == nil && info.Size() > 0 || k.over()
	})
	return k
}

func (k *captured) over() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// end asks for the end of the file and waits for it.
func (k *captured) end() {
	k.cancel()
	<-k.done
}

var captureFields = []string{"frame.interface_name", "frame.packet_flags_direction", "frame.comment", "frame.len",
	"frame.cap_len", "frame.time_epoch", "frame.drop_count", "eth.type", "vlan.priority", "macc.opcode",
	"macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "_ws.malformed"}

// Directions as tshark prints them.
const (
	directionIn  = "0x00000001"
	directionOut = "0x00000002"
)

// What the switch receives, sends, drops and tells its peers is in the file, once each, and tshark understands it.
func TestCapture(t *testing.T) {
	tshark.Need(t)
	for _, workers := range []string{"auto", "per-port"} {
		t.Run(workers, func(t *testing.T) {
			r := Start(t, 3, Setup{Keys: SmallBuffers + "capture: {memory: 64MiB}\nworkers: " + workers,
				Each: At100M + ", loop: off"})
			c := r.ServeControl()
			h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
				r.Station(3, macctl.ModePFC, 100e6)
			before := time.Now()
			k := r.startCapture(c, api.CaptureRequest{Snap: 96})
			stop1 := h1.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0})
			stop3 := h3.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0})
			h2.PFC(1<<3, 0xffff)
			eventually(t, "both senders are held, and lossy frames dropped", func() bool {
				return h1.Controls.Load() > 1 && h3.Controls.Load() > 1 &&
					r.Snapshot(1).Counters.Drops[0][dataplane.DropLossyThreshold] > 0
			})
			h2.PFC(1<<3, 0)
			stop1()
			stop3()
			h2.Whole(h1, 3)
			h2.Whole(h3, 3)
			r.Took(h1)
			r.Took(h3)
			r.Settle()
			k.end()
			after := time.Now()

			out, err := exec.Command(filepath.Join(filepath.Dir(tshark.Need(t)), "capinfos"), "-M",
				k.path).CombinedOutput()
			assert.True(t, err == nil && strings.Contains(string(out), "Number of interfaces in file: 3"),
				"capinfos: %v\n%s", err, out)
			frames := tshark.Fields(t, k.path, captureFields...)
			assert.True(t, uint64(len(frames)) == k.tally.Frames,
				"the file has %d frames, the client counted %+v", len(frames), k.tally)
			r.wantCounted(frames, k.tally.Missing)
			wantSpan(t, frames, before, after)
			for _, want := range []struct{ port, direction, opcode, comment string }{
				{"p1", directionOut, "0x0101", "XOFF 3: "},
				{"p1", directionOut, "0x0101", "XON 3: ingress queue holds "},
				{"p2", directionIn, "0x0101", "obeyed; paused: 3"},
				{"p2", directionIn, "0x0101", "obeyed; nothing is paused"},
				{"p1", directionIn, "", "dropped: lossy-threshold"},
			} {
				if !slices.ContainsFunc(frames, func(l map[string][]string) bool {
					return tshark.First(l, "frame.interface_name") == want.port &&
						tshark.First(l, "frame.packet_flags_direction") == want.direction &&
						tshark.First(l, "macc.opcode") == want.opcode &&
						strings.HasPrefix(tshark.First(l, "frame.comment"), want.comment)
				}) {
					t.Errorf("no frame %+v", want)
				}
			}
			for i, l := range frames {
				assert.True(t, l["_ws.malformed"] == nil && (tshark.First(l, "macc.opcode") != "" ||
					tshark.First(l, "frame.cap_len") == "96"), "frame %d: %v", i, l)
			}
		})
	}
}

// LLDP frames are in the file too, though they pass beside the rings: those that come, whatever they are, and those
// that leave, once each and whole.
func TestCaptureShowsLLDP(t *testing.T) {
	tshark.Need(t)
	r := Start(t, 2, Setup{Each: "loop: off"})
	s := r.Socket(1)
	eventually(t, "the port speaks", func() bool { return r.LLDP().Statistics.SentFrames > 0 })
	before := r.LLDP().Statistics.SentFrames
	k := r.startCapture(r.ServeControl(), api.CaptureRequest{Ports: []string{"p1"}})
	p := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: "h1"}, Port: lldp.ID{Subtype: lldp.PortLocal,
		Value: "1"}, TTL: 100, SystemName: "a peer"}
	announcement := lldp.AppendFrame(nil, [6]byte(HostMAC(1)), &p)
	must(t, s.Send(frame.VnetHeader{}, announcement))
	must(t, s.Send(frame.VnetHeader{}, announcement[:30])) // ends within a TLV
	eventually(t, "the switch has taken both, and greets", func() bool {
		n := r.LLDP().Statistics
		return n.ReceivedFrames == 2 && n.DiscardedFrames == 1 && n.SentFrames > before
	})
	least := r.LLDP().Statistics.SentFrames - before
	k.end()
	most := r.LLDP().Statistics.SentFrames - before

	var out uint64
	var in []string
	for _, l := range tshark.Fields(t, k.path, append(captureFields, "eth.src", "lldp.tlv.system.name")...) {
		if tshark.First(l, "eth.type") != "0x88cc" || tshark.First(l, "frame.interface_name") != "p1" ||
			l["frame.comment"] != nil {
			t.Errorf("not LLDP of p1: %v", l)
			continue
		}
		name := tshark.First(l, "lldp.tlv.system.name")
		switch tshark.First(l, "frame.packet_flags_direction") {
		case directionIn:
			in = append(in, tshark.First(l, "eth.src")+" "+tshark.First(l, "frame.len")+" "+name)
		case directionOut:
			if out++; tshark.First(l, "eth.src") != PortMAC(1).String() || name != "test" || l["_ws.malformed"] != nil {
				t.Errorf("sent: %v", l)
			}
		}
	}
	h1 := HostMAC(1).String()
	assert.Same(t, in, []string{h1 + " 60 a peer", h1 + " 30 "}, "received")
	assert.True(t, out >= least && out <= most, "%d frames sent, want %d to %d", out, least, most)
}

// wantCounted holds a file against the switch's counters.
func (r *Rig) wantCounted(frames []map[string][]string, missing uint64) {
	r.T.Helper()
	type key struct{ port, direction string }
	data, drops, pfc := map[key]uint64{}, map[key]uint64{}, map[key]uint64{}
	for _, l := range frames {
		k := key{tshark.First(l, "frame.interface_name"), tshark.First(l, "frame.packet_flags_direction")}
		switch {
		case tshark.First(l, "eth.type") == "0x88cc": // counted elsewhere
		case tshark.First(l, "macc.opcode") != "":
			pfc[k]++
		default:
			data[k]++
		}
		if strings.HasPrefix(tshark.First(l, "frame.comment"), "dropped: lossy-threshold") {
			drops[k]++
		}
	}
	for n := range r.Hosts {
		p := r.Snapshot(n + 1)
		in, out := key{PortName(n + 1), directionIn}, key{PortName(n + 1), directionOut}
		got := [5]uint64{data[in], data[out], pfc[in], pfc[out], drops[in]}
		want := [5]uint64{p.Counters.ReceivedFrames, p.Counters.SentFrames, p.Received.PFCFrames[3],
			p.ControlSent.PFCFrames[3], p.Counters.Drops[0][dataplane.DropLossyThreshold]}
		assert.True(r.T, got == want,
			"%s: the file has %v frames received, sent, PFC received, PFC sent, dropped; the switch "+"counted %v",
			PortName(n+1), got, want)
	}
	assert.True(r.T, missing == 0, "%d frames are said to be missing", missing)
}

// wantSpan fails where a stamp is not from between two moments.
func wantSpan(t *testing.T, frames []map[string][]string, from, to time.Time) {
	t.Helper()
	for i, l := range frames {
		var s, ns int64
		_, err := fmt.Sscanf(tshark.First(l, "frame.time_epoch"), "%d.%09d", &s, &ns)
		assert.MustNoError(t, err, "frame %d: time %s", i, tshark.First(l, "frame.time_epoch"))
		if at := time.Unix(s, ns); at.Before(from.Add(-time.Millisecond)) || at.After(to.Add(time.Millisecond)) {
			t.Fatalf("frame %d is of %v, want %v to %v", i, at, from, to)
		}
	}
}

// A filter in tcpdump's language chooses frames, also where it looks behind the snap length; a port and a number end
// the file.
func TestCaptureChooses(t *testing.T) {
	tshark.Need(t)
	program(t, "tcpdump", "tcpdump")
	r := Start(t, 2, Setup{Keys: Lossless3, Each: At100M})
	c := r.ServeControl()
	compile := func(expression string) string {
		return assert.Got(tcpdump.Compile(context.Background(), expression)).Must(t)
	}
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3, Octets: 200}, Stream{To: 2, Prio: 5, Octets: 300})
	control := r.startCapture(c, api.CaptureRequest{Filter: compile("ether proto 0x8808"), Frames: 2})
	behind := r.startCapture(c, api.CaptureRequest{Filter: compile("vlan and ether[15:1] & 0x7f == 0 and ether[14] " +
		">> 5 == 5 and greater 250"), Snap: 14, Frames: 20, Ports: []string{"p2"}})
	soon := r.startCapture(c, api.CaptureRequest{For: 100 * time.Millisecond})
	h2.PFC(1<<3, 100)
	h2.PFC(1<<3, 0)
	for _, k := range []*captured{control, behind, soon} {
		eventually(t, "the capture has ended by itself", k.over)
	}
	stop()
	h2.Whole(h1, 3)

	if frames := tshark.Fields(t, control.path, captureFields...); len(frames) != 2 ||
		tshark.First(frames[1], "macc.opcode") != "0x0101" {
		t.Errorf("two control frames: got %v", frames)
	}
	frames := tshark.Fields(t, behind.path, captureFields...)
	for _, l := range frames {
		assert.True(t, tshark.First(l, "frame.interface_name") == "p2" && tshark.First(l, "frame.len") == "300" &&
			tshark.First(l, "frame.cap_len") == "14", "frame %v, want 14 of 300 octets from p2", l)
	}
	assert.Equal(t, len(frames), 20, "frames")
	assert.True(t, len(tshark.Fields(t, soon.path, captureFields...)) != 0, "nothing was captured in 100 ms of traffic")
	assert.True(t, r.Source().Tap().Recorder() == nil, "nobody captures any more, and the data path does")
}

// A client that hardly reads costs the switch nothing, and is told later what it missed.
func TestSlowCaptureNeverBlocks(t *testing.T) {
	r := Start(t, 2, Setup{Keys: "capture: {memory: 5MiB}\npriorities: {lossless: [3]}\nlldp: {agent: off}\n",
		Each: At100M + ", loop: off"})
	c := r.ServeControl()
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	in, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	var tally capture.Tally
	done := make(chan error, 1)
	go func() {
		var err error
		tally, err = c.Capture(ctx, api.CaptureRequest{}, out)
		_ = out.Close()
		done <- err
	}()
	_, err := in.Read(make([]byte, 8)) // the section begins
	must(t, err)
	through := make(chan struct{})
	go readSlowly(in, through)
	const frames = 8000 // 12 MB, twice: received and sent
	h1.Send(Stream{To: 2, Prio: 3, Frames: frames})
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
	r.Settle() // a frame is recorded after it has left
	close(through)
	cancel()
	must(t, <-done)
	var want uint64
	for n := range r.Hosts {
		p := r.Snapshot(n + 1)
		want += p.Counters.ReceivedFrames + p.Counters.SentFrames + p.ControlSent.PFCFrames[3] + p.Received.PFCFrames[3]
	}
	t.Logf("%d frames captured, %d missing", tally.Frames, tally.Missing)
	assert.True(t, tally.Missing != 0 && tally.Frames != 0 && tally.Frames+tally.Missing == want,
		"%+v, want %d in all, some of them missing", tally, want)
}

// readSlowly reads a little each second until the test is through: a reader that stands still is cut off.
func readSlowly(in io.Reader, through <-chan struct{}) {
	for {
		select {
		case <-through:
			_, _ = io.Copy(io.Discard, in)
			return
		case <-time.After(time.Second):
			_, _ = io.CopyN(io.Discard, in, 64<<10)
		}
	}
}

// A capture that cannot be is refused with the reason.
func TestCaptureRefused(t *testing.T) {
	r := Start(t, 1, Setup{})
	c := r.ServeControl()
	for _, test := range []struct {
		request api.CaptureRequest
		want    string
	}{
		{api.CaptureRequest{Ports: []string{"p1", "p9"}}, "there is no port p9: there are p1"},
		{api.CaptureRequest{Snap: 70_000}, "snap=70000"},
		{api.CaptureRequest{Filter: "1,5 0 0 0"}, "no program"},
		{api.CaptureRequest{Last: time.Second}, "capture.ring is off"},
	} {
		_, err := c.Capture(context.Background(), test.request, io.Discard)
		assert.True(t, err != nil && strings.Contains(err.Error(), test.want),
			"%+v: %v, want an error that says %q", test.request, err, test.want)
	}
	for range capture.MaxCursors {
		r.startCapture(c, api.CaptureRequest{})
	}
	_, err := c.Capture(context.Background(), api.CaptureRequest{}, io.Discard)
	assert.Fails(t, err, "too many captures", "one more")
}
