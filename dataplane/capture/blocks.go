package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxBlock is longer than every block of a Stream.
const maxBlock = 1 << 20

// A Tally is what Copy has copied.
type Tally struct {
	Frames  uint64
	Missing uint64 // wanted frames that are not in the file
}

// Copy copies a file from a Stream in whole blocks, so that the copy can be read even if src ends early. An early end
// is an error (io.ErrUnexpectedEOF).
func Copy(dst io.Writer, src io.Reader) (t Tally, err error) {
	r := bufio.NewReaderSize(src, 64<<10)
	block := make([]byte, 0, 4096)
	var c count
	for {
		block, err = nextBlock(r, block[:0])
		if errors.Is(err, io.EOF) {
			return c.Tally, nil
		}
		if err != nil {
			return c.Tally, err
		}
		c.add(block)
		if _, err := dst.Write(block); err != nil {
			return c.Tally, err
		}
	}
}

// nextBlock reads a block. The error is io.EOF if src ends before it.
func nextBlock(r io.Reader, b []byte) ([]byte, error) {
	b = append(b, make([]byte, blockHeader)...)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	n := binary.NativeEndian.Uint32(b[4:])
	if n < minBlock || n > maxBlock || n%4 != 0 {
		return nil, fmt.Errorf("a block of %d octets: this is no capture of a switch of this version", n)
	}
	b = append(b, make([]byte, n-blockHeader)...)
	if _, err := io.ReadFull(r, b[blockHeader:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}

// A count is the Tally of blocks with its two sources for missing frames.
type count struct {
	Tally
	inPackets uint64 // missing frames according to packet blocks
	atEnd     uint64 // missing frames according to the statistics at the end, which include those after the last packet
}

func (c *count) add(block []byte) {
	body := block[blockHeader : len(block)-4]
	switch binary.NativeEndian.Uint32(block) {
	case blockPacket:
		if len(body) < 20 {
			return
		}
		c.Frames++
		captured := uint64(binary.NativeEndian.Uint32(body[12:]))
		options := min(20+(captured+3)&^3, uint64(len(body)))
		c.inPackets += number(body[options:], optionDropCount)
	case blockStatistics:
		options := body[min(12, len(body)):]
		c.atEnd += number(options, optionIfDropped) + number(options, optionOSDropped)
	}
	c.Missing = max(c.inPackets, c.atEnd)
}

// number returns the value of an option of eight octets, or 0 if it is absent.
func number(options []byte, wanted uint16) uint64 {
	for len(options) >= 4 {
		code, n := binary.NativeEndian.Uint16(options), int(binary.NativeEndian.Uint16(options[2:]))
		if n > len(options)-4 {
			return 0
		}
		if code == wanted && n == 8 {
			return binary.NativeEndian.Uint64(options[4:])
		}
		options = options[min(4+(n+3)&^3, len(options)):]
	}
	return 0
}
