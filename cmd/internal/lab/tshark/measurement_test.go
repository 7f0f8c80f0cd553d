package tshark

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// measuring lets two ends measure for a second and returns every frame of each kind that they send.
func measuring(fallback bool) (frames map[uint16][][]byte) {
	frames = map[uint16][][]byte{}
	var ends [2]*headroom.Probe
	address := [2][6]byte{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}
	for i := range ends {
		in := headroom.Inputs{Speed: 1e9, MaxFrame: 1514, Burst: 62_500}
		ends[i] = headroom.NewProbe(headroom.Settings{Inputs: in,
			Calculated: headroom.Calculate(in, macctl.ModePFC).Bits(), Precision: 30, Percentile: 0.999,
			Interval: 100 * time.Millisecond, Session: uint16(7 + i), Streams: true, Lossless: 1 << 3})
		ends[i].SetUp(true, 1)
		ends[i].SetAgreed(true, true, "other", 1)
	}
	for now := int64(1e9); now < 2e9; now += 1e6 {
		if now == 1.5e9 {
			ends[0].AskStream(3, headroom.MaxStream)
		}
		for i, p := range ends {
			for {
				out, ok := p.Out(headroom.Moment{Now: now})
				if !ok {
					break
				}
				frames[out.Operation] = append(frames[out.Operation],
					macctl.DefaultMeasurementFormat.Append(nil, out.Peer, address[i], fallback, out.Measurement))
				in := out
				in.Group, in.Peer = out.Peer == [6]byte{}, address[i]
				ends[1-i].Receive(in, now+20_000, headroom.Moment{Now: now + 30_000})
			}
		}
	}
	return frames
}

// Another implementation reads every frame that measures headroom as a MAC Control frame that is whole, with an opcode
// that it does not know, and nothing else to complain of. Those of the fallback it does not complain of at all.
func TestReadsMeasurementFrames(t *testing.T) {
	for _, fallback := range []bool{false, true} {
		frames := measuring(fallback)
		for operation := macctl.MeasureRequest; operation <= macctl.MeasureStream; operation++ {
			assert.True(t, len(frames[operation]) != 0, "no frame of operation %d", operation)
			for i, l := range Decode(t, frames[operation], append(Complaints, "eth.type", "eth.dst", "frame.len",
				"macc.opcode")...) {
				complaints := append(l[Complaints[0]], l[Complaints[1]]...)
				if fallback {
					assert.True(t, len(complaints) == 0 && First(l, "eth.type") == "0x88b5",
						"operation %d, fallback: %v", operation, l)
					continue
				}
				if len(complaints) != 1 || !strings.Contains(complaints[0], "opcode") ||
					First(l, "macc.opcode") != "0xfffe" || First(l, "frame.len") != "60" {
					t.Errorf("operation %d, frame %d: %v", operation, i, l)
				}
			}
		}
	}
}

// Another implementation has nothing to say against the other frames of our own: loop probes, and echoes of each way,
// shortest and longest, with a tag and without. Of those that are MAC Control frames it does not know the opcode.
func TestReadsProbesAndEchoes(t *testing.T) {
	source := [6]byte{2, 0, 0, 0, 0, 1}
	frames := [][]byte{bridge.AppendProbe(nil, 0x020000000001,
		bridge.Probe{Identity: [8]byte{1, 2}, Port: 3, Sequence: 4})}
	var control []bool
	control = append(control, false)
	for way := range macctl.NumPaths {
		for _, octets := range []int{macctl.FrameSize, 1518} {
			for _, answer := range []bool{false, true} {
				control = append(control, way == macctl.PathControl)
				frames = append(frames, macctl.DefaultMeasurementFormat.AppendEcho(nil, [6]byte{2, 0, 0, 0, 0, 2},
					source, way, octets, way == macctl.PathBridged, 3<<13,
					macctl.Echo{Answer: answer, Session: 7, Sequence: 8, Octets: octets, Path: way}))
			}
		}
	}
	read := Decode(t, frames, append(Complaints, "eth.type", "vlan.priority")...)
	assert.MustEqual(t, len(read), len(frames), "frames read")
	for i, l := range read {
		complaints := append(l[Complaints[0]], l[Complaints[1]]...)
		if control[i] && len(complaints) == 1 && strings.Contains(complaints[0], "opcode") {
			continue
		}
		assert.True(t, len(complaints) == 0 && !control[i], "frame %d: %v\n%x", i, l, frames[i])
	}
}
