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
	for {
		block, err = nextBlock(r, block[:0])
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		t.count(block)
		if _, err := dst.Write(block); err != nil {
			return t, err
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

func (t *Tally) count(block []byte) {
	if binary.NativeEndian.Uint32(block) != blockPacket || len(block) < blockHeader+20+4 {
		return
	}
	t.Frames++
	body := block[blockHeader : len(block)-4]
	captured := int(binary.NativeEndian.Uint32(body[12:]))
	if captured > len(body)-20 {
		return
	}
	options := body[20:]
	options = options[min((captured+3)&^3, len(options)):]
	for len(options) >= 4 {
		code, n := binary.NativeEndian.Uint16(options), int(binary.NativeEndian.Uint16(options[2:]))
		if n > len(options)-4 {
			return
		}
		if code == optionDropCount && n == 8 {
			t.Missing += binary.NativeEndian.Uint64(options[4:])
		}
		options = options[min(4+(n+3)&^3, len(options)):]
	}
}
