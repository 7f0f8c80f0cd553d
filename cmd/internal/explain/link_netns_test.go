package explain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/daemon/daemontest"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/linkcheck"
	"pfcswitch/dataplane/assert"
)

// counted is what a switch has counted: frames received, dropped and sent, by port.
type counted map[string][3]uint64

func count(t *testing.T, socket string) counted {
	t.Helper()
	r := assert.Got(api.NewClient(socket).Show(context.Background(), "ports")).Must(t)
	all := counted{}
	for _, p := range r.(*api.Ports).Ports {
		all[p.Port] = [3]uint64{p.ReceiveFrames, p.DroppedFrames, p.TransmitFrames}
	}
	return all
}

// A running switch says of frames what it then does with them, on real links.
func TestRunningSwitch(t *testing.T) {
	l := labtest.New(t, "explain")
	sw, h := labtest.Node(t, l, "sw"), labtest.Node(t, l, "h")
	socket := filepath.Join(t.TempDir(), "s.sock")
	yaml := "preset: roce\nlldp: {agent: off}\nports:\n"
	for i, keys := range []string{"tagged: [10]", "tagged: [10], trust: dscp", "pvid: 10"} {
		assert.Must(t, l.Link(sw, fmt.Sprintf("p%d", i+1), h, fmt.Sprintf("e%d", i+1), lab.LinkOptions{}))
		yaml += fmt.Sprintf("  p%d: {netns: %s, loop: off, %s}\n", i+1, sw.Path(), keys)
	}
	daemontest.Start(t, socket, yaml+"fdb: [{mac: \"02:00:00:00:00:02\", vlan: 1, port: p2}, {mac: "+
		"\"02:00:00:00:00:03\", vlan: 10, port: p3}]\n")
	w := assert.Got(linkcheck.Open(h.Path(), "e1")).Must(t)
	t.Cleanup(func() { assert.Must(t, w.Close()) })

	random := rand.New(rand.NewPCG(1, 2))
	pick := func(n ...int) int { return n[random.IntN(len(n))] }
	verdicts := map[string]int{}
	for range 60 {
		f := Frame{Dst: []string{"02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:04", "ff:ff:ff:ff:ff:ff",
			"02:00:00:00:00:01", "01:80:c2:00:00:05"}[random.IntN(6)],
			Src: "02:00:00:00:00:01", VLAN: pick(-1, 0, 1, 10, 20), PCP: pick(-1, 3, 0), DSCP: pick(-1, 26), ECN: true,
			EtherType: -1, GSO: -1, Octets: pick(64, 500, 1514)}
		q := assert.Got(f.Request("p1")).Must(t)
		e := assert.Got(Running(t.Context(), socket, []api.TraceRequest{q})).Must(t)
		compare(t, &e.Frames[0], socket, func() {
			_, _, err := w.Send(q.Frame, q.Vnet)
			assert.Must(t, err)
		})
		verdicts[e.Frames[0].Verdict]++
	}
	assert.True(t, verdicts["forwarded"] != 0 && verdicts["flooded"] != 0 && verdicts["dropped"] != 0,
		"the frames are too much alike: %v", verdicts)
}

// compare sends the frame that was explained and waits until the switch has done what was said.
func compare(t *testing.T, e *api.ExplainedFrame, socket string, send func()) {
	t.Helper()
	want := count(t, socket)
	change := func(port string, field int) {
		n := want[port]
		n[field]++
		want[port] = n
	}
	change("p1", 0)
	if e.Verdict == "dropped" && len(e.Copies) == 0 {
		change("p1", 1)
	}
	for _, c := range e.Copies {
		if c.Dropped != nil {
			change("p1", 1)
		} else {
			change(c.Port, 2)
		}
	}
	send()
	var got counted
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if got = count(t, socket); fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		assert.MustBeTrue(t, !time.Now().After(deadline), "received, dropped, sent: %v, explained: %v\n%+v", got, want,
			*e)
	}
}
