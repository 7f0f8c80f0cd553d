package api

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
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
	Schema     int      `json:"schema"`
	Warnings   []string `json:"warnings"`
	DryRun     bool     `json:"dry_run"`     // nothing was changed
	Changes    []Change `json:"changes"`     // what differs from the configuration before
	PortsReset []string `json:"ports_reset"` // their sockets are opened again
	// Lossless frames that were lost, or dropped on purpose, during the change; null: nothing was changed
	LosslessDrops     *uint64 `json:"lossless_drops_meanwhile"`
	LosslessDiscarded *uint64 `json:"lossless_discarded_meanwhile_frames"`
	TookNs            *int64  `json:"took_ns"`
}

// Cleared is the answer to clear.
type Cleared struct {
	Schema   int      `json:"schema"`
	Warnings []string `json:"warnings"`
}

// Restarting is the answer to restart, before the switch ends.
type Restarting struct {
	Schema   int      `json:"schema"`
	Warnings []string `json:"warnings"`
}

// Change is a key of the configuration whose value differs.
type Change struct {
	Key string  `json:"key"` // path, such as ports.p1.speed; a mapping that is new or gone stands as a whole
	Old *string `json:"old"` // as written; null: not there
	New *string `json:"new"`
}

// Text is what changes, one key a line, and what it costs.
func (a *Applied) Text() string {
	var b strings.Builder
	for _, c := range a.Changes {
		fmt.Fprintf(&b, "%s: %s → %s\n", c.Key, shortened(textOr(c.Old, "not there")), shortened(textOr(c.New, "gone")))
	}
	if len(a.Changes) == 0 {
		b.WriteString("no key differs\n")
	}
	ports := "none"
	if len(a.PortsReset) > 0 {
		ports = strings.Join(a.PortsReset, ", ")
	}
	if a.DryRun {
		fmt.Fprintf(&b, "nothing is changed (--dry-run); ports that would be reset: %s\n", ports)
		return b.String()
	}
	fmt.Fprintf(&b, "in force after %s; ports reset: %s; lossless frames lost: %s, discarded on purpose: %s\n",
		optional(a.TookNs, duration), ports, optional(a.LosslessDrops, count), optional(a.LosslessDiscarded, count))
	return b.String()
}

// shortened is a text of at most 60 characters.
func shortened(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
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
	query := r.URL.Query()
	name, dry := cmp.Or(query.Get("name"), "configuration"), query.Get("dry_run") == "1"
	s.change.Lock()
	defer s.change.Unlock()
	lost, discarded := s.losses()
	begun := time.Now()
	a, err := s.source.Apply(r.Context(), name, yaml, dry)
	if err != nil {
		return nil, withStatus(http.StatusConflict, err)
	}
	a.Schema, a.DryRun = Schema, dry
	if !dry {
		a.TookNs = new(time.Since(begun).Nanoseconds())
		lostNow, discardedNow := s.losses()
		a.LosslessDrops, a.LosslessDiscarded = new(lostNow-lost), new(discardedNow-discarded)
	}
	return a, nil
}

// losses are the lossless frames that were lost, and dropped on purpose, since the start.
func (s *Server) losses() (lost, discarded uint64) {
	v := new(dataplane.Snapshot)
	s.source.Snapshot(v)
	return v.Losses()
}

// restart starts the switch again. The answer comes before the end of the switch, which closes the connection.
func (s *Server) restart(w http.ResponseWriter, _ *http.Request) (any, error) {
	setReadDeadline(w)
	begin, err := s.source.Restart()
	if err != nil {
		return nil, withStatus(http.StatusConflict, err)
	}
	reply(w, &Restarting{Schema: Schema, Warnings: []string{}})
	_ = http.NewResponseController(w).Flush()
	begin()
	return nil, nil
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
	return &Cleared{Schema: Schema}, nil
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
		probes: probes, backlog: s.source.KernelBacklogDrops()}
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
