package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// A journal is a log for which nobody waits: a terminal that is held (Ctrl-S) and a pipe that nobody reads take nothing
// for as long as they like, and the switch goes on meanwhile. What does not fit into its backlog is counted.
type journal struct {
	slog.Handler // where lines go
	*backlog
}

// A backlog is what is still to be written.
type backlog struct {
	lines chan line
	lost  atomic.Uint64
	stop  chan struct{}
	done  chan struct{}
}

type line struct {
	to slog.Handler
	slog.Record
}

const (
	journalLines   = 1024        // how many lines wait at most
	journalTimeout = time.Second // how long the end of the switch waits for them
)

func newJournal(h slog.Handler) journal {
	j := journal{h, &backlog{lines: make(chan line, journalLines), stop: make(chan struct{}), done: make(chan struct{})}}
	go j.run()
	return j
}

// Handle implements slog.Handler.
func (j journal) Handle(_ context.Context, r slog.Record) error {
	select {
	case j.lines <- line{j.Handler, r.Clone()}:
	default:
		j.lost.Add(1)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (j journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journal{j.Handler.WithAttrs(attrs), j.backlog}
}

// WithGroup implements slog.Handler.
func (j journal) WithGroup(name string) slog.Handler {
	return journal{j.Handler.WithGroup(name), j.backlog}
}

// run writes lines in their order until the journal is closed, and then those that still wait.
func (j journal) run() {
	defer close(j.done)
	for {
		select {
		case l := <-j.lines:
			j.write(l)
			continue
		default:
		}
		select {
		case l := <-j.lines:
			j.write(l)
		case <-j.stop:
			return
		}
	}
}

// write writes a line, and how many are missing behind it. A log that cannot be written has nobody to be told.
func (j journal) write(l line) {
	_ = l.to.Handle(context.Background(), l.Record)
	if n := j.lost.Swap(0); n > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of this log are missing, since nobody read it", 0)
		r.Add("lines", n)
		_ = j.Handler.Handle(context.Background(), r)
	}
}

// close writes what waits, for as long as the log takes it at once.
func (j journal) close() {
	close(j.stop)
	select {
	case <-j.done:
	case <-time.After(journalTimeout):
	}
}
