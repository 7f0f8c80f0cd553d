package traffic

import "pfcswitch/dataplane/frame"

// length returns the octets of the frame of a flow that has a sequence number.
func (f *Flow) length(sequence uint64) int {
	if f.Every > 0 && (sequence+1)%uint64(f.Every) == 0 {
		return f.Large
	}
	return f.Octets
}

// longest returns the octets of the flow's longest frame.
func (f *Flow) longest() int { return max(f.Octets, f.Large) }

// wire returns what the frame with a sequence number takes of the link, in octets.
func (f *Flow) wire(sequence uint64) int64 { return int64(frame.WireOctets(f.length(sequence))) }

// overtaking measures by how many octets a frame was overtaken: those of later frames of its flow that came before it.
type overtaking struct {
	lengths [overtakingWindow]uint16 // of the frames that came, by sequence number
	most    uint64
}

// overtakingWindow is how far back, in frames, one is still measured that comes late.
const overtakingWindow = 4096

// see takes note of a frame with FCS that the tracker has not taken yet.
func (o *overtaking) see(t *tracker, sequence uint64, octets int) {
	if sequence < t.next && t.next-sequence <= overtakingWindow && !t.has(sequence) {
		var sum uint64
		for n := sequence + 1; n < t.next; n++ {
			if t.has(n) {
				sum += uint64(o.lengths[n%overtakingWindow])
			}
		}
		o.most = max(o.most, sum)
	}
	o.lengths[sequence%overtakingWindow] = uint16(min(octets, 0xFFFF))
}
