// Package frame reads and rewrites Ethernet frames in place, in a ring slot or in the packet buffer. No function
// allocates or reads beyond the slice, whatever a peer has sent. Only a Segmenter has state.
//
// In the order in which a frame meets them:
//
//	vnet.go       the header in front of a frame in an AF_PACKET ring: the checksum and segmentation left to do
//	ethernet.go   Parse: addresses, tag and EtherType as a value, once per frame; the 802.1Q tag; octets on the wire
//	iplayer.go    where the headers of a TCP or UDP GSO frame lie, also inside of a tunnel, or why it is refused
//	flow.go       the number of its flow, and which of several ways a flow takes
//	segmenter.go  a GSO frame becomes frames of MTU size, one for each call of Next
//	dsfield.go    DSCP for classification, the CE mark of ECN
//	checksum.go   the internet checksum, and completing one that the sender left unfinished
//
// Sizes and offsets are octets. A frame starts at its destination address and ends before the FCS, which no raw socket
// shows. Addresses are uint64 with the first octet in bits 47–40, so that they compare and hash as integers.
package frame
