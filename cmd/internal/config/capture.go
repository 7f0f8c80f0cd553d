package config

import (
	"errors"
	"path/filepath"
	"time"

	"pfcswitch/dataplane/capture"
)

// Capture configures captures: the memory of all captures, and the recorder of the last seconds, which is written to a
// file when a lossless frame is lost.
type Capture struct {
	Ring      bool          // off: frames are captured only while a command asks for them
	Memory    int64         // bytes that captures take, all together
	Last      time.Duration // how much the file holds, as far as Memory reaches
	Snap      int           // octets of each frame in it
	Directory string        // absolute; where files are written. No command can name another
	Files     int           // most files; the oldest is replaced
}

func defaultCapture() Capture {
	return Capture{Memory: capture.DefaultMemory, Last: 5 * time.Second, Snap: 256, Directory: "/var/lib/pfcswitch", Files: 4}
}

func (c *Capture) read(v value) {
	v.read(
		field{"ring", set(&c.Ring, toggle)},
		field{"memory", set(&c.Memory, size(capture.MinMemory, 1<<30))},
		field{"last", set(&c.Last, duration(100*time.Millisecond, time.Hour))},
		field{"snap", set(&c.Snap, number[int]("number of octets", 14, capture.MaxSnap))},
		field{"directory", set(&c.Directory, directory)},
		field{"files", set(&c.Files, number[int]("number of files", 1, 1000))},
	)
}

var directory = matching(`^/`, readDirectory)

func readDirectory(text string) (string, error) {
	if !filepath.IsAbs(text) || len(text) > 1024 || !printable(text) {
		return "", errors.New("is not a folder: write an absolute path, such as /var/lib/pfcswitch")
	}
	return text, nil
}

func (w *writer) capture(c *Capture) {
	w.line("capture: {ring: %s, memory: %s, last: %s, snap: %d, directory: %q, files: %d}", formatToggle(c.Ring), formatSize(c.Memory),
		formatTime(c.Last), c.Snap, c.Directory, c.Files)
}
