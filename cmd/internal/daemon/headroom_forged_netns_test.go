package daemon

import (
	"fmt"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A host behind a switch cannot tell the next switch a headroom in the name of the first one: the first one forwards no
// such frame and names the port, and the next one takes none that did not come from the link.
//
//	host 2 ── p2:switch:p1 ── eth0:next
func TestForgedResultFromAfar(t *testing.T) {
	r := newRig(t, 2)
	const keys = Lossless3 + "headroom: {interval: 50ms}\n" + atOnce
	r.Start(Setup{Keys: keys, Each: At100M})
	next, _ := run(t, parse(t, header("next", r.Dir+"/next.sock")+fmt.Sprintf("%s\nports: {p1: {interface: eth0, %s, "+
		"netns: %s}}\n", keys, At100M, r.Host(1).Path())))
	eventually(t, "the headroom is measured", func() bool {
		h := HeadroomOf(next, "p1")
		return h.Agreed && h.Measured != nil && h.ResultAcked && h.PeerFound > 0
	})
	s := r.Socket(2)
	forge := func(source [6]byte, sequence uint32) {
		must(t, s.Send(frame.VnetHeader{}, macctl.DefaultMeasurementFormat.Append(nil, [6]byte(HostMAC(1)), source,
			true, macctl.Measurement{Operation: macctl.MeasureResult, Session: 4711, Sequence: sequence,
				Area: [2]uint64{1 << 32, 0}})))
	}
	for i := range uint32(100) {
		forge([6]byte(PortMAC(1)), i)
		forge([6]byte(HostMAC(2)), i)
	}
	eventually(t, "the switch has dropped them", func() bool {
		return r.Snapshot(2).Counters.Drops[0][dataplane.DropFiltered] >= 200
	})
	time.Sleep(100 * time.Millisecond) // two intervals
	h := HeadroomOf(next, "p1")
	assert.True(t, h.Received <= 2*h.Calculated && h.Target <= 2*h.Calculated,
		"the headroom that was told is %d bits, the target %d, calculated %d", h.Received, h.Target, h.Calculated)
	n := len(r.Events(dataplane.EventPort, 2))
	assert.True(t, n != 0, "nobody was told")
}
