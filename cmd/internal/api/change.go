package api

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
)

// maxConfig bounds what apply reads, in bytes. It is more than a configuration may have, so that the parser can name
// the limit.
const maxConfig = 1 << 20

// configTimeout bounds the time for sending a configuration. Tests shorten it.
var configTimeout = 10 * time.Second

// Applied is the answer to apply.
type Applied struct {
	Schema   int      `json:"schema"`
	Warnings []string `json:"warnings"`
}

func (s *Server) apply(w http.ResponseWriter, r *http.Request) (any, error) {
	// without a connection there are no deadlines
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(configTimeout))
	yaml, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxConfig))
	if tooLong := new(http.MaxBytesError); errors.As(err, &tooLong) {
		err = fmt.Errorf("it has more than %d bytes: send a configuration alone", tooLong.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	clearDeadlines(w)
	name := cmp.Or(r.URL.Query().Get("name"), "configuration")
	s.change.Lock()
	defer s.change.Unlock()
	warnings, err := s.source.Apply(r.Context(), name, yaml)
	return &Applied{Schema, warnings}, withStatus(http.StatusConflict, err)
}

func (s *Server) clear(w http.ResponseWriter, r *http.Request) (any, error) {
	setReadDeadline(w)
	switch what := r.PathValue("what"); what {
	case "counters":
		s.clearCounters()
	case "watermarks":
		s.source.ClearWatermarks()
	default:
		return nil, withStatus(http.StatusNotFound,
			errors.New(what+" cannot be cleared: there are counters and watermarks"))
	}
	return &Applied{Schema: Schema}, nil
}

// clearCounters starts the user's counters again, also those of removed ports and trunks, which may come back.
func (s *Server) clearCounters() {
	v := new(dataplane.Snapshot)
	s.source.Snapshot(v)
	lost, discarded := v.Losses()
	addRemoved(v, s.source.RemovedCounters()) // read last: what comes or goes meanwhile is in one of the two
	storms := s.source.Watchdog()
	storms = append(storms, s.source.RetiredStorms()...) // of a queue that is in both, the first counts
	probes := maps.Clone(s.source.RetiredProbes())
	if probes == nil {
		probes = map[string]headroom.Counters{}
	}
	for _, p := range s.source.Headroom() {
		probes[p.Port] = p.Report.Counters
	}
	now := time.Now().UTC()
	s.user.Lock()
	defer s.user.Unlock()
	s.user.baseline = &baseline{time: v.Time, counters: v, lost: lost, discarded: discarded, storms: storms,
		probes: probes}
	s.user.cleared = &now
}

// Config is the answer to show config.
type Config struct {
	Schema int    `json:"schema"`
	YAML   string `json:"yaml"` // the configuration in force, with every key
}

func (m *moment) readConfig() *Config {
	return &Config{Schema: Schema, YAML: string(m.source.ConfigYAML())}
}

// Text implements Reply: the file alone, so that it can be edited and applied.
func (r *Config) Text() string { return r.YAML }
