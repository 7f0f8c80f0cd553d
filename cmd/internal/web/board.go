package web

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
)

const (
	period      = time.Second            // between two looks
	lookLimit   = 800 * time.Millisecond // for a switch to answer
	mostClients = 32                     // that watch at the same time
)

// A Switch is one that a Board shows.
type Switch struct {
	Label string // how people call it
	// Read returns its state at this moment. It is called once a period while somebody watches.
	Read func(context.Context) (*api.State, error)
}

// A View is what watchers are told of all switches.
type View struct {
	Schema   int       `json:"schema"`
	Time     time.Time `json:"time"`
	Switches []Watched `json:"switches"`
}

// Watched is one switch as it was when it answered last.
type Watched struct {
	Label      string     `json:"label"`
	Answers    bool       `json:"answers"`
	Error      *string    `json:"error"`       // why it does not
	LastAnswer *time.Time `json:"last_answer"` // null: it never did
	SilentNs   int64      `json:"silent_ns"`   // since LastAnswer, where it does not answer
	State      *api.State `json:"state"`       // null: it never answered
}

// A Board looks at switches while somebody watches them, and makes Views.
type Board struct {
	every    time.Duration
	looking  sync.Mutex // held by the loop: the one before may still wait for a switch
	switches []*watch

	mu      sync.Mutex // guards what follows
	clients int
	stop    context.CancelFunc // of the loop; nil: nobody watches
	loops   sync.WaitGroup
	closed  bool
	view    []byte        // the newest, as JSON; nil: none is there yet
	next    chan struct{} // is closed when there is a newer one
}

// A watch is what is known of one switch. It belongs to the loop.
type watch struct {
	Switch
	said  Watched
	heard time.Time
}

// NewBoard returns a board of switches.
func NewBoard(switches []Switch) *Board {
	b := &Board{every: period, next: make(chan struct{})}
	for _, s := range switches {
		b.switches = append(b.switches, &watch{Switch: s, said: Watched{Label: s.Label}})
	}
	return b
}

var (
	errCrowded = errors.New("as many browsers as are allowed watch already: close one")
	errClosed  = errors.New("the switch is ending")
)

// join adds a watcher. Who has joined must leave.
func (b *Board) join() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return errClosed
	case b.clients >= mostClients:
		return errCrowded
	}
	if b.clients++; b.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		b.stop = stop
		b.loops.Go(func() { b.runLoop(ctx) })
	}
	return nil
}

// leave takes a watcher away. With the last one the looking ends.
func (b *Board) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clients--; b.clients == 0 {
		b.halt()
	}
}

// Close ends the looking, and waits until it has ended. Watchers are told no more.
func (b *Board) Close() {
	b.mu.Lock()
	b.closed = true
	b.halt()
	b.mu.Unlock()
	b.loops.Wait()
}

// halt is called with the lock held.
func (b *Board) halt() {
	if b.stop != nil {
		b.stop()
		b.stop, b.view = nil, nil
	}
}

// newest returns the newest view, nil where there is none yet, and a channel that is closed when there is a newer one.
func (b *Board) newest() ([]byte, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.next
}

func (b *Board) runLoop(ctx context.Context) {
	b.looking.Lock()
	defer b.looking.Unlock()
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		b.publish(ctx, b.look(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks all switches at once.
func (b *Board) look(ctx context.Context) *View {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	v := &View{Schema: api.Schema, Switches: make([]Watched, len(b.switches))}
	var asked sync.WaitGroup
	for i, w := range b.switches {
		asked.Go(func() { v.Switches[i] = w.look(ctx) })
	}
	asked.Wait()
	v.Time = time.Now().UTC()
	return v
}

func (w *watch) look(ctx context.Context) Watched {
	s, err := w.Read(ctx)
	now := time.Now()
	if err != nil {
		text := err.Error()
		w.said.Answers, w.said.Error = false, &text
		if w.said.LastAnswer != nil {
			w.said.SilentNs = int64(now.Sub(w.heard))
		}
		return w.said
	}
	utc := now.UTC()
	w.heard = now
	w.said = Watched{Label: w.Label, Answers: true, LastAnswer: &utc, State: s}
	return w.said
}

// publish makes v the newest view, unless nobody waits for it any more.
func (b *Board) publish(ctx context.Context, v *View) {
	var text bytes.Buffer
	err := api.WriteJSONLine(&text, v) // what a switch left out of its arrays is an empty one: the page relies on it
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || ctx.Err() != nil {
		return
	}
	b.view = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	close(b.next)
	b.next = make(chan struct{})
}
