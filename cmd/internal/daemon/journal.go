package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// A journal is a log that never blocks its writers. A held terminal (Ctrl-S) or a pipe without a reader takes no lines
// for a long time; the switch must go on. Lines beyond the backlog are counted and dropped.
type journal struct {
	slog.Handler // where lines go
	*backlog
}

// A backlog holds the lines that are not written yet.
type backlog struct {
	lines chan *line
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
	j := journal{h, &backlog{lines: make(chan *line, journalLines), stop: make(chan struct{}),
		done: make(chan struct{})}}
	go j.run()
	return j
}

// Handle implements slog.Handler.
func (j journal) Handle(_ context.Context, r slog.Record) error {
	select {
	case j.lines <- &line{j.Handler, r.Clone()}:
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

// run writes lines in order until the journal is closed, and then the rest of the backlog.
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

// write writes a line, and then how many lines were dropped. Errors are ignored, because a broken log has no other
// place for them.
func (j journal) write(l *line) {
	_ = l.to.Handle(context.Background(), l.Record)
	if n := j.lost.Swap(0); n > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines of this log are missing, since nobody read it", 0)
		r.Add("lines", n)
		_ = j.Handler.Handle(context.Background(), r)
	}
}

// close writes the backlog, and waits for it at most journalTimeout.
func (j journal) close() {
	close(j.stop)
	select {
	case <-j.done:
	case <-time.After(journalTimeout):
	}
}
