package api

import (
	"net/http"
	"time"
)

// clientTimeout bounds the time for sending the rest of a request, and for taking an answer.
const clientTimeout = 10 * time.Second

// Deadlines have no effect, and no error that matters, where there is no connection.

// setReadDeadline bounds the time for the rest of a request. Deadlines do nothing without a connection.
func setReadDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(clientTimeout))
}

// setWriteDeadline bounds the time for taking an answer.
func setWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(clientTimeout))
}

// clearDeadlines removes both bounds. It is for answers that take as long as they take.
func clearDeadlines(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
}
