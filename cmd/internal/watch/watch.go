// Package watch asks a switch again and again, and prints every answer: on a terminal in the same place, into a pipe
// one after the other. Rates and shares in them are those of the time between two answers, by the switch's own clock.
package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
)

// Timeout is how long a switch may take to answer.
const Timeout = 5 * time.Second

// Options say what to watch and how to show it.
type Options struct {
	Ask     func(context.Context) (api.Reply, error)
	Every   time.Duration
	Print   func(io.Writer, api.Reply) error // an answer, which says all of it
	Out     io.Writer
	Notices io.Writer // for sentences that are no answers
	// Size returns the columns and rows of the terminal that Out is; nil where it is none, and answers are appended.
	Size     func() (columns, rows int)
	Colour   func(string) string // colours an answer for the terminal
	Separate bool                // appended answers have a line with the time between them
}

// Run watches until ctx ends, which is no error. If the first question has no answer, Run fails. Later Run waits for
// the switch, and reports outages and restarts.
func Run(ctx context.Context, o Options) error {
	w := watcher{Options: o}
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for {
		if err := w.poll(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// A watcher knows the newest answer.
type watcher struct {
	Options
	last     api.Reply
	fault    string // why the newest question has no answer; empty where it has one
	recovery string // what to say when it has one again
}

func (w *watcher) poll(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	r, err := w.Ask(asking)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && w.last == nil:
		return err
	case err != nil:
		return w.reportError(err)
	}
	return w.show(r)
}

// reportError reports once why there is no answer.
func (w *watcher) reportError(err error) error {
	if w.fault == err.Error() {
		return nil
	}
	w.fault = err.Error()
	if gone := new(api.NoPortError); errors.As(err, &gone) {
		w.recovery = "the port is there again"
		return w.report("there is nothing to show, which is tried again: " + w.fault)
	}
	w.recovery = "the switch answers again"
	return w.report("the switch does not answer, which is tried again: " + w.fault)
}

func (w *watcher) report(text string) error {
	_, err := fmt.Fprintf(w.Notices, "%s %s\n", time.Now().Format(time.TimeOnly), text)
	return err
}

func (w *watcher) show(r api.Reply) error {
	var notice string
	switch {
	case w.last == nil:
	case api.Restarted(r, w.last):
		notice = "the switch was started again: it counts from 0"
	case w.fault != "":
		notice = w.recovery
	}
	if w.last != nil {
		api.Since(r, w.last)
	}
	w.last, w.fault = r, ""
	if w.Size != nil {
		return w.redraw(r, notice)
	}
	if notice != "" {
		if err := w.report(notice); err != nil {
			return err
		}
	}
	if w.Separate {
		if _, err := fmt.Fprintf(w.Out, "-- %s --\n", time.Now().Format("2006-01-02 15:04:05.000")); err != nil {
			return err
		}
	}
	return w.Print(w.Out, r)
}

// The sequences of ECMA-48 that a redrawn answer needs. Lines are written over, not erased before: nothing flickers.
const (
	cursorHome = "\x1b[H"
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
)

// redraw writes the answer over the previous one, as far as the terminal has room.
func (w *watcher) redraw(r api.Reply, notice string) error {
	var b bytes.Buffer
	if err := w.Print(&b, r); err != nil {
		return err
	}
	columns, rows := w.Size()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	if most := max(1, rows-3); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… and %d lines more: make the terminal higher, or ask for less "+
			"with --port", len(lines)-most+1))
	}
	head := fmt.Sprintf("every %v, %s; Ctrl-C ends. %s", w.Every, time.Now().Format(time.TimeOnly), notice)
	out := ""
	for _, line := range append([]string{head, ""}, lines...) {
		out += cut(line, columns) + "\n"
	}
	_, err := io.WriteString(w.Out, cursorHome+strings.ReplaceAll(w.Colour(out), "\n", eraseLine+"\r\n")+eraseBelow)
	return err
}

func cut(line string, columns int) string {
	if r := []rune(line); len(r) > columns {
		return string(r[:columns])
	}
	return line
}
