package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/macctl"
)

// HeadroomDefaults are the switch-wide settings of headroom and its measurement. Both ends of a link need the same
// opcode, identifier and EtherType.
type HeadroomDefaults struct {
	K         int64         // bits; of ports that say nothing else
	Precision time.Duration // by which a stamp may be wrong; 0: as the clock is found to be
	Answer    AnsweringPoint
	Mode      AnswerMode
	Stamps    Stamps
	Variant   StampVariant
	// Small is the share of a headroom's octets that is taken as the smallest frames, 0 to 1: see headroom.Packing.
	Small      float64
	Opcode     uint16
	Identifier [3]byte
	EtherType  uint16        // of measurement frames on links that swallow MAC Control
	Percentile float64       // of reactions, in percent
	Interval   time.Duration // in which eight measurements are made
	Min        int64         // bytes below which nothing found goes; 0: what IEEE 802.1Q asks for without a cable
	Max        HeadroomLimit
	Share      float64 // of the shared segment that all measured headrooms may take beyond the calculated ones
	Agree      Agreement
	// SendRequest lets a peer that has agreed to measure have this end fill the link, for its own check.
	SendRequest bool
}

// Format is the form of measurement frames.
func (h *HeadroomDefaults) Format() macctl.MeasurementFormat {
	return macctl.MeasurementFormat{Opcode: h.Opcode, Identifier: h.Identifier, Fallback: h.EtherType}
}

// Agreement is how a port learns that its peer measures headroom too.
type Agreement string

// The values of headroom.agree.
const (
	AgreeLLDP   Agreement = "lldp"   // both ends say so in their PFC TLVs
	AgreeAlways Agreement = "always" // the operator says so, where LLDP does not run
)

// AnsweringPoint is the place where a request is answered.
type AnsweringPoint string

// The values of headroom.answer.
const (
	AnswerGenerator AnsweringPoint = "generator" // by the probe, in its turn
	AnswerLink      AnsweringPoint = "link"      // where flow control is handled, before anything else
)

// AnswerMode is the form of an answer.
type AnswerMode string

// The values of headroom.mode.
const (
	ModeAcknowledge AnswerMode = "acknowledge" // a frame of the peer's own
	ModeLoopback    AnswerMode = "loopback"    // the request, sent back
)

// Stamps is the number of time stamps of a measurement.
type Stamps string

// The values of headroom.stamps.
const (
	FourStamps Stamps = "4" // of both ends: without the time at the peer
	TwoStamps  Stamps = "2" // of the asking end
)

// StampVariant is where time stamps are taken.
type StampVariant string

// The values of headroom.variant.
const (
	VariantMAC    StampVariant = "mac"    // as a frame leaves and enters
	VariantClient StampVariant = "client" // as it is handed over and delivered
)

// HeadroomLimit bounds the measured headroom. A size bounds every result; a factor of the calculated headroom bounds
// only what depends on the peer's word.
type HeadroomLimit struct {
	Times float64 // 0: Bytes
	Bytes int64
}

func defaultHeadroom() HeadroomDefaults {
	return HeadroomDefaults{Answer: AnswerGenerator, Mode: ModeAcknowledge, Stamps: FourStamps, Variant: VariantMAC,
		Small: 1, Opcode: 0xFFFE, Identifier: [3]byte{0x02, 0x50, 0x46}, EtherType: 0x88B5, Percentile: 99.9,
		Interval: time.Second, Max: HeadroomLimit{Times: 4}, Share: 0.5, Agree: AgreeLLDP}
}

// bitsOfK reads the part of the headroom that neither calculation nor measurement can see.
var bitsOfK = number[int64]("number of bits", 0, 1<<40)

func (h *HeadroomDefaults) fields() []field {
	return []field{
		key("k", &h.K, bitsOfK),
		key("precision", &h.Precision, orWord(duration(1, time.Millisecond), "auto", 0)),
		key("answer", &h.Answer, oneOf(AnswerGenerator, AnswerLink)),
		key("small_packets", &h.Small, shareOrNone),
		key("mode", &h.Mode, oneOf(ModeAcknowledge, ModeLoopback)),
		key("stamps", &h.Stamps, oneOf(FourStamps, TwoStamps)),
		key("variant", &h.Variant, oneOf(VariantMAC, VariantClient)),
		key("opcode", &h.Opcode, opcode),
		key("identifier", &h.Identifier, extensionIdentifier),
		key("ethertype", &h.EtherType, privateEtherType),
		key("percentile", &h.Percentile, percentile),
		key("interval", &h.Interval, duration(10*time.Millisecond, 100*time.Second)),
		key("min", &h.Min, size(0, maxSize)),
		key("max", &h.Max, headroomLimit),
		key("share", &h.Share, share),
		key("agree", &h.Agree, oneOf(AgreeLLDP, AgreeAlways)),
		key("send_request", &h.SendRequest, toggle),
	}
}

func (h *HeadroomDefaults) write() writer { return nested{lines("  "), h.fields()} }

func (h *HeadroomDefaults) read(v value) {
	v.read(h.fields()...)
	if h.Mode == ModeLoopback && h.Stamps == FourStamps {
		v.at("stamps").fail("4 needs the peer's stamps, which a frame that is sent back does not have: write 2, or " +
			"mode: acknowledge")
	}
}

var headroomLimit = parser[HeadroomLimit]{readHeadroomLimit, HeadroomLimit.String, func() []*Schema {
	return append(size(1, maxSize).forms(), pattern(timesForm, "(1x to 1000x the calculated headroom)"))
}}

func readHeadroomLimit(text string) (HeadroomLimit, error) {
	times, ok := strings.CutSuffix(text, "x")
	if !ok {
		n, err := or(size(1, maxSize), "4x for four times the calculated headroom").read(text)
		return HeadroomLimit{Bytes: n}, err
	}
	n, err := strconv.ParseFloat(times, 64)
	if err != nil || !(n >= 1 && n <= 1000) {
		return HeadroomLimit{}, errors.New("is out of range: write 1x to 1000x the calculated headroom, or a size")
	}
	return HeadroomLimit{Times: n}, nil
}

// Bits is the limit of a port with this calculated headroom.
func (l HeadroomLimit) Bits(calculated int64) int64 {
	if l.Times > 0 {
		return int64(l.Times * float64(calculated))
	}
	return 8 * l.Bytes
}

// String writes the limit as the file does.
func (l HeadroomLimit) String() string {
	if l.Times > 0 {
		return formatNumber(l.Times) + "x"
	}
	return formatSize(l.Bytes)
}

// opcode reads the opcode of measurement frames. The opcodes of PAUSE, PFC and EPON are refused.
var opcode = hex(&Schema{Type: "integer", Minimum: new(float64(0x19)), Maximum: new(float64(0xFFFF)),
	Not: &Schema{Enum: []any{0x0101}}}, "is no opcode: write a number such as 0xFFFE", 0,
	func(n uint64) bool { return n <= 0x18 || n == 0x0101 },
	"is the opcode of another MAC Control frame: write one above 0x0018 that is not 0x0101, such as 0xFFFE")

var extensionIdentifier = simple(pattern(`^`+octetForm+`(-`+octetForm+`){2}$`, ""),
	"is no identifier: write three octets, such as 02-50-46",
	func(id [3]byte) string { return fmt.Sprintf("%02x-%02x-%02x", id[0], id[1], id[2]) },
	func(text string) (id [3]byte, ok bool) {
		parts := strings.Split(text, "-")
		for i, part := range parts {
			n, err := strconv.ParseUint(part, 16, 8)
			if err != nil || len(part) != 2 || len(parts) != len(id) {
				return id, false
			}
			id[i] = byte(n)
		}
		return id, true
	})

// privateEtherType reads an EtherType. The EtherTypes of known protocols are refused.
var privateEtherType = hex(whole(0x0600, 0xFFFF), "is no EtherType: write a number from 0x0600 on, such as 0x88B5",
	0x0600, func(n uint64) bool {
		return slices.Contains([]uint64{0x0800, 0x0806, 0x8100, 0x86DD, 0x8808, 0x88A8, 0x88B6, 0x88CC}, n)
	}, "is the EtherType of another protocol: write a local experimental one, such as 0x88B5")

var percentile = float(&Schema{Type: "number", Minimum: new(float64(50)), Maximum: new(float64(100))},
	"is no percentile: write a number from 50 to 100, such as 99.9",
	func(n float64) bool { return n >= 50 && n <= 100 })
