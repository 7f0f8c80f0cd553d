// Package top is the live view of a switch on a terminal.
//
//	model.go  what is shown, and what keys do to it: a state machine without a terminal
//	view.go   its lines
//	top.go    the terminal, and who asks the switch
package top

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"pfcswitch/cmd/internal/api"
)

// A Source answers what a switch does.
type Source interface {
	// Read returns the state and the newest events, oldest first.
	Read(ctx context.Context) (*api.State, []api.Event, error)
}

// A Switch is a Source that asks a running switch.
type Switch struct{ Client *api.Client }

// shownEvents is how many of the newest events a Switch returns.
const shownEvents = 32

// Read implements Source.
func (s Switch) Read(ctx context.Context) (*api.State, []api.Event, error) {
	r, err := s.Client.Show(ctx, "state")
	if err != nil {
		return nil, nil, err
	}
	state := r.(*api.State)
	b, err := s.Client.Raw(ctx, "events", state.NextEvent-min(state.NextEvent, shownEvents))
	if err != nil {
		return nil, nil, err
	}
	if r, err = api.Parse("events", b); err != nil {
		return nil, nil, err
	}
	return state, r.(*api.Events).Events, nil
}

// answerTimeout is how long the switch may take to answer before it counts as dead.
const answerTimeout = 2 * time.Second

// Run shows the answers of the source, repeated after delay, until the user quits or ctx ends. The terminal is restored
// at the end, also after a panic. path names the switch on the screen.
func Run(ctx context.Context, s Source, path string, delay time.Duration) error {
	screen, err := tcell.NewScreen(tcell.OptSanitizeContent(true))
	if err != nil {
		return err
	}
	if err := screen.Init(); err != nil {
		return err
	}
	defer screen.Fini()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer)
	go runReads(ctx, s, delay, answers)
	m := newModel(path, delay)
	draw(screen, m)
	for !m.quit {
		select {
		case <-ctx.Done():
			return nil
		case a := <-answers:
			if a.panicked != nil {
				return a.panicked
			}
			m.update(a, time.Now())
		case e := <-screen.EventQ():
			switch e := e.(type) {
			case *tcell.EventKey:
				m.key(keyOf(e))
			case *tcell.EventResize:
				screen.Sync()
			}
		}
		draw(screen, m)
	}
	return nil
}

// An answer is the state of the switch with its newest events, or an error.
type answer struct {
	state    *api.State
	events   []api.Event
	err      error
	panicked error
}

// runReads asks the switch until ctx ends.
func runReads(ctx context.Context, s Source, delay time.Duration, answers chan<- answer) {
	for {
		select {
		case <-ctx.Done():
			return
		case answers <- ask(ctx, s):
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
	}
}

// ask hands on a panic as an error, so that the terminal is restored before the panic is shown.
func ask(ctx context.Context, s Source) (a answer) {
	defer func() {
		if v := recover(); v != nil {
			a.panicked = fmt.Errorf("top: this is a fault of the program: %v\n%s", v, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	a.state, a.events, a.err = s.Read(ctx)
	return a
}

var keys = map[tcell.Key]key{tcell.KeyCtrlC: keyQuit, tcell.KeyUp: keyUp, tcell.KeyDown: keyDown,
	tcell.KeyEnter: keyEnter, tcell.KeyEscape: keyEscape}

func keyOf(e *tcell.EventKey) key {
	if e.Key() == tcell.KeyRune {
		return runes[e.Str()]
	}
	return keys[e.Key()]
}

var styles = map[style]tcell.Style{
	plain:   tcell.StyleDefault,
	head:    tcell.StyleDefault.Bold(true),
	chosen:  tcell.StyleDefault.Reverse(true),
	alarm:   tcell.StyleDefault.Bold(true).Foreground(color.Red),
	caution: tcell.StyleDefault.Bold(true).Foreground(color.Orange),
	good:    tcell.StyleDefault.Foreground(color.Green),
	old:     tcell.StyleDefault.Dim(true),
}

func draw(screen tcell.Screen, m *model) {
	screen.Clear()
	width, height := screen.Size()
	for y, l := range m.view(width, height, time.Now()) {
		screen.PutStrStyled(0, y, l.text, styles[l.style])
	}
	screen.Show()
}
