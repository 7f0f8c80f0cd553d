package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/dataplane"
)

// Schema is the version of the JSON.
const Schema = 1

// A Reply is the answer to a read command.
type Reply interface {
	// Text returns the answer for people.
	Text() string
}

// A noun is something that can be read.
type noun struct {
	answer func(m *moment) Reply
	empty  func() Reply // to decode an answer into
	bare   bool         // the answer needs no snapshot
}

func nounOf[T any, P interface {
	*T
	Reply
}](read func(*moment) P) noun {
	return noun{answer: func(m *moment) Reply { return read(m) }, empty: func() Reply { return P(new(T)) }}
}

func bare(n noun) noun {
	n.bare = true
	return n
}

var nouns = map[string]noun{
	"ports":    nounOf((*moment).readPorts),
	"pfc":      nounOf((*moment).readPFC),
	"buffer":   nounOf((*moment).readBuffer),
	"queues":   nounOf((*moment).readQueues),
	"headroom": nounOf((*moment).readHeadroom),
	"watchdog": nounOf((*moment).readWatchdog),
	"trunk":    nounOf((*moment).readTrunk),
	"fdb":      nounOf((*moment).readFDB),
	"lldp":     nounOf((*moment).readLLDP),
	"events":   nounOf((*moment).readEvents),
	"history":  nounOf((*moment).readHistory),
	"state":    {empty: func() Reply { return new(State) }}, // it begins at the start, whatever the user cleared
	"threads":  bare(nounOf((*moment).readThreads)),
	"config":   nounOf((*moment).readConfig),
	"health":   nounOf((*moment).readHealth),
	"version":  nounOf((*moment).readVersion),
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
	if schema := reflect.ValueOf(r).Elem().FieldByName("Schema").Int(); schema != Schema {
		return nil, fmt.Errorf("the switch speaks schema %d and this program schema %d: use the program that the "+
			"switch was started with", schema, Schema)
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
	// ElapsedNs is the time that counters and shares cover, by the switch's monotonic clock: since Cleared, else since
	// Started.
	ElapsedNs               int64  `json:"elapsed_ns"`
	LosslessDrops           uint64 `json:"lossless_drops"`
	LosslessDropsSinceStart uint64 `json:"lossless_drops_since_start"`
	// LosslessDiscarded are other frames of lossless priorities that did not arrive: they were dropped on purpose.
	LosslessDiscarded           uint64 `json:"lossless_discarded_frames"`
	LosslessDiscardedSinceStart uint64 `json:"lossless_discarded_since_start_frames"`
}

// headline is the first line of every table: the lossless drops, which must stay 0, and what was discarded beside them.
func (h *Header) headline() string {
	sum := fmt.Sprintf("lossless drops: %s; discarded on purpose: %s", count(h.LosslessDrops),
		count(h.LosslessDiscarded))
	if h.Cleared == nil {
		return fmt.Sprintf("%s (since start, %s ago)\n", sum, clock(h.ElapsedNs))
	}
	return fmt.Sprintf("%s (since clear, %s ago; %s and %s since start)\n", sum, clock(h.ElapsedNs),
		count(h.LosslessDropsSinceStart), count(h.LosslessDiscardedSinceStart))
}

// MaxAnswer bounds what clients read as one answer, in bytes: enough for the history of 256 ports.
const MaxAnswer = 16 << 20

// WriteJSON writes the document that v points to with indentation. A nil slice is written as an empty array, never as
// null.
func WriteJSON(w io.Writer, v any) error { return encode(w, v, "  ") }

// WriteJSONLine writes the document that v points to in a single line.
func WriteJSONLine(w io.Writer, v any) error { return encode(w, v, "") }

func encode(w io.Writer, v any, indent string) error {
	makeArrays(reflect.ValueOf(v))
	enc := json.NewEncoder(w)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// makeArrays replaces nil slices in v by empty ones. v has to be a pointer.
func makeArrays(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			makeArrays(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				makeArrays(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			makeArrays(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			makeArrays(v.Index(i))
		}
	}
}

// A Priority is a number from 0 to 7, All or Unknown. In JSON, All and Unknown are the strings "all" and "unknown".
type Priority int

// What stands in place of a number.
const (
	Unknown Priority = dataplane.Unknown       // of a frame that was lost before anybody read it
	All     Priority = dataplane.AllPriorities // of a port with 802.3x PAUSE
)

// String returns the number or the word.
func (p Priority) String() string {
	switch p {
	case All:
		return "all"
	case Unknown:
		return "unknown"
	}
	return strconv.Itoa(int(p))
}

// Priorities lists the bits of a vector of priorities, bit n = priority n.
func Priorities(mask uint8) (list []Priority) {
	for ; mask != 0; mask &= mask - 1 {
		list = append(list, Priority(bits.TrailingZeros8(mask)))
	}
	return list
}

// JoinPriorities writes priorities with commas between.
func JoinPriorities(list []Priority) string {
	return cmp.Or(strings.Join(each(list, (*Priority).String), ","), none)
}

// MarshalJSON implements json.Marshaler.
func (p Priority) MarshalJSON() ([]byte, error) {
	if p == All || p == Unknown {
		return json.Marshal(p.String())
	}
	return json.Marshal(int(p))
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Priority) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"all"`:
		*p = All
	case `"unknown"`:
		*p = Unknown
	default:
		n, err := strconv.Atoi(string(b))
		if err != nil || n < 0 || n >= dataplane.NumPriorities {
			return fmt.Errorf(`api: %s is not a priority: want 0 to 7, "all" or "unknown"`, b)
		}
		*p = Priority(n)
	}
	return nil
}
