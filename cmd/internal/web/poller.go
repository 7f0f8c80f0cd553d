package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
)

const (
	pollPeriod  = time.Second            // between two polls
	pollTimeout = 800 * time.Millisecond // for a switch to answer
	maxClients  = 32                     // that watch at the same time
)

// A Switch is one switch that a Poller shows.
type Switch struct {
	Label string // how people call it
	// Read returns its state at this moment. It is called once a period while somebody watches.
	Read func(context.Context) (*api.State, error)
	// History returns what its ports did in the last minutes. It is called when a browser asks.
	History func(context.Context) (*api.History, error)
}

// A View is the state of all switches, for the browsers.
type View struct {
	Schema   int          `json:"schema"`
	Time     time.Time    `json:"time"`
	Switches []SwitchView `json:"switches"`
}

// SwitchView is the last answer of one switch.
type SwitchView struct {
	Label      string     `json:"label"`
	Answers    bool       `json:"answers"`
	Error      *string    `json:"error"`       // why it does not
	LastAnswer *time.Time `json:"last_answer"` // null: it never did
	SilentNs   int64      `json:"silent_ns"`   // since LastAnswer, where it does not answer
	State      *api.State `json:"state"`       // null: it never answered
}

// A Poller polls switches while a browser watches, and makes Views.
type Poller struct {
	every    time.Duration
	polling  sync.Mutex // held by the loop: the one before may still wait for a switch
	switches []*polledSwitch

	mu      sync.Mutex // guards what follows
	clients int
	stop    context.CancelFunc // of the loop; nil: nobody watches
	loops   sync.WaitGroup
	closed  bool
	view    []byte        // the newest, as JSON; nil: none is there yet
	next    chan struct{} // is closed when there is a newer one
}

// A polledSwitch is the last answer of one switch. It belongs to the loop.
type polledSwitch struct {
	Switch
	last       SwitchView
	lastAnswer time.Time
}

// NewPoller returns a poller of switches.
func NewPoller(switches []Switch) *Poller {
	p := &Poller{every: pollPeriod, next: make(chan struct{})}
	for _, s := range switches {
		p.switches = append(p.switches, &polledSwitch{Switch: s, last: SwitchView{Label: s.Label}})
	}
	return p
}

var (
	errTooMany = errors.New("as many browsers as are allowed watch already: close one")
	errClosed  = errors.New("the switch is ending")
)

// join adds a browser. Each join needs a leave.
func (p *Poller) join() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return errClosed
	case p.clients >= maxClients:
		return errTooMany
	}
	if p.clients++; p.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		p.stop = stop
		p.loops.Go(func() { p.runLoop(ctx) })
	}
	return nil
}

// leave removes a browser. Polling stops with the last one.
func (p *Poller) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients--; p.clients == 0 {
		p.stopLocked()
	}
}

// Close stops polling and waits for its end.
func (p *Poller) Close() {
	p.mu.Lock()
	p.closed = true
	p.stopLocked()
	p.mu.Unlock()
	p.loops.Wait()
}

func (p *Poller) stopLocked() {
	if p.stop != nil {
		p.stop()
		p.stop, p.view = nil, nil
	}
}

// newest returns the newest view, nil if there is none, and a channel that is closed when a newer one comes.
func (p *Poller) newest() ([]byte, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view, p.next
}

func (p *Poller) runLoop(ctx context.Context) {
	p.polling.Lock()
	defer p.polling.Unlock()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		p.publish(ctx, p.poll(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// poll asks all switches at the same time.
func (p *Poller) poll(ctx context.Context) *View {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	v := &View{Schema: api.Schema, Switches: make([]SwitchView, len(p.switches))}
	var polls sync.WaitGroup
	for i, s := range p.switches {
		polls.Go(func() { v.Switches[i] = s.poll(ctx) })
	}
	polls.Wait()
	v.Time = time.Now().UTC()
	return v
}

func (s *polledSwitch) poll(ctx context.Context) SwitchView {
	state, err := s.Read(ctx)
	now := time.Now()
	if err != nil {
		text := err.Error()
		s.last.Answers, s.last.Error = false, &text
		if s.last.LastAnswer != nil {
			s.last.SilentNs = int64(now.Sub(s.lastAnswer))
		}
		return s.last
	}
	utc := now.UTC()
	s.lastAnswer = now
	s.last = SwitchView{Label: s.Label, Answers: true, LastAnswer: &utc, State: state}
	return s.last
}

// history answers with the history of one of the switches, or with none where the switch does not answer: it may have
// ended since the view that made a browser ask, and browsers complain of an error.
func (p *Poller) history(w http.ResponseWriter, r *http.Request) {
	label := r.URL.Query().Get("switch")
	i := slices.IndexFunc(p.switches, func(s *polledSwitch) bool { return label == "" || s.Label == label })
	if i < 0 {
		http.Error(w, "this page has no such switch", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pollTimeout)
	defer cancel()
	h, err := p.switches[i].History(ctx)
	if err != nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeJSON(w, h)
}

// publish makes v the newest view, unless polling has stopped.
func (p *Poller) publish(ctx context.Context, v *View) {
	var text bytes.Buffer
	err := api.WriteJSONLine(&text, v) // what a switch left out of its arrays is an empty one: the page relies on it
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || ctx.Err() != nil {
		return
	}
	p.view = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	close(p.next)
	p.next = make(chan struct{})
}

// viewTimeout bounds the time in which a browser takes one view. A slow browser skips views.
const viewTimeout = 5 * time.Second

// stream answers with server-sent events, one view each, until the client closes the connection or is too slow.
func (p *Poller) stream(w http.ResponseWriter, r *http.Request) {
	if err := p.join(); err != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	c := http.NewResponseController(w)
	if c.SetReadDeadline(time.Time{}) != nil || sendEvent(w, c, []byte("retry: 1000\n\n")) != nil {
		return
	}
	for {
		view, newer := p.newest()
		if view != nil && sendEvent(w, c, []byte("data: "), view, []byte("\n\n")) != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-newer:
		}
	}
}

// sendEvent writes the pieces of an event within viewTimeout.
func sendEvent(w http.ResponseWriter, c *http.ResponseController, pieces ...[]byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(viewTimeout)); err != nil {
		return err
	}
	var errs []error
	for _, piece := range pieces {
		_, err := w.Write(piece)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.Flush())...)
}
