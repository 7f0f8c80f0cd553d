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

// A Tally is what has passed Copy.
type Tally struct {
	Frames  uint64
	Missing uint64 // frames that are not in the file although they were wanted
}

// Copy copies a file that a Stream makes, in whole blocks, so that it can be read also where src ends too early, which is
// an error (io.ErrUnexpectedEOF).
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

// nextBlock reads a block. The error is io.EOF where src ends before it.
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

// A count is the Tally of blocks, and what it is made of.
type count struct {
	Tally
	told  uint64 // missing frames that packets tell of
	ended uint64 // those of the statistics at the end, which know of frames behind the last packet too
}

// add counts a block.
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
		c.told += number(body[options:], optionDropCount)
	case blockStatistics:
		options := body[min(12, len(body)):]
		c.ended += number(options, optionIfDropped) + number(options, optionOSDropped)
	}
	c.Missing = max(c.told, c.ended)
}

// number returns the value of an option of eight octets, 0 where it is not there.
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
