package macctl

import "math/bits"

// A Mode is the kind of flow control of a port or trunk. PAUSE and PFC exclude each other (IEEE 802.3 Annex 31D).
type Mode uint8

// The modes.
const (
	ModeOff   Mode = iota // neither obeyed nor sent
	ModePause             // PAUSE: all priorities as one
	ModePFC               // PFC: each enabled priority by itself
)

var modeNames = [...]string{"off", "pause", "pfc"}

// String returns the mode as it stands in the configuration.
func (m Mode) String() string {
	if int(m) >= len(modeNames) {
		return "unknown"
	}
	return modeNames[m]
}

// A unit is what one pause timer stops: a priority (PFC, units 0-7), or the whole port (PAUSE). The two kinds are kept
// apart: counters stay right when the mode changes, and a set of units tells which kind of frame it belongs in.
const (
	WholePort = 8 // stands for the whole port where a priority is asked for
	numUnits  = 9
)

// A unitSet has bit n set for unit n.
type unitSet uint16

const (
	everyPriority unitSet = 1<<WholePort - 1
	onlyWholePort unitSet = 1 << WholePort
)

// kind returns all units that frames of this mode can name.
func (m Mode) kind() unitSet {
	switch m {
	case ModePause:
		return onlyWholePort
	case ModePFC:
		return everyPriority
	}
	return 0
}

// units returns the units under flow control.
func (m Mode) units(enabled uint8) unitSet { return m.kind() & (unitSet(enabled) | onlyWholePort) }

// Lossless returns the priorities under flow control: with ModePFC those enabled, with ModePause all.
func (m Mode) Lossless(enabled uint8) uint8 { return m.units(enabled).vector() }

// unit returns the unit to which a priority belongs.
func (m Mode) unit(prio uint8) int {
	if m == ModePause {
		return WholePort
	}
	return int(prio & 7)
}

// vector returns the priorities that the units cover.
func (s unitSet) vector() uint8 {
	if s&onlyWholePort != 0 {
		return 0xFF
	}
	return uint8(s)
}

// first returns the lowest unit of a set that is not empty.
func (s unitSet) first() int { return bits.TrailingZeros16(uint16(s)) }
