package traffic

import (
	"errors"
	"fmt"
	"io"
	"math"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A Capture returns the frames of a file one after the other, each with its time in ns, and io.EOF behind the last. A
// frame is the caller's until the next call.
type Capture interface {
	// Next returns the next frame.
	Next() (data []byte, at int64, err error)
}

// A Replay has the frames of one priority of a file, which a flow sends as they are, one after the other, and then
// again. It reads the file as it goes and keeps what may go in the next send call, so that the file may have any
// length.
type Replay struct {
	open     func() (Capture, error)
	priority uint8
	once     bool
	timed    bool
	frames   uint64 // of this priority
	longest  int    // octets of a frame
	begin    int64  // ns, time of the file's first frame
	period   int64  // ns from one beginning of the file to the next

	capture Capture
	read    uint64 // sequence number of the frame that is read next
	opened  uint64 // its value at the beginning of the file
	window  [port.BatchFrames + 2]struct {
		data []byte
		at   int64 // ns since the flow's start
	}
	err error // why it cannot go on
}

// Replay makes the load of a capture: a flow for each priority, by the tags of the frames, that sends them as they are,
// and no sink. Without a duration and a count each is sent once. With timed a frame goes no sooner than it came in the
// capture. left counts MAC Control frames, which are left out: the sender's peer would take them for its own. open
// opens the file at its beginning; each flow reads it for itself.
func (c *SendConfig) Replay(open func() (Capture, error), timed bool) (sends, left uint64, err error) {
	var of [8]Replay
	var begin, last int64
	capture, err := open()
	for err == nil {
		var data []byte
		var at int64
		if data, at, err = capture.Next(); err != nil {
			break
		}
		priority, control, wrong := priorityOf(data)
		switch {
		case wrong != nil:
			return 0, 0, fmt.Errorf("frame %d: %w", sends+left+1, wrong)
		case control:
			left++
			continue
		case sends == 0:
			begin = at
		}
		sends, last = sends+1, max(last, at)
		of[priority].frames++
		of[priority].longest = max(of[priority].longest, len(data))
	}
	switch {
	case !errors.Is(err, io.EOF):
		return 0, 0, err
	case sends == 0:
		return 0, left, errors.New("it has no frame to send")
	}
	once := c.Duration == 0 && c.Count == 0
	if timed && last <= begin && !once {
		return 0, left, errors.New("its frames have no times")
	}
	if once {
		c.Count = sends
	}
	c.Flows, c.NoSink = nil, true
	gap := (last - begin) / max(1, int64(sends)-1) // before the first frame, when it comes again
	for priority := range of {
		r := &of[priority]
		if r.frames == 0 {
			continue
		}
		r.open, r.priority, r.once, r.timed = open, uint8(priority), once, timed
		r.begin, r.period = begin, last-begin+gap
		c.Flows = append(c.Flows, Flow{Priority: r.priority, Weight: 1, Shape: Shape{Replay: r}})
	}
	return sends, left, nil
}

// priorityOf returns the priority of a captured frame, or that it is one of MAC Control.
func priorityOf(data []byte) (priority uint8, control bool, err error) {
	h, ok := frame.Parse(data)
	if !ok || len(data) > port.MaxFrame {
		return 0, false, fmt.Errorf("it has %d octets and is none of Ethernet of %d to %d", len(data),
			frame.HeaderOctets, port.MaxFrame)
	}
	return h.TCI.PCP(), h.EtherType == frame.TypeMACControl, nil
}

// frame returns the frame with a sequence number; of the last ones, and up to the window's length beyond.
func (r *Replay) frame(sequence uint64) []byte { return r.window[sequence%uint64(len(r.window))].data }

// A file is read on in steps of stepFrames frames, so that other flows and pauses need not wait for a rare priority.
// readOn is the time in ns from one step to the next.
const (
	stepFrames = 64
	readOn     = 1
)

// due returns when the frame with a sequence number may go, or is looked for again. Times are ns since the flow's
// start.
func (r *Replay) due(sequence uint64, now int64) int64 {
	if r.once && sequence >= r.frames {
		return math.MaxInt64
	}
	for step := 0; r.read <= sequence; step++ {
		if step == stepFrames {
			return now + readOn
		}
		if r.err = r.readFrame(); r.err != nil {
			return math.MaxInt64
		}
	}
	if !r.timed {
		return 0
	}
	return r.window[sequence%uint64(len(r.window))].at
}

// errChanged says that the file has other frames than it had before the load.
var errChanged = errors.New("the capture has changed while it was sent")

// readFrame reads the next frame of the file, and keeps it where it is one of the priority.
func (r *Replay) readFrame() (err error) {
	if r.err != nil {
		return r.err
	}
	if r.capture == nil {
		if r.capture, err = r.open(); err != nil {
			return err
		}
		r.opened = r.read
	}
	data, at, err := r.capture.Next()
	switch {
	case errors.Is(err, io.EOF) && r.read-r.opened == r.frames:
		r.capture = nil
		return nil
	case errors.Is(err, io.EOF):
		return errChanged
	case err != nil:
		return err
	}
	priority, control, err := priorityOf(data)
	switch {
	case err != nil || priority == r.priority && !control && len(data) > r.longest:
		return errChanged
	case priority != r.priority || control:
		return nil
	}
	slot := &r.window[r.read%uint64(len(r.window))]
	slot.data = append(slot.data[:0], data...)
	slot.at = at - r.begin + int64(r.read/r.frames)*r.period
	r.read++
	return nil
}

// replayError returns why a flow of a file cannot go on.
func (s *sender) replayError() error {
	for _, f := range s.flows {
		if f.Replay != nil && f.Replay.err != nil {
			return fmt.Errorf("after %d frames of priority %d: %w", f.sent, f.Priority, f.Replay.err)
		}
	}
	return nil
}

// lag returns how late the next frame of a timed file is.
func (f *flowState) lag(now int64) int64 {
	return max(0, now-f.from-min(now, f.Replay.due(f.sent, now-f.from)))
}
