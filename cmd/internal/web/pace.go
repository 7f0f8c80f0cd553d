package web

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

const (
	maxMakers  = 8  // requests that wait for their answer
	maxWriters = 32 // answers on their way to clients, of whom some may be slow
	restFactor = 3  // of the time that an answer took passes before the next one is made
)

// A pacer keeps clients that ask without end from taking the CPU and the memory that frames need. It makes one answer
// at a time and then rests, so that making answers takes a quarter of a CPU at most. Who asks meanwhile waits. Surplus
// requests are refused with status 503.
type pacer struct {
	makers, writers chan struct{}
	turn            chan time.Time // has the time from which the next answer may be made, unless one is being made
}

func newPacer() *pacer {
	p := &pacer{makers: make(chan struct{}, maxMakers), writers: make(chan struct{}, maxWriters),
		turn: make(chan time.Time, 1)}
	p.turn <- time.Time{}
	return p
}

// handler serves what next answers, paced.
func (p *pacer) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answer{header: w.Header(), status: http.StatusOK}
		var here bool // the client still is
		made := bounded(p.makers, func() { here = p.make(r.Context(), func() { next.ServeHTTP(&a, r) }) })
		if made && !here {
			return
		}
		sent := made && bounded(p.writers, func() {
			w.WriteHeader(a.status)
			_, _ = w.Write(a.body.Bytes()) // a slow client keeps no other one from its turn
		})
		if !sent {
			clear(w.Header())
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once: ask less often", http.StatusServiceUnavailable)
		}
	})
}

// bounded calls f unless too many such calls run. It reports whether it did.
func bounded(slots chan struct{}, f func()) bool {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		f()
		return true
	default:
		return false
	}
}

// make makes an answer when it is its turn. It returns false where the client left before.
func (p *pacer) make(ctx context.Context, answer func()) bool {
	select {
	case <-ctx.Done():
		return false
	case next := <-p.turn:
		defer func() { p.turn <- next }()
		rest := time.NewTimer(time.Until(next))
		defer rest.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-rest.C:
		}
		began := time.Now()
		answer()
		next = time.Now().Add(restFactor * time.Since(began))
		return true
	}
}

// An answer is kept until it is whole.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
