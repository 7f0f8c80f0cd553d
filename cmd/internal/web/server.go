package web

import (
	"log/slog"
	"net/http"
	"time"
)

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
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnState: limit.connState, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}
