package acceptance

import (
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Where another program lowers the MTU of a port's interface under traffic, at the port that frames leave by or at the
// one that they come by, the switch raises the MTU again and says so. Frames that came meanwhile wait.
func TestMTULoweredUnderTraffic(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3, Each: "speed: 100M, send: packet"})
	h1, h2 := r.Station(1, macctl.ModePFC, 1e8), r.Station(2, macctl.ModePFC, 1e8)
	stop := h1.Send(Stream{To: 2, Prio: 3})
	passes := func() {
		t.Helper()
		from := h2.Tally(1, 3).Frames
		eventually(t, "frames pass", func() bool { return h2.Tally(1, 3).Frames > from+100 })
	}
	for _, n := range []int{2, 1} {
		passes()
		IP(t, r.Node, "link", "set", "dev", PortName(n), "mtu", "1400")
		want := "interface " + PortName(n) + " got an MTU of 1400 from another program, below the port's mtu of " +
			"1500: the switch has set the MTU to 1500 again (write ports." + PortName(n) + ".mtu: 1400 for a lower one)"
		eventually(t, "an event says so", func() bool {
			told := slices.DeleteFunc(r.Events(dataplane.EventPort, n), func(e dataplane.Event) bool {
				return !strings.HasPrefix(e.Text, "interface ")
			})
			return len(told) == 1 && strings.HasPrefix(told[0].Text, want)
		})
		got := IP(t, r.Node, "link", "show", "dev", PortName(n))
		assert.True(t, strings.Contains(got, "mtu 1500"), "%s", got)
		passes()
	}
	stop()
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
}
