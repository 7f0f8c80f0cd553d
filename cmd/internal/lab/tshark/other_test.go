package tshark

import (
	"strings"
	"testing"

	"pfcswitch/dataplane/bridge"
	"pfcswitch/macctl"
)

// Another implementation has nothing to say against the other frames of our own: loop probes, and echoes of each way, shortest
// and longest, with a tag and without. Of those that are MAC Control frames it does not know the opcode.
func TestReadsProbesAndEchoes(t *testing.T) {
	source := [6]byte{2, 0, 0, 0, 0, 1}
	frames := [][]byte{bridge.AppendProbe(nil, 0x020000000001, bridge.Probe{Identity: bridge.Identity{1, 2}, Port: 3, Sequence: 4})}
	var control []bool
	control = append(control, false)
	for way := range macctl.NumPaths {
		for _, octets := range []int{macctl.FrameSize, 1518} {
			for _, answer := range []bool{false, true} {
				control = append(control, way == macctl.PathControl)
				frames = append(frames, macctl.DefaultMeasurementFormat.AppendEcho(nil, [6]byte{2, 0, 0, 0, 0, 2}, source, way, octets, way == macctl.PathBridged, 3<<13,
					macctl.Echo{Answer: answer, Session: 7, Sequence: 8, Octets: octets, Path: way}))
			}
		}
	}
	read := Decode(t, frames, append(Complaints, "eth.type", "vlan.priority")...)
	if len(read) != len(frames) {
		t.Fatalf("%d frames read of %d", len(read), len(frames))
	}
	for i, l := range read {
		complaints := append(l[Complaints[0]], l[Complaints[1]]...)
		if control[i] && len(complaints) == 1 && strings.Contains(complaints[0], "opcode") {
			continue
		}
		if len(complaints) > 0 || control[i] {
			t.Errorf("frame %d: %v\n%x", i, l, frames[i])
		}
	}
}
