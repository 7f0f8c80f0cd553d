package api

import (
	"net/http"
	"time"
)

// clientTimeout is how long a client may take to send the rest of its request, and then to take an answer.
const clientTimeout = 10 * time.Second

// Deadlines have no effect, and no error that matters, where there is no connection.

// setReadDeadline gives a client time for the rest of its request.
func setReadDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(clientTimeout))
}

// setWriteDeadline gives a client time to take an answer.
func setWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(clientTimeout))
}

// clearDeadlines is called where the request is here and the answer takes as long as it takes.
func clearDeadlines(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
}
