// Package frame reads and rewrites Ethernet frames where they lie: every function works on the octets of a ring slot or of
// the packet buffer, allocates nothing and never reads beyond the slice, whatever a peer has sent. Only a Segmenter has state.
//
// In the order in which a frame meets them:
//
//	vnet.go       the header in front of a frame in an AF_PACKET ring: what of checksum and segmentation is still to do
//	tag.go        the 802.1Q tag, which the kernel moved into metadata, goes back into the frame; and out of it
//	ethernet.go   Parse: addresses, tag and EtherType as a value, once per frame
//	superframe.go where the headers of a TCP or UDP GSO frame lie, or why it is refused
//	tunnel.go     the packet that lies inside of another one
//	segmenter.go     a GSO frame becomes frames of MTU size, one Next at a time
//	dsfield.go    DSCP for classification, the CE mark of ECN
//	checksum.go   the internet checksum, and the end of one that the sender left unfinished
//	wire.go       octets on the wire
//
// Sizes and offsets are octets. A frame starts at its destination address and ends before the FCS, which no raw socket shows.
// Addresses are uint64 with the first octet in bits 47–40, so that they compare and hash as integers.
package frame
