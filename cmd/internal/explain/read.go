package explain

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

const maxFrame = port.MaxFrame + frame.TagOctets

// betweenOctets removes what may stand between digits.
var betweenOctets = strings.NewReplacer(" ", "", "\t", "", ":", "")

// ReadHex reads at most most frames, one a line, as hexadecimal digits. It ignores blanks and colons between digits,
// empty lines and lines that begin with #.
func ReadHex(r io.Reader, most int) ([][]byte, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), 4*maxFrame)
	var frames [][]byte
	for number := 1; len(frames) < most && lines.Scan(); number++ {
		text := betweenOctets.Replace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		b, err := hex.DecodeString(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w: write the octets of one frame, from the destination address on, as "+
				"hexadecimal digits", number, err)
		case len(b) > maxFrame:
			return nil, fmt.Errorf("line %d: a frame of %d octets: at most %d are possible", number, len(b), maxFrame)
		}
		frames = append(frames, b)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read frames: %w", err)
	}
	return frames, nil
}

// Numbers of the two formats (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).
const (
	pcapMicro, pcapNano = 0xA1B2C3D4, 0xA1B23C4D
	pcapHead            = 20 // octets of the file header behind its magic number
	pcapRecord          = 16 // octets before each frame
	linkEthernet        = 1

	optionResolution = 9 // if_tsresol of an interface

	blockSection  = 0x0A0D0D0A
	blockLink     = 1
	blockSimple   = 3
	blockEnhanced = 6
	byteOrder     = 0x1A2B3C4D
	maxBlock      = maxFrame + 1<<16 // with its options
)

// MaxCaptured bounds the octets of the frames of a capture: in a small file all may have been captured in part.
const MaxCaptured = 64 << 20

// ErrNotCapture is wrapped by the errors of ReadCapture and of a Capture: the file
//   - is neither pcap nor pcapng,
//   - holds frames of another link layer than Ethernet,
//   - ends within a frame, or holds a longer one than any port carries.
var ErrNotCapture = errors.New("not a capture of Ethernet frames")

// ReadCapture reads at most most frames of a pcap or pcapng file, as a Capture does. More than MaxCaptured octets are
// an error.
func ReadCapture(r io.Reader, most int) (frames [][]byte, err error) {
	c, err := NewCapture(r)
	if err != nil {
		return nil, err
	}
	for left := MaxCaptured; len(frames) < most; {
		b, _, err := c.Next()
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return nil, err
		}
		if left -= len(b); left < 0 {
			return nil, fmt.Errorf("frames of more than %d bytes: cut the file (editcap -r)", MaxCaptured)
		}
		frames = append(frames, bytes.Clone(b))
	}
	return frames, nil
}

// A Capture reads the frames of a pcap or pcapng file one after the other. A frame that was captured in part has its
// own length, with zeros for the rest. The file does not tell which were GSO frames.
type Capture struct {
	in     *bufio.Reader
	order  binary.ByteOrder
	ng     bool  // pcapng
	tick   int64 // ns that a time counts in, of a pcap file
	links  []link
	number int    // of the frame, or block, that is read
	buf    []byte // has the last frame
	at     int64
}

// A link is an interface of a section of a pcapng file.
type link struct {
	kind       uint16
	resolution uint8 // of its times, if_tsresol
}

// NewCapture begins to read a file.
func NewCapture(r io.Reader) (*Capture, error) {
	c := &Capture{in: bufio.NewReaderSize(r, 64<<10), order: binary.LittleEndian, buf: make([]byte, 0, 2048)}
	magic, err := c.in.Peek(4)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotCapture, err)
	}
	if c.ng = binary.BigEndian.Uint32(magic) == blockSection; c.ng {
		return c, nil
	}
	for _, c.order = range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if n := c.order.Uint32(magic); n == pcapMicro || n == pcapNano {
			if c.tick = 1; n == pcapMicro {
				c.tick = 1000
			}
			return c, c.readHead()
		}
	}
	return nil, fmt.Errorf("%w: it begins with % x", ErrNotCapture, magic)
}

func (c *Capture) readHead() error {
	var head [4 + pcapHead]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrNotCapture, err)
	}
	if link := c.order.Uint32(head[20:]) & 0x0FFFFFFF; link != linkEthernet {
		return fmt.Errorf("%w: link type %d", ErrNotCapture, link)
	}
	return nil
}

// Next returns the next frame, which is the caller's until the next call, and its time in ns since 1970; behind the
// last one io.EOF. A frame without a time has that of the one before.
func (c *Capture) Next() (frame []byte, at int64, err error) {
	read, unit := c.nextRecord, "frame"
	if c.ng {
		read, unit = c.nextBlock, "block"
	}
	for frame == nil && err == nil {
		c.number++
		frame, err = read()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %s %d: %w", ErrNotCapture, unit, c.number, err)
	}
	return frame, c.at, err
}

// nextRecord reads a record of a pcap file.
func (c *Capture) nextRecord() ([]byte, error) {
	var record [pcapRecord]byte
	if _, err := io.ReadFull(c.in, record[:]); err != nil {
		return nil, err
	}
	c.at = int64(c.order.Uint32(record[:]))*1e9 + int64(c.order.Uint32(record[4:]))*c.tick
	if err := c.read(c.order.Uint32(record[8:]), maxFrame); err != nil {
		return nil, err
	}
	return c.extend(c.buf, c.order.Uint32(record[12:]))
}

// read fills the buffer with octets of the file.
func (c *Capture) read(n uint32, most uint32) error {
	if n > most {
		return fmt.Errorf("%d octets, more than %d", n, most)
	}
	c.buf = append(c.buf[:0], make([]byte, n)...)
	_, err := io.ReadFull(c.in, c.buf)
	return within(err)
}

// within is the error of an end within a record.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// extend gives a captured frame, which is in the buffer, its original length.
func (c *Capture) extend(b []byte, original uint32) ([]byte, error) {
	if original > maxFrame {
		return nil, fmt.Errorf("a frame of %d octets, more than %d", original, maxFrame)
	}
	c.buf = append(c.buf[:0], b...)
	c.buf = append(c.buf, make([]byte, max(0, int(original)-len(b)))...)
	return c.buf, nil
}

// nextBlock reads a block of a pcapng file. It returns nil where that has no frame.
func (c *Capture) nextBlock() ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(c.in, head[:8]); err != nil {
		return nil, err
	}
	rest := 8
	if binary.BigEndian.Uint32(head[:]) == blockSection {
		if _, err := io.ReadFull(c.in, head[8:]); err != nil {
			return nil, within(err)
		}
		c.order, c.links, rest = orderOf(head[8:]), nil, 12
	}
	length := c.order.Uint32(head[4:])
	if length < uint32(rest)+4 || length%4 != 0 {
		return nil, fmt.Errorf("a length of %d", length)
	}
	if err := c.read(length-uint32(rest), maxBlock); err != nil {
		return nil, err
	}
	b, kind := c.buf[:len(c.buf)-4], c.order.Uint32(head[:]) // behind them is the length again
	if kind == blockLink && len(b) >= 2 && len(c.links) < maxBlock {
		c.links = append(c.links, link{c.order.Uint16(b), resolutionOf(c.order, b[min(8, len(b)):])})
	}
	return c.packetOf(kind, b)
}

func orderOf(b []byte) binary.ByteOrder {
	if binary.BigEndian.Uint32(b) == byteOrder {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// resolutionOf reads the option if_tsresol of an interface; without it times are microseconds.
func resolutionOf(order binary.ByteOrder, options []byte) uint8 {
	for len(options) > 4 {
		code, n := order.Uint16(options), int(order.Uint16(options[2:]))
		if options = options[4:]; code == optionResolution && n == 1 {
			return options[0]
		}
		options = options[min(len(options), (n+3)&^3):]
	}
	return 6
}

// nsOf returns the ns of a time in units of a negative power of ten, or of two where the highest bit is set.
func nsOf(t uint64, resolution uint8) int64 {
	n := int(resolution & 0x7f)
	if resolution >= 0x80 {
		t >>= max(0, n-32)
		n = min(n, 32)
		return int64(t>>n)*1e9 + int64(t&(1<<n-1)*1e9>>n)
	}
	for ; n < 9; n++ {
		t *= 10
	}
	for ; n > 9; n-- {
		t /= 10
	}
	return int64(t)
}

func (c *Capture) packetOf(kind uint32, b []byte) (frame []byte, err error) {
	link, at, n, original := uint32(0), 4, uint32(0), uint32(0)
	switch {
	case kind == blockEnhanced && len(b) >= 20:
		link, at, n, original = c.order.Uint32(b), 20, c.order.Uint32(b[12:]), c.order.Uint32(b[16:])
	case kind == blockSimple && len(b) >= 4:
		original = c.order.Uint32(b)
		n = min(original, uint32(len(b)-4)) // cut at the snap length, which padding hides
	case kind == blockEnhanced, kind == blockSimple:
		return nil, io.ErrUnexpectedEOF
	default:
		return nil, nil
	}
	switch {
	case link >= uint32(len(c.links)):
		return nil, fmt.Errorf("interface %d, which the file does not describe", link)
	case c.links[link].kind != linkEthernet:
		return nil, fmt.Errorf("link type %d", c.links[link].kind)
	case n > uint32(len(b)-at), n > maxFrame:
		return nil, fmt.Errorf("a frame of %d octets", n)
	}
	if kind == blockEnhanced {
		c.at = nsOf(uint64(c.order.Uint32(b[4:]))<<32|uint64(c.order.Uint32(b[8:])), c.links[link].resolution)
	}
	return c.extend(b[at:at+int(n)], original)
}
