package frame

// Octets of a frame on the wire that are not octets of the frame in memory.
const (
	FCSOctets  = 4
	GapOctets  = 8 + 12 // preamble with start delimiter, and the minimum gap (802.3 clauses 3.1.1 and 4.4.2)
	WireExtras = FCSOctets + GapOctets
)

// WireOctets returns what a frame of n octets takes of a link: n + 24. It is what shaper, meters and headroom count.
// A frame shorter than 60 octets, which only a virtual link carries unpadded, counts as it is: the rule is the same for all
// frames, and what a port sends equals what its counters show.
func WireOctets(n int) int { return n + WireExtras }
