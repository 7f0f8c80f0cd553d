package simulation

import (
	"errors"
	"io"

	"pfcswitch/dataplane/capture"
)

// captures are the files with the frames of the switches.
type captures []*switchCapture

type switchCapture struct {
	cursor *capture.Cursor
	stream *capture.Stream
	file   io.WriteCloser
	buffer []byte
	f      *fabric
}

// snap is how much of a frame a file has: what virtual time has of it, and no zeros.
const snap = 64

// capture opens the files, and begins to capture.
func (f *fabric) capture(o Options) (all captures, err error) {
	if o.Capture == nil {
		return nil, nil
	}
	for _, s := range f.switches {
		file, err := o.Capture(s.name)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		c := &switchCapture{file: file, f: f}
		all = append(all, c)
		if c.cursor, err = s.sw.Tap().Attach(capture.Want{Ports: capture.AllPorts, Snap: snap}); err != nil {
			return nil, errors.Join(err, all.close())
		}
		c.stream = capture.NewStream(c.cursor, capture.Options{Snap: snap, Program: "pfcswitch sim",
			Comment: f.topology.Name + ": " + s.name + " in virtual time", Interfaces: s.sw.Interfaces})
		if _, err := file.Write(c.stream.Begin(nil)); err != nil {
			return nil, errors.Join(err, all.close())
		}
	}
	return all, nil
}

// write writes what was captured since the last call.
func (all captures) write() error {
	for _, c := range all {
		for more := true; more; {
			if c.buffer, more = c.stream.Append(c.buffer[:0], 1<<20); len(c.buffer) == 0 {
				break
			}
			if _, err := c.file.Write(c.buffer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (all captures) end() error {
	for _, c := range all {
		if _, err := c.file.Write(c.stream.End(nil, c.f.Begun(), c.f.Now())); err != nil {
			return err
		}
	}
	return nil
}

func (all captures) close() error {
	var errs []error
	for _, c := range all {
		if c.cursor != nil {
			c.cursor.Close()
		}
		errs = append(errs, c.file.Close())
	}
	return errors.Join(errs...)
}
