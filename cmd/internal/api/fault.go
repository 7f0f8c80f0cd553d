package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// An errorReply is an error as the socket carries it.
type errorReply struct {
	Schema int    `json:"schema"`
	Error  string `json:"error"`
}

// ErrNoSwitch is wrapped by errors that say that no switch answers.
var ErrNoSwitch = errors.New("no running switch found")

// A NoPortError says that there is no port of this name.
type NoPortError struct {
	Name  string
	There []string // names of those that there are
}

// Error implements error.
func (e *NoPortError) Error() string {
	if len(e.There) == 0 {
		return fmt.Sprintf("there is no port %s: there is none", e.Name)
	}
	return fmt.Sprintf("there is no port %s: there are %s", e.Name, strings.Join(e.There, ", "))
}

func unknownNoun(name string) error {
	return fmt.Errorf("%q is nothing that can be shown: there are %s", name, strings.Join(Nouns(), ", "))
}

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, status int, err error) {
	setWriteDeadline(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(errorReply{Schema, err.Error()}) // a client that is gone needs no answer
}

// readError returns the error in a response.
func readError(r *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("the switch's answer (%s) cannot be read: %w", r.Status, err)
	}
	var f errorReply
	if json.Unmarshal(b, &f) != nil || f.Error == "" {
		return fmt.Errorf("the switch answered %s", r.Status)
	}
	return errors.New(f.Error)
}
