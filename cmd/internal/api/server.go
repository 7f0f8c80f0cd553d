package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A Server answers over HTTP:
//
//	GET  /v1/NOUN               the answer to show NOUN; events?since=SEQ begins at a sequence number
//	GET  /v1/state              all that a page shows, of one moment; counters are those since the start
//	GET  /v1/capture            a pcapng file that goes on; parameters port (repeatable), snap, filter, frames, for, last
//	POST /v1/explain?port=PORT  what would become of the frame in the body; parameter vnet of a super-frame. It changes nothing
//	POST /v1/apply?name=FILE    a configuration file as body; answers when it is in force
//	POST /v1/clear/counters     the user's counters begin again
//	POST /v1/clear/watermarks   the user's watermarks begin again
//	POST /v1/linkcheck/headroom a check of a port's headroom by experiment; parameters port, priority, xoffs
//
// Errors are {"schema":1,"error":"…"} with status 400 (the request), 404 or 409 (the configuration or the check was refused).
type Server struct {
	source  Source
	started time.Time
	mux     *http.ServeMux
	change  sync.Mutex // one apply at a time

	user struct {
		sync.Mutex           // guards what follows
		baseline   *baseline // never nil
		cleared    *time.Time
	}
}

// NewServer returns a server for a switch that runs since started.
func NewServer(s Source, started time.Time) *Server {
	srv := &Server{source: s, started: started, mux: http.NewServeMux()}
	srv.user.baseline = &baseline{}
	srv.mux.HandleFunc("GET /v1/{noun}", srv.show)
	srv.mux.HandleFunc("GET /v1/state", srv.answerState)
	srv.mux.HandleFunc("GET /v1/capture", srv.capture)
	srv.mux.HandleFunc("POST /v1/explain", srv.explain)
	srv.mux.HandleFunc("POST /v1/apply", srv.apply)
	srv.mux.HandleFunc("POST /v1/clear/{what}", srv.clear)
	srv.mux.HandleFunc("POST /v1/linkcheck/headroom", srv.checkHeadroom)
	return srv
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	expectRequest(w)
	n, ok := nouns[r.PathValue("noun")]
	if !ok {
		refuse(w, http.StatusNotFound, unknownNoun(r.PathValue("noun")))
		return
	}
	since := uint64(0)
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseUint(text, 10, 64); err != nil {
			refuse(w, http.StatusBadRequest, fmt.Errorf("since=%s: not a sequence number", text))
			return
		}
	}
	reply(w, n.answer(s.moment(since)))
}

func reply(w http.ResponseWriter, v any) {
	expectTaken(w)
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // a client that is gone needs no answer
}

// moment takes a snapshot as the user sees it.
func (s *Server) moment(since uint64) *moment {
	s.user.Lock()
	base, cleared := s.user.baseline, s.user.cleared
	s.user.Unlock()
	return s.since(base, cleared, since)
}

// since takes a snapshot whose counters begin at a baseline, and events at a sequence number.
func (s *Server) since(base *baseline, cleared *time.Time, event uint64) *moment {
	m := &moment{source: s.source, base: base, since: event, version: ThisVersion()}
	s.source.Snapshot(&m.snapshot)
	m.Header = Header{Schema: Schema, Switch: s.source.Name(), Time: time.Now().UTC(), Started: s.started.UTC(), Cleared: cleared,
		LosslessDropsSinceStart: losslessDrops(&m.snapshot)}
	from := s.started
	if cleared != nil {
		from = *cleared
	}
	m.ElapsedNs = int64(m.Time.Sub(from))
	base.subtract(&m.snapshot)
	m.LosslessDrops = m.LosslessDropsSinceStart - base.losslessDrops()
	return m
}
