package explain

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// maxFrame is the longest frame that is read.
const maxFrame = port.MaxFrame + frame.TagOctets

// ReadHex reads at most most frames: hexadecimal digits, a frame a line; blanks and colons between digits, empty lines and
// lines that begin with # do not count.
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
			return nil, fmt.Errorf("line %d: %w: write the octets of one frame, from the destination address on, as hexadecimal digits", number, err)
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
