package web

import (
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// connections limits the number of connections of a server. A new connection replaces the one that has been idle
// longest; if all are busy, the new one is closed. So a thousand idle connections keep nobody out.
type connections struct {
	max int

	mu      sync.Mutex // guards what follows
	turn    uint64
	waiting map[net.Conn]uint64 // when it began to wait for a request, in turns; 0: it is at work
}

// connState is the server's ConnState hook.
func (c *connections) connState(conn net.Conn, s http.ConnState) {
	if surplus := c.track(conn, s); surplus != nil {
		_ = withoutTLS(surplus).Close()
	}
}

// track returns the connection to close, nil if there is room.
func (c *connections) track(conn net.Conn, s http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[net.Conn]uint64{}
	}
	if _, known := c.waiting[conn]; !known && s != http.StateNew {
		return nil // it was closed for being too many
	}
	c.turn++
	switch s {
	case http.StateNew, http.StateIdle:
		c.waiting[conn] = c.turn
	case http.StateActive:
		c.waiting[conn] = 0
	case http.StateClosed, http.StateHijacked:
		delete(c.waiting, conn)
	}
	if len(c.waiting) <= c.max {
		return nil
	}
	surplus := c.oldest()
	delete(c.waiting, surplus)
	return surplus
}

// oldest returns the connection that has been idle longest. The newest connection always counts as idle.
func (c *connections) oldest() (oldest net.Conn) {
	for conn, since := range c.waiting {
		if since != 0 && (oldest == nil || since < c.waiting[oldest]) {
			oldest = conn
		}
	}
	return oldest
}

// withoutTLS returns the connection below TLS. Closing it needs no TLS alert and does not block.
func withoutTLS(c net.Conn) net.Conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c
}

// What a client of a server may cost. Streams that go on lift the times for themselves.
const (
	headerTime     = 5 * time.Second
	requestTime    = 10 * time.Second // header and body
	answerTime     = 20 * time.Second
	idleTime       = time.Minute
	maxHeader      = 16 << 10
	maxBody        = 4 << 10 // of requests that need none
	maxConnections = 256
)

// NewServer returns a server for an address that others reach. Slow and surplus clients are cut off.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	s := NewLocalServer(http.MaxBytesHandler(h, maxBody), log)
	s.ReadTimeout, s.WriteTimeout = requestTime, answerTime
	return s
}

// NewLocalServer returns a server for a control socket. Its handlers bound the time of a request.
func NewLocalServer(h http.Handler, log *slog.Logger) *http.Server {
	limit := &connections{max: maxConnections}
	return &http.Server{Handler: tellPanics(h, log), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnState: limit.connState,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}

// tellPanics logs a fault of this program that ends a request, as an error, and ends the connection, so that nobody
// takes half of an answer for a whole one.
func tellPanics(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				log.Error("a request has no answer", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				mustAbort()
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// mustAbort ends the connection of the request that the caller handles, as net/http has it.
func mustAbort() { panic(http.ErrAbortHandler) }
