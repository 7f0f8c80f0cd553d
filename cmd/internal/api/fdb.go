package api

import (
	"cmp"
	"encoding/binary"
	"net"
	"slices"
	"strconv"
	"strings"
)

// FDB is the answer to show fdb.
type FDB struct {
	Header
	Moves      uint64     `json:"moves"`       // stations that went from one port to another
	Holds      uint64     `json:"holds"`       // of stations that moved too often
	NotLearned uint64     `json:"not_learned"` // frames whose source was not learned because there was no room
	Forgotten  uint64     `json:"forgotten"`   // learned entries that made room for others
	Entries    []FDBEntry `json:"entries"`     // by VLAN, then address
}

// FDBEntry is a line of the filtering database.
type FDBEntry struct {
	MAC    string   `json:"mac"`
	VLAN   uint16   `json:"vlan"`
	Port   *string  `json:"port"`  // null: removed at this moment, or there are ports
	Ports  []string `json:"ports"` // of a group, one of which a frame takes by its flow; empty: there is a port
	Static bool     `json:"static"`
	AgeNs  *int64   `json:"age_ns"` // since the station's last frame; null for a static entry
}

func (m *moment) readFDB() *FDB {
	r := &FDB{Header: m.Header, Moves: m.snapshot.Bridge.Moves, Holds: m.snapshot.Bridge.Holds,
		NotLearned: m.snapshot.Bridge.Full,
		Forgotten:  m.snapshot.Bridge.Forgot}
	for _, e := range m.source.FDB() {
		entry := FDBEntry{MAC: macAddress(e.MAC), VLAN: e.VID, Port: nonZero(m.portName(e.Port)), Static: e.Static}
		for i := range e.Group.All() {
			if name := m.portName(i); name != "" {
				entry.Ports = append(entry.Ports, name)
			}
		}
		if age := e.Age.Nanoseconds(); !e.Static {
			entry.AgeNs = &age
		}
		r.Entries = append(r.Entries, entry)
	}
	slices.SortFunc(r.Entries, func(a, b FDBEntry) int {
		return cmp.Or(cmp.Compare(a.VLAN, b.VLAN), cmp.Compare(a.MAC, b.MAC))
	})
	return r
}

// macAddress writes an address whose first octet is in bits 47 to 40.
func macAddress(mac uint64) string {
	return net.HardwareAddr(binary.BigEndian.AppendUint64(nil, mac)[2:]).String()
}

// Text implements Reply.
func (r *FDB) Text() string {
	if len(r.Entries) == 0 {
		return r.headline() + "\nno station is known\n"
	}
	t := newTable("MAC", ">VLAN", "PORT", "TYPE", ">AGE")
	for _, e := range r.Entries {
		kind, age := "static", none
		if !e.Static {
			kind = "learned"
		}
		if e.AgeNs != nil {
			age = clock(*e.AgeNs)
		}
		at := e.Port
		if len(e.Ports) > 0 {
			at = nonZero(strings.Join(e.Ports, ", "))
		}
		t.row(e.MAC, strconv.Itoa(int(e.VLAN)), at, kind, age)
	}
	return sections(r.headline(), section{"", t})
}
