package api

import (
	"net/http"
	"time"
)

// clientPatience is how long a client may take to send the rest of its request, and then to take an answer.
const clientPatience = 10 * time.Second

// Deadlines have no effect, and no error that matters, where there is no connection.

// expectRequest gives a client time for the rest of its request.
func expectRequest(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(clientPatience))
}

// expectTaken gives a client time to take an answer.
func expectTaken(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(clientPatience))
}

// takeTime is called where the request is here and the answer takes as long as it takes.
func takeTime(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
}
