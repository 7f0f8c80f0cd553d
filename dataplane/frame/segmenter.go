package frame

import "encoding/binary"

// MaxSegments is the largest number of frames that one GSO frame may become. Linux cuts TCP at no less than 8 payload
// octets (TCP_MIN_SND_MSS 48 with 40 octets of options), which gives 8192 for the longest packet. A smaller gso_size, which
// only a raw socket can write, would turn one frame into up to 65,495.
const MaxSegments = 8192

// Refusal says why a GSO frame cannot be cut. Such a frame is malformed and dropped.
type Refusal uint8

// Reasons to refuse a GSO frame.
const (
	NotRefused    Refusal = iota
	RefusedType           // no GSO frame, a UDP datagram to be fragmented (UFO), or a type unknown
	RefusedHeader         // the headers are not those of the type, truncated, fragmented, or not where the VnetHeader says
	RefusedTunnel         // the segments are inside of a tunnel that cannot be cut
	RefusedSize           // gso_size is 0, or there would be more than MaxSegments frames
)

// String returns the reason in the words of an event.
func (r Refusal) String() string {
	switch r {
	case NotRefused:
		return "not refused"
	case RefusedType:
		return "segmentation type not supported"
	case RefusedHeader:
		return "headers do not fit the segmentation type"
	case RefusedTunnel:
		return "segmentation inside of an unknown tunnel (at the sender, switch its tunnel's segmentation offload off)"
	case RefusedSize:
		return "segment size out of range"
	}
	return "unknown"
}

// TCP flags that do not belong to every segment.
const (
	tcpFIN uint8 = 0x01
	tcpPSH uint8 = 0x08
	tcpCWR uint8 = 0x80
)

// Segmenter cuts a GSO frame (GSO, GRO) into the frames that a network card would have put on the wire, one at a time and
// each complete with its checksums, so that the caller may stop where its buffer ends and go on later. The zero value is
// ready for Reset; a Segmenter is used again for the next GSO frame.
type Segmenter struct {
	super    []byte  // borrowed from Reset on until Next has returned the last frame
	inner    ipLayer // the packet that is cut
	outer    ipLayer // the packet around it, if it is in a tunnel
	tunnel   bool
	cwrFirst bool // CWR belongs to the first segment only
	size     int  // payload octets of a segment
	segments int  // number of segments
	next     int  // the one that Next returns next, from 0
}

// Reset starts on super, whose virtio header is v and whose tag, if it has one, stands in the frame. The Segmenter reads super
// until Next has returned the last frame. Of a GSO frame that is refused there is nothing to cut: Next returns 0.
func (c *Segmenter) Reset(super []byte, v VnetHeader) Refusal {
	*c = Segmenter{super: super}
	refusal := c.locate(v)
	if refusal == NotRefused {
		refusal = c.count(v)
	}
	if refusal != NotRefused {
		*c = Segmenter{}
	}
	return refusal
}

// locate finds the packet to cut and holds it against the virtio header.
func (c *Segmenter) locate(v VnetHeader) Refusal {
	known, protocol := gsoProtocol(v.GSOType)
	if !known {
		return RefusedType
	}
	l, ok := locate(c.super)
	if !ok || int(v.HdrLen) > len(c.super) {
		return RefusedHeader
	}
	if c.tunnel = v.NeedsCsum() && l.tunnels(int(v.CsumStart)); c.tunnel {
		c.outer = l
		if !c.outer.seedTunnel(c.super) {
			return RefusedTunnel
		}
		if l, ok = locateInner(c.super, c.outer, int(v.CsumStart)); !ok {
			return RefusedTunnel
		}
	}
	c.inner = l
	if l.protocol != protocol || !c.inner.locatePayload(c.super) || !c.inner.fits(v) {
		return RefusedHeader
	}
	return NotRefused
}

// fits reports whether the header that was found is the one that v means.
func (l *ipLayer) fits(v VnetHeader) bool {
	switch v.GSOType &^ GSOECN {
	case GSOTCPv4:
		if !l.ipv4 {
			return false
		}
	case GSOTCPv6:
		if l.ipv4 {
			return false
		}
	}
	if !v.NeedsCsum() {
		return !l.routed // nothing shows the address of the pseudo header
	}
	return int(v.CsumStart) == l.transport && int(v.CsumOffset) == l.checksum()
}

func gsoProtocol(gsoType uint8) (known bool, protocol uint8) {
	switch gsoType {
	case GSOTCPv4, GSOTCPv6, GSOTCPv4 | GSOECN, GSOTCPv6 | GSOECN:
		return true, protocolTCP
	case GSOUDPL4:
		return true, protocolUDP
	}
	return false, 0
}

// count finds the number of segments and what their checksums have in common.
func (c *Segmenter) count(v VnetHeader) Refusal {
	payload, size := c.inner.end-c.inner.payload, int(v.GSOSize)
	if size == 0 || payload > size*MaxSegments {
		return RefusedSize
	}
	c.size, c.segments = size, max(1, (payload+size-1)/size)
	// Without the flag CWR is part of the counter of accurate ECN, which each segment repeats (RFC 9768 clause 3.2.2).
	c.cwrFirst = v.GSOType&GSOECN != 0
	if v.NeedsCsum() {
		c.inner.seedPartial(c.super)
	} else {
		c.inner.seedComplete(c.super)
	}
	return NotRefused
}

// Segments returns the number of frames that the GSO frame becomes, those already cut included; 0 after a refusal.
func (c *Segmenter) Segments() int { return c.segments }

// Left returns how many of them Next has not returned yet.
func (c *Segmenter) Left() int { return c.segments - c.next }

// Skip passes over the next n frames, as many Next calls would, without making them.
func (c *Segmenter) Skip(n int) { c.next += min(max(n, 0), c.Left()) }

// MaxOctets returns the length of the longest frame to come out: that of all but the last. It is to be held against the MTU,
// since the sender chose the size of the segments.
func (c *Segmenter) MaxOctets() int {
	return c.inner.payload + min(c.size, c.inner.end-c.inner.payload)
}

// Next writes the next frame to dst, which does not overlap the GSO frame, and returns its length. It returns 0 when there
// is none left, and when dst is too short (MaxOctets always suffices), which leaves the frame for the next call. What it
// wrote needs no virtio header.
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
	copy(dst, c.super[:headers])
	copy(dst[headers:], c.super[from:from+n])
	c.inner.writeNetwork(dst, c.next)
	if c.inner.protocol == protocolTCP {
		c.writeTCP(dst[c.inner.transport:])
	} else {
		c.inner.writeUDP(dst)
	}
	if c.tunnel {
		c.outer.writeNetwork(dst, c.next)
		if c.outer.protocol == protocolUDP {
			c.outer.writeUDP(dst) // last: its checksum covers all the others
		}
	}
	c.next++
	return len(dst)
}

// writeTCP makes the TCP header at the start of p right for the segment.
func (c *Segmenter) writeTCP(p []byte) {
	sequence := binary.BigEndian.Uint32(p[tcpSequenceOffset:])
	binary.BigEndian.PutUint32(p[tcpSequenceOffset:], sequence+uint32(c.next*c.size))
	p[tcpFlagsOffset] &^= c.clearFlags()
	binary.BigEndian.PutUint16(p[tcpChecksumOffset:], 0)
	binary.BigEndian.PutUint16(p[tcpChecksumOffset:], ^Sum(p, add(c.inner.constant, uint16(len(p)))))
}

// clearFlags returns the flags that the segment must not have: what ends the stream or asks to deliver belongs to the last,
// what answers a congestion mark to the first.
func (c *Segmenter) clearFlags() (flags uint8) {
	if c.next < c.segments-1 {
		flags = tcpFIN | tcpPSH
	}
	if c.next > 0 && c.cwrFirst {
		flags |= tcpCWR
	}
	return flags
}

// writeNetwork makes the IP header in the segment b, the index-th, right: its length, identification and checksum.
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

// writeUDP makes the UDP header in the segment b right: its length and, if it has one, its checksum.
func (l *ipLayer) writeUDP(b []byte) {
	p := b[l.transport:]
	binary.BigEndian.PutUint16(p[udpLengthOffset:], uint16(len(p)))
	if l.noSum {
		return
	}
	binary.BigEndian.PutUint16(p[udpChecksumOffset:], 0)
	binary.BigEndian.PutUint16(p[udpChecksumOffset:], nonZero(^Sum(p, add(l.constant, uint16(len(p))))))
}
