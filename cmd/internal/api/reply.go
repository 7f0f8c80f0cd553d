package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Schema is the version of the JSON.
const Schema = 1

// A Reply is the answer to a read command.
type Reply interface {
	// Text returns the answer for people.
	Text() string
	schema() int
}

// A noun is something that can be read.
type noun struct {
	answer func(m *moment) Reply
	empty  func() Reply // to decode an answer into
}

var nouns = map[string]noun{
	"ports":    {(*moment).readPorts, func() Reply { return new(Ports) }},
	"pfc":      {(*moment).readPFC, func() Reply { return new(PFC) }},
	"buffer":   {(*moment).readBuffer, func() Reply { return new(Buffer) }},
	"queues":   {(*moment).readQueues, func() Reply { return new(Queues) }},
	"headroom": {(*moment).readHeadroom, func() Reply { return new(Headroom) }},
	"watchdog": {(*moment).readWatchdog, func() Reply { return new(Watchdog) }},
	"trunk":    {(*moment).readTrunk, func() Reply { return new(Trunks) }},
	"fdb":      {(*moment).readFDB, func() Reply { return new(FDB) }},
	"lldp":     {(*moment).readLLDP, func() Reply { return new(LLDP) }},
	"events":   {(*moment).readEvents, func() Reply { return new(Events) }},
	"state":    {nil, func() Reply { return new(State) }}, // it begins at the start, whatever the user cleared
	"config":   {(*moment).readConfig, func() Reply { return new(Config) }},
	"health":   {(*moment).readHealth, func() Reply { return new(Health) }},
	"version":  {(*moment).readVersion, func() Reply { return new(Version) }},
}

// Nouns returns what can be read, sorted.
func Nouns() []string { return slices.Sorted(maps.Keys(nouns)) }

// Parse reads the JSON of a noun.
func Parse(name string, data []byte) (Reply, error) {
	n, ok := nouns[name]
	if !ok {
		return nil, unknownNoun(name)
	}
	r := n.empty()
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the switch's answer cannot be read: %w", err)
	}
	if r.schema() != Schema {
		return nil, fmt.Errorf("the switch speaks schema %d and this program schema %d: use the program that the switch was started with", r.schema(), Schema)
	}
	return r, nil
}

// A Header begins every answer of a running switch.
type Header struct {
	Schema int       `json:"schema"`
	Switch string    `json:"switch"`
	Time   time.Time `json:"time"`
	// SwitchNs is the same moment by the switch's monotonic clock: what happened between two answers took this long.
	SwitchNs int64      `json:"switch_time_ns"`
	Started  time.Time  `json:"started"`
	Cleared  *time.Time `json:"cleared"` // null where the user never cleared the counters
	// ElapsedNs is the time that counters and shares cover, by the switch's monotonic clock: since Cleared, else since Started.
	ElapsedNs               int64  `json:"elapsed_ns"`
	LosslessDrops           uint64 `json:"lossless_drops"`
	LosslessDropsSinceStart uint64 `json:"lossless_drops_since_start"`
}

func (h *Header) schema() int { return h.Schema }

// headline is the first line of every table: the lossless drops, which must stay 0.
func (h *Header) headline() string {
	if h.Cleared == nil {
		return fmt.Sprintf("lossless drops: %s (since start, %s ago)\n", count(h.LosslessDrops), clock(h.ElapsedNs))
	}
	return fmt.Sprintf("lossless drops: %s (since clear, %s ago; %s since start)\n",
		count(h.LosslessDrops), clock(h.ElapsedNs), count(h.LosslessDropsSinceStart))
}
