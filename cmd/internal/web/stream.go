package web

import (
	"errors"
	"net/http"
	"time"
)

// viewTimeout bounds the time in which a browser takes one view. A slow browser skips views.
const viewTimeout = 5 * time.Second

// stream answers with server-sent events, one view each, until the client closes the connection or is too slow.
func (b *Poller) stream(w http.ResponseWriter, r *http.Request) {
	if err := b.join(); err != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer b.leave()
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
		view, newer := b.newest()
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
	for _, p := range pieces {
		_, err := w.Write(p)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.Flush())...)
}
