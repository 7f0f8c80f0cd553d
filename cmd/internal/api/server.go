package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Server answers over HTTP. README.md has the requests, and the statuses of errors.
type Server struct {
	source  Source
	started time.Time
	begin   *baseline // of the start
	mux     *http.ServeMux
	change  sync.Mutex // one apply at a time
	recent  history

	followers, cutOff atomic.Int64 // readers of events: now, and those who were too slow

	user struct {
		sync.Mutex           // guards what follows
		baseline   *baseline // never nil
		cleared    *time.Time
	}
}

// NewServer returns a server for a switch that runs since started; at is the same moment by the switch's clock.
func NewServer(s Source, started time.Time, at int64) *Server {
	srv := &Server{source: s, started: started, mux: http.NewServeMux(),
		begin: &baseline{time: at, backlog: s.KernelBacklogDrops()}}
	srv.user.baseline = srv.begin
	for pattern, answer := range srv.requests() {
		srv.mux.HandleFunc(pattern, answer)
	}
	return srv
}

func (s *Server) requests() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		showPattern:                   answering(s.show),
		"GET /v1/state":               func(w http.ResponseWriter, _ *http.Request) { reply(w, s.State()) },
		"GET /v1/follow":              answering(s.follow),
		"GET /v1/capture":             answering(s.capture),
		"POST /v1/explain":            answering(s.explain),
		"POST /v1/apply":              answering(s.apply),
		"POST /v1/restart":            answering(s.restart),
		"POST /v1/clear/{what}":       answering(s.clear),
		"POST /v1/linkcheck/headroom": answering(s.checkHeadroom),
	}
}

// answering returns the handler of a function that returns the answer, nil if it has written the answer itself, or an
// error.
func answering(answer func(w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(w, r)
		switch {
		case err != nil:
			refuse(w, err)
		case v != nil:
			reply(w, v)
		}
	}
}

// ServeHTTP implements http.Handler. It refuses, with a JSON error, what the mux would refuse in plain text or
// redirect.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	methods := s.methods(r)
	switch name, below := strings.CutPrefix(r.URL.Path, "/v1/"); {
	case slices.Contains(methods, r.Method):
		s.mux.ServeHTTP(w, r)
	case len(methods) > 0:
		w.Header().Set("Allow", strings.Join(methods, ", "))
		refuse(w, withStatus(http.StatusMethodNotAllowed, fmt.Errorf("%s cannot be asked for by %s, only by %s",
			r.URL.Path, r.Method, methods[0])))
	case below && name != "" && !strings.Contains(name, "/"):
		refuse(w, withStatus(http.StatusNotFound, unknownNoun(name)))
	default:
		refuse(w, withStatus(http.StatusNotFound,
			fmt.Errorf("there is no %q: every request is below /v1/", r.URL.Path)))
	}
}

// methods are the allowed methods at the path of a request.
func (s *Server) methods(r *http.Request) (all []string) {
	if path.Clean(r.URL.Path) != r.URL.Path {
		return nil
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		if pattern == showPattern && nouns[strings.TrimPrefix(r.URL.Path, "/v1/")].answer == nil {
			continue
		}
		if pattern != "" {
			all = append(all, method)
		}
	}
	return all
}

// showPattern is the pattern of all nouns.
const showPattern = "GET /v1/{noun}"

func (s *Server) show(w http.ResponseWriter, r *http.Request) (any, error) {
	setReadDeadline(w)
	since, err := sequence(r, 0)
	if err != nil {
		return nil, err
	}
	n := nouns[r.PathValue("noun")]
	if n.bare {
		return n.answer(&moment{source: s.source}), nil
	}
	return n.answer(s.moment(since)), nil
}

// sequence returns the first event that a request asks for.
func sequence(r *http.Request, otherwise uint64) (uint64, error) {
	text := r.URL.Query().Get("since")
	if text == "" {
		return otherwise, nil
	}
	since, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("since=%s: not a sequence number", text)
	}
	return since, nil
}

// reply answers with v. The client's time begins once the answer is made, which may take long on a slow machine, and
// begins again with each piece.
func reply(w http.ResponseWriter, v any) {
	var answer bytes.Buffer
	if err := WriteJSON(&answer, v); err != nil {
		refuse(w, withStatus(http.StatusInternalServerError, err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for answer.Len() > 0 {
		setWriteDeadline(w)
		if _, err := w.Write(answer.Next(replyPiece)); err != nil {
			return // a client that is gone needs no answer
		}
	}
}

const replyPiece = 64 << 10 // octets

// moment takes a snapshot for the user.
func (s *Server) moment(since uint64) *moment {
	s.user.Lock()
	base, cleared := s.user.baseline, s.user.cleared
	s.user.Unlock()
	return s.since(base, cleared, since)
}

// since takes a snapshot with counters since a baseline, and events from a sequence number on.
func (s *Server) since(base *baseline, cleared *time.Time, event uint64) *moment {
	m := &moment{source: s.source, base: base, since: event, version: ThisVersion(), cutOff: s.CutOff(),
		history: &s.recent}
	s.source.Snapshot(&m.snapshot)
	m.recent = newInterval(sampleOf(&m.snapshot), s.recent.oldest())
	m.Header = Header{Schema: Schema, Switch: s.source.Name(), Time: time.Now().UTC(), SwitchNs: m.snapshot.Time,
		Started: s.started.UTC(), Cleared: cleared}
	m.LosslessDropsSinceStart, m.LosslessDiscardedSinceStart = m.snapshot.Losses()
	m.ElapsedNs = m.snapshot.Time - base.time
	base.subtract(&m.snapshot)
	m.LosslessDrops = m.LosslessDropsSinceStart - base.lost
	m.LosslessDiscarded = m.LosslessDiscardedSinceStart - base.discarded
	return m
}

// clientTimeout bounds the time for sending the rest of a request, and for taking a piece of an answer.
const clientTimeout = 10 * time.Second

// setReadDeadline bounds the time for the rest of a request. Without a connection deadlines have no effect.
func setReadDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(clientTimeout))
}

// setWriteDeadline bounds the time for taking a piece of an answer.
func setWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(clientTimeout))
}

// clearDeadlines removes both bounds. It is for answers that take as long as they take.
func clearDeadlines(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_, _ = c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{})
}

// An errorReply is an error as the socket carries it.
type errorReply struct {
	Schema int    `json:"schema"`
	Error  string `json:"error"`
}

// ErrNoSwitch is wrapped by errors that say that no switch answers.
var ErrNoSwitch = errors.New("no running switch found")

// A NoPortError says that there is no port of this name.
type NoPortError struct {
	Name     string
	Existing []string // names of those that there are
}

// Error implements error.
func (e *NoPortError) Error() string {
	if len(e.Existing) == 0 {
		return fmt.Sprintf("there is no port %s: there is none", e.Name)
	}
	return fmt.Sprintf("there is no port %s: there are %s", e.Name, strings.Join(e.Existing, ", "))
}

func unknownNoun(name string) error {
	return fmt.Errorf("%q is nothing that can be shown: there are %s", name, strings.Join(Nouns(), ", "))
}

// A statusError is an error with the HTTP status of its answer. Other errors have status 400.
type statusError struct {
	error
	status int
}

// withStatus returns nil for no error.
func withStatus(status int, err error) error {
	if err == nil {
		return nil
	}
	return statusError{err, status}
}

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if e := (statusError{}); errors.As(err, &e) {
		status = e.status
	}
	setWriteDeadline(w)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(errorReply{Schema, err.Error()}) // a client that is gone needs no answer
}

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
