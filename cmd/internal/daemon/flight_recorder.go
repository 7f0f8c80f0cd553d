package daemon

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/runner"
)

// A flightRecorder keeps the last seconds of traffic and writes them to a file when a lossless frame is lost. The
// folder is named by the configuration at the start and cannot change later. File names follow from the name of the
// switch.
type flightRecorder struct {
	d      *Daemon
	name   string
	cfg    config.Capture
	folder *os.Root
	cursor *capture.Cursor // makes the data path keep frames, and reads them
	stop   chan struct{}
	done   sync.WaitGroup
}

const (
	flightAftermath = 200 * time.Millisecond // what follows a loss explains it too
	// flightQuiet is how long nothing must have been lost before another loss is written: a switch that goes on losing
	// frames must not overwrite how it began.
	flightQuiet = time.Minute
	flightPiece = 256 << 10
)

// newFlightRecorder prepares the recorder that the configuration asks for. It returns nil when nothing changes.
func (d *Daemon) newFlightRecorder(c *config.Config) (*flightRecorder, error) {
	if !c.Capture.Ring || d.flight != nil && d.flight.cfg == c.Capture {
		return nil, nil
	}
	if err := os.MkdirAll(c.Capture.Directory, 0o700); err != nil {
		return nil, c.Errorf("capture.directory", "%v: make the folder, name another, or write ring: off", err)
	}
	folder, err := os.OpenRoot(c.Capture.Directory)
	if err != nil {
		return nil, c.Errorf("capture.directory", "%v: name a folder, or write ring: off", err)
	}
	f := &flightRecorder{d: d, name: c.Name, cfg: c.Capture, folder: folder, stop: make(chan struct{})}
	if d.flight != nil {
		return f, nil // files have been written here, and one may be just now
	}
	if err := f.tryWrite(); err != nil {
		return nil, errors.Join(c.Errorf("capture.directory",
			"%v: let the switch write there, name another folder, or write ring: off", err), folder.Close())
	}
	return f, nil
}

// tryWrite finds out at the start whether files can be written.
func (f *flightRecorder) tryWrite() error {
	w, err := f.create()
	if err != nil {
		return err
	}
	return errors.Join(w.Close(), f.folder.Remove(f.partialName()))
}

func (f *flightRecorder) partialName() string { return f.name + "-loss.partial" }

// create starts a file, and replaces one that was never completed.
func (f *flightRecorder) create() (*os.File, error) {
	if err := f.folder.Remove(f.partialName()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return f.folder.OpenFile(f.partialName(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// discard closes a recorder that was never installed.
func (f *flightRecorder) discard() error {
	if f == nil {
		return nil
	}
	return f.folder.Close()
}

// installFlightRecorder starts a prepared recorder, and stops the old one.
func (d *Daemon) installFlightRecorder(next *flightRecorder) {
	tap := d.runner.Tap()
	tap.SetMemory(int(d.cfg.Capture.Memory))
	if next == nil && d.cfg.Capture.Ring {
		return
	}
	defer func() { d.keeps.Store(d.flight != nil) }()
	if err := d.flight.end(); err != nil {
		d.log.Error("the folder of captures", "error", err)
	}
	continues := d.flight != nil
	d.flight = nil
	if next == nil {
		return
	}
	if !continues {
		select {
		case <-tap.Losses(): // a loss while nobody recorded: what is kept from now on does not explain it
		default:
		}
	}
	cursor, err := tap.Attach(capture.Want{Ports: capture.AllPorts, Snap: next.cfg.Snap})
	if err != nil {
		d.log.Error("nothing is kept for a file of losses", "error", errors.Join(err, next.discard()))
		return
	}
	next.cursor, d.flight = cursor, next
	next.done.Add(1)
	go next.runFlight(tap.Losses())
}

// end stops recording.
func (f *flightRecorder) end() error {
	if f == nil {
		return nil
	}
	close(f.stop)
	f.done.Wait()
	f.cursor.Close()
	return f.folder.Close()
}

// runFlight writes a file for each loss that follows a quiet time.
func (f *flightRecorder) runFlight(losses <-chan struct{}) {
	defer f.done.Done()
	var last time.Time
	for {
		select {
		case <-f.stop:
			return
		case <-losses:
		}
		quiet := time.Since(last) > flightQuiet
		last = time.Now()
		if !quiet {
			continue
		}
		select {
		case <-f.stop: // nothing follows any more
		case <-time.After(flightAftermath):
		}
		f.report(f.write())
	}
}

// report says where the file is.
func (f *flightRecorder) report(name string, frames uint64, lasts time.Duration, err error) {
	if err != nil {
		f.d.log.Error("what led to the loss of a lossless frame could not be written", "error", err)
		f.d.addEvent(dataplane.EventCapture, "", fmt.Sprintf("what led to the loss could not be written: %v", err))
		return
	}
	path := f.cfg.Directory + "/" + name
	f.d.log.Warn("a lossless frame was lost: what led to it was written", "file", path, "frames", frames)
	f.d.addEvent(dataplane.EventCapture, "", fmt.Sprintf("the last %v were written to %s (%d frames)", lasts, path,
		frames))
}

// write writes the recorded frames to a file. It returns the file's name, and of what time it has the frames.
func (f *flightRecorder) write() (name string, frames uint64, lasts time.Duration, err error) {
	if name, err = f.nextName(); err != nil {
		return "", 0, 0, err
	}
	w, err := f.create()
	if err != nil {
		return "", 0, 0, err
	}
	frames, lasts, err = f.writeCapture(w)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", 0, 0, err
	}
	if f.d.firstLoss == "" {
		f.d.firstLoss = name
	}
	return name, frames, lasts, f.folder.Rename(f.partialName(), name)
}

// nextName returns a free file name, or else the name of the oldest file but that of this run's first loss.
func (f *flightRecorder) nextName() (name string, err error) {
	var oldest time.Time
	for n := range f.cfg.Files {
		candidate := fmt.Sprintf("%s-loss-%d.pcapng", f.name, n+1)
		info, err := f.folder.Lstat(candidate)
		if errors.Is(err, fs.ErrNotExist) {
			return candidate, nil
		}
		if err != nil {
			return "", err
		}
		if candidate != f.d.firstLoss && (name == "" || info.ModTime().Before(oldest)) {
			name, oldest = candidate, info.ModTime()
		}
	}
	if name == "" {
		return "", errors.New("the file of the first loss is kept, and capture.files is 1: raise it")
	}
	return name, nil
}

// writeCapture writes the last seconds as pcapng: less where the ring was too small for them.
func (f *flightRecorder) writeCapture(w *os.File) (frames uint64, lasts time.Duration, err error) {
	oldest := f.cursor.Rewind()
	f.cursor.Stop()
	now := runner.Now()
	since := now - int64(f.cfg.Last)
	from := max(since, oldest)
	s := capture.NewStream(f.cursor, capture.Options{Snap: f.cfg.Snap, Since: since,
		Interfaces: f.d.runner.Interfaces, Wall: time.Now().UnixNano() - now,
		Program: "pfcswitch " + api.ThisVersion().Version,
		Comment: "switch " + f.name + ": what led to the loss of a lossless frame"})
	out := bufio.NewWriterSize(w, flightPiece)
	b := s.Begin(nil)
	for more := true; more; {
		if _, err := out.Write(b); err != nil {
			return 0, 0, err
		}
		b, more = s.Append(b[:0], flightPiece)
	}
	_, err = out.Write(s.End(b, from, now))
	return s.Frames(), time.Duration(now - from).Round(time.Millisecond), errors.Join(err, out.Flush())
}
