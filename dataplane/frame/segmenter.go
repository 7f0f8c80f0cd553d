package frame

import "encoding/binary"

// MaxSegments is the largest number of frames from one GSO frame. Linux segments TCP at no less than 8 payload octets
// (TCP_MIN_SND_MSS 48 with 40 octets of options), which gives 8192 for the longest packet. Only a raw socket can write
// a smaller gso_size, which would turn one frame into up to 65,495.
const MaxSegments = 8192

// Refusal is the reason why a GSO frame cannot be segmented. Such a frame is malformed and dropped.
type Refusal uint8

// Reasons to refuse a GSO frame.
const (
	NotRefused  Refusal = iota
	RefusedType         // no GSO frame, a UDP datagram to be fragmented (UFO), or a type unknown
	// the headers are not those of the type, truncated, fragmented, or not where the VnetHeader says
	RefusedHeader
	RefusedTunnel // the segments are inside of a tunnel that cannot be cut
	RefusedSize   // gso_size is 0, or there would be more than MaxSegments frames
)

// String returns the reason in the words of an event.
func (r Refusal) String() string {
	if int(r) < len(refusals) {
		return refusals[r]
	}
	return "unknown"
}

var refusals = [...]string{
	NotRefused:    "not refused",
	RefusedType:   "segmentation type not supported",
	RefusedHeader: "headers do not fit the segmentation type",
	RefusedTunnel: "segmentation inside of an unknown tunnel (at the sender, switch its tunnel's segmentation " +
		"offload off)",
	RefusedSize: "segment size out of range",
}

// TCP flags that do not belong to every segment.
const (
	tcpFIN uint8 = 0x01
	tcpPSH uint8 = 0x08
	tcpCWR uint8 = 0x80
)

// Segmenter segments a GSO frame (GSO, GRO) into the frames that a network card would have put on the wire. It makes
// one frame at a time, complete with checksums, so that the caller may stop when its buffer is full and continue
// later. The zero value is ready for Reset. A Segmenter is reused for the next GSO frame.
type Segmenter struct {
	frame    []byte  // the GSO frame, borrowed from Reset until Next has returned the last frame
	inner    ipLayer // the packet that is cut
	outer    ipLayer // the packet around it, if it is in a tunnel
	tunnel   bool
	cwrFirst bool // CWR belongs to the first segment only
	size     int  // payload octets of a segment
	segments int  // number of segments
	next     int  // index of the segment that Next returns next
}

// Reset starts on a GSO frame whose virtio header is v. A tag stands in the frame. The Segmenter reads b until
// Next has returned the last frame. After a refusal Next returns 0.
func (c *Segmenter) Reset(b []byte, v VnetHeader) Refusal {
	*c = Segmenter{frame: b}
	refusal := c.locate(v)
	if refusal == NotRefused {
		refusal = c.count(v)
	}
	if refusal != NotRefused {
		*c = Segmenter{}
	}
	return refusal
}

// locate finds the packet to segment and checks it against the virtio header.
func (c *Segmenter) locate(v VnetHeader) Refusal {
	switch v.GSOType {
	case GSOTCPv4, GSOTCPv6, GSOTCPv4 | GSOECN, GSOTCPv6 | GSOECN, GSOUDPL4:
	default:
		return RefusedType
	}
	l, ok := locate(c.frame)
	if !ok || int(v.HdrLen) > len(c.frame) {
		return RefusedHeader
	}
	if c.tunnel = v.NeedsCsum() && l.tunnels(int(v.CsumStart)); c.tunnel {
		c.outer = l
		if !c.outer.seedTunnel(c.frame) {
			return RefusedTunnel
		}
		if l, ok = locateInner(c.frame, c.outer, int(v.CsumStart)); !ok {
			return RefusedTunnel
		}
	}
	c.inner = l
	if !c.inner.locatePayload(c.frame) || !c.inner.fits(v) {
		return RefusedHeader
	}
	return NotRefused
}

// fits reports whether v describes the header that was found.
func (l *ipLayer) fits(v VnetHeader) bool {
	udp := v.GSOType == GSOUDPL4
	if udp != (l.protocol == protocolUDP) || !udp && l.ipv4 != (v.GSOType&^GSOECN == GSOTCPv4) {
		return false
	}
	if !v.NeedsCsum() {
		return !l.routed // the address of the pseudo header is not known
	}
	return int(v.CsumStart) == l.transport && int(v.CsumOffset) == l.checksum()
}

// count finds the number of segments and the part that their checksums have in common.
func (c *Segmenter) count(v VnetHeader) Refusal {
	payload, size := c.inner.end-c.inner.payload, int(v.GSOSize)
	if size == 0 || payload > size*MaxSegments {
		return RefusedSize
	}
	c.size, c.segments = size, max(1, (payload+size-1)/size)
	// Without the flag CWR is part of the counter of accurate ECN, which each segment repeats (RFC 9768 clause 3.2.2).
	c.cwrFirst = v.GSOType&GSOECN != 0
	if v.NeedsCsum() {
		c.inner.seedPartial(c.frame)
	} else {
		c.inner.seedComplete(c.frame)
	}
	return NotRefused
}

// Left returns how many frames Next has yet to return.
func (c *Segmenter) Left() int { return c.segments - c.next }

// Skip skips the next n frames without making them.
func (c *Segmenter) Skip(n int) { c.next += min(max(n, 0), c.Left()) }

// MaxOctets returns the length of the longest frame, that is of all frames but the last. The caller checks it against
// the MTU, since the sender chose the size of the segments.
func (c *Segmenter) MaxOctets() int {
	return c.inner.payload + min(c.size, c.inner.end-c.inner.payload)
}

// Next writes the next frame to dst, which does not overlap the GSO frame, and returns its length. The frame needs no
// virtio header. Next returns 0 if no frame is left. It also returns 0 if dst is too short (MaxOctets always suffices);
// the next call then returns the same frame.
func (c *Segmenter) Next(dst []byte) int {
	if c.next == c.segments {
		return 0
	}
	headers := c.inner.payload
	from := headers + c.next*c.size
	n := min(c.size, c.inner.end-from)
	if len(dst) < headers+n {
		return 0
	}
	dst = dst[:headers+n]
	copy(dst, c.frame[:headers])
	copy(dst[headers:], c.frame[from:from+n])
	c.inner.writeNetwork(dst, c.next)
	if c.inner.protocol == protocolTCP {
		c.writeTCP(dst[c.inner.transport:])
	} else {
		c.inner.writeUDP(dst)
	}
	if c.tunnel {
		c.outer.writeNetwork(dst, c.next)
		if c.outer.protocol == protocolUDP {
			c.outer.writeUDP(dst) // last, since the outer checksum covers all the others
		}
	}
	c.next++
	return len(dst)
}

// writeTCP sets the sequence number, flags and checksum of the TCP header at the start of p.
func (c *Segmenter) writeTCP(p []byte) {
	sequence := binary.BigEndian.Uint32(p[tcpSequenceOffset:])
	binary.BigEndian.PutUint32(p[tcpSequenceOffset:], sequence+uint32(c.next*c.size))
	p[tcpFlagsOffset] &^= c.clearFlags()
	binary.BigEndian.PutUint16(p[tcpChecksumOffset:], 0)
	binary.BigEndian.PutUint16(p[tcpChecksumOffset:], ^Sum(p, add(c.inner.constant, uint16(len(p)))))
}

// clearFlags returns the flags that the segment must not have. Flags that end the stream or ask to deliver belong to
// the last segment, the answer to a congestion mark to the first.
func (c *Segmenter) clearFlags() (flags uint8) {
	if c.next < c.segments-1 {
		flags = tcpFIN | tcpPSH
	}
	if c.next > 0 && c.cwrFirst {
		flags |= tcpCWR
	}
	return flags
}

// writeNetwork sets the length, identification and checksum of the IP header in segment b, the index-th.
func (l *ipLayer) writeNetwork(b []byte, index int) {
	p := b[l.network:]
	if !l.ipv4 {
		binary.BigEndian.PutUint16(p[ipv6LengthOffset:], uint16(len(p)-ipv6Octets))
		return
	}
	binary.BigEndian.PutUint16(p[ipv4LengthOffset:], uint16(len(p)))
	id := binary.BigEndian.Uint16(p[ipv4IDOffset:])
	binary.BigEndian.PutUint16(p[ipv4IDOffset:], id+uint16(index))
	binary.BigEndian.PutUint16(p[ipv4ChecksumOffset:], 0)
	binary.BigEndian.PutUint16(p[ipv4ChecksumOffset:], ^Sum(p[:l.transport-l.network], 0))
}

// writeUDP sets the length and, if there is one, the checksum of the UDP header in segment b.
func (l *ipLayer) writeUDP(b []byte) {
	p := b[l.transport:]
	binary.BigEndian.PutUint16(p[udpLengthOffset:], uint16(len(p)))
	if l.noSum {
		return
	}
	binary.BigEndian.PutUint16(p[udpChecksumOffset:], 0)
	binary.BigEndian.PutUint16(p[udpChecksumOffset:], nonZero(^Sum(p, add(l.constant, uint16(len(p))))))
}
