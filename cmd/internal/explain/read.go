package explain

import (
	"bufio"
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

// ReadHex reads at most most frames, one a line, as hexadecimal digits. It ignores blanks and colons between digits,
// empty lines and lines that begin with #.
func ReadHex(r io.Reader, most int) ([][]byte, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), 4*maxFrame)
	var frames [][]byte
	for number := 1; len(frames) < most && lines.Scan(); number++ {
		text := strings.NewReplacer(" ", "", "\t", "", ":", "").Replace(lines.Text())
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

	blockSection  = 0x0A0D0D0A
	blockLink     = 1
	blockSimple   = 3
	blockEnhanced = 6
	byteOrder     = 0x1A2B3C4D
	maxBlock      = maxFrame + 1<<16 // with its options
)

// MaxCaptured bounds the octets of the frames of a capture: in a small file all may have been captured in part.
const MaxCaptured = 64 << 20

// keep adds a frame to those of a capture, of which left octets more may come.
func keep(frames [][]byte, b []byte, left *int) ([][]byte, error) {
	if *left -= len(b); *left < 0 {
		return nil, fmt.Errorf("frames of more than %d bytes: cut the file (editcap -r)", MaxCaptured)
	}
	return append(frames, b), nil
}

// ErrNotCapture is wrapped by the errors of ReadCapture: the file
//   - is neither pcap nor pcapng,
//   - holds frames of another link layer than Ethernet,
//   - ends within a frame, or holds a longer one than any port carries.
var ErrNotCapture = errors.New("not a capture of Ethernet frames")

// ReadCapture reads at most most frames of a pcap or pcapng file. A frame that was captured in part has its own length,
// with zeros for the rest. More than MaxCaptured are an error. The file does not tell which were GSO frames.
func ReadCapture(r io.Reader, most int) ([][]byte, error) {
	in := bufio.NewReader(r)
	magic, err := in.Peek(4)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotCapture, err)
	}
	if binary.BigEndian.Uint32(magic) == blockSection {
		return readNG(in, most)
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if n := order.Uint32(magic); n == pcapMicro || n == pcapNano {
			return readPcap(in, order, most)
		}
	}
	return nil, fmt.Errorf("%w: it begins with % x", ErrNotCapture, magic)
}

func readPcap(in *bufio.Reader, order binary.ByteOrder, most int) (frames [][]byte, err error) {
	var head [4 + pcapHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotCapture, err)
	}
	if link := order.Uint32(head[20:]) & 0x0FFFFFFF; link != linkEthernet {
		return nil, fmt.Errorf("%w: link type %d", ErrNotCapture, link)
	}
	left := MaxCaptured
	for len(frames) < most {
		var record [pcapRecord]byte
		if _, err := io.ReadFull(in, record[:]); errors.Is(err, io.EOF) {
			return frames, nil
		} else if err != nil {
			return nil, fmt.Errorf("%w: frame %d: %w", ErrNotCapture, len(frames)+1, err)
		}
		b, err := readOctets(in, order.Uint32(record[8:]), maxFrame)
		if err == nil {
			b, err = extend(b, order.Uint32(record[12:]))
		}
		if err != nil {
			return nil, fmt.Errorf("%w: frame %d: %w", ErrNotCapture, len(frames)+1, err)
		}
		if frames, err = keep(frames, b, &left); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

func readOctets(in *bufio.Reader, n uint32, most uint32) ([]byte, error) {
	if n > most {
		return nil, fmt.Errorf("%d octets, more than %d", n, most)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(in, b)
	return b, err
}

// extend gives a captured frame its original length.
func extend(b []byte, original uint32) ([]byte, error) {
	if original > maxFrame {
		return nil, fmt.Errorf("a frame of %d octets, more than %d", original, maxFrame)
	}
	return append(b, make([]byte, max(0, int(original)-len(b)))...), nil
}

func readNG(in *bufio.Reader, most int) (frames [][]byte, err error) {
	var order binary.ByteOrder = binary.LittleEndian
	var links []uint16 // of the section's interfaces
	left := MaxCaptured
	for block := 1; len(frames) < most; block++ {
		var head [12]byte
		if _, err := io.ReadFull(in, head[:8]); errors.Is(err, io.EOF) {
			return frames, nil
		} else if err != nil {
			return nil, fmt.Errorf("%w: block %d: %w", ErrNotCapture, block, err)
		}
		rest := 8
		if binary.BigEndian.Uint32(head[:]) == blockSection {
			if _, err := io.ReadFull(in, head[8:]); err != nil {
				return nil, fmt.Errorf("%w: block %d: %w", ErrNotCapture, block, err)
			}
			order, links, rest = orderOf(head[8:]), nil, 12
		}
		length := order.Uint32(head[4:])
		if length < uint32(rest)+4 || length%4 != 0 {
			return nil, fmt.Errorf("%w: block %d has a length of %d", ErrNotCapture, block, length)
		}
		b, err := readOctets(in, length-uint32(rest), maxBlock)
		if err != nil {
			return nil, fmt.Errorf("%w: block %d: %w", ErrNotCapture, block, err)
		}
		b = b[:len(b)-4] // the length again
		if order.Uint32(head[:]) == blockLink && len(b) >= 2 && len(links) < maxBlock {
			links = append(links, order.Uint16(b))
		}
		frame, ok, err := packetOf(order, order.Uint32(head[:]), b, links)
		if err != nil {
			return nil, fmt.Errorf("%w: block %d: %w", ErrNotCapture, block, err)
		}
		if ok {
			if frames, err = keep(frames, frame, &left); err != nil {
				return nil, err
			}
		}
	}
	return frames, nil
}

func orderOf(b []byte) binary.ByteOrder {
	if binary.BigEndian.Uint32(b) == byteOrder {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func packetOf(order binary.ByteOrder, kind uint32, b []byte, links []uint16) (frame []byte, ok bool, err error) {
	link, at, n, original := uint32(0), 4, uint32(0), uint32(0)
	switch {
	case kind == blockEnhanced && len(b) >= 20:
		link, at, n, original = order.Uint32(b), 20, order.Uint32(b[12:]), order.Uint32(b[16:])
	case kind == blockSimple && len(b) >= 4:
		original = order.Uint32(b)
		n = min(original, uint32(len(b)-4)) // cut at the snap length, which padding hides
	case kind == blockEnhanced, kind == blockSimple:
		return nil, false, io.ErrUnexpectedEOF
	default:
		return nil, false, nil
	}
	switch {
	case link >= uint32(len(links)):
		return nil, false, fmt.Errorf("interface %d, which the file does not describe", link)
	case links[link] != linkEthernet:
		return nil, false, fmt.Errorf("link type %d", links[link])
	case n > uint32(len(b)-at), n > maxFrame:
		return nil, false, fmt.Errorf("a frame of %d octets", n)
	}
	frame, err = extend(b[at:at+int(n)], original)
	return frame, err == nil, err
}
