package api

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"pfcswitch/dataplane"
)

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
func Priorities(mask uint8) []Priority {
	list := []Priority{}
	for ; mask != 0; mask &= mask - 1 {
		list = append(list, Priority(bits.TrailingZeros8(mask)))
	}
	return list
}

// joinPriorities writes priorities with commas between.
func joinPriorities(list []Priority) string {
	if len(list) == 0 {
		return none
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.String()
	}
	return strings.Join(names, ",")
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
