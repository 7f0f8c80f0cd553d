package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HeadroomDefaults are the switch-wide settings of headroom and its measurement. Both ends of a link need the same
// opcode, identifier and EtherType.
type HeadroomDefaults struct {
	K          int64         // bits; of ports that say nothing else
	Precision  time.Duration // by which a stamp may be wrong; 0: as the clock is found to be
	Answer     AnsweringPoint
	Mode       AnswerMode
	Stamps     Stamps
	Variant    StampVariant
	Opcode     uint16
	Identifier [3]byte
	EtherType  uint16        // of measurement frames on links that swallow MAC Control
	Percentile float64       // of reactions, in percent
	Interval   time.Duration // in which eight measurements are made
	Min        int64         // bytes below which nothing found goes; 0: what IEEE 802.1Q asks for without a cable
	Max        HeadroomLimit
	Agree      Agreement
	// SendRequest lets a peer that has agreed to measure have this end fill the link, for its own check.
	SendRequest bool
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
		Opcode: 0xFFFE, Identifier: [3]byte{0x02, 0x50, 0x46}, EtherType: 0x88B5, Percentile: 99.9,
		Interval: time.Second,
		Max:      HeadroomLimit{Times: 4}, Agree: AgreeLLDP}
}

// bitsOfK reads the part of the headroom that neither calculation nor measurement can see.
var bitsOfK = number[int64]("number of bits", 0, 1<<40)

func (h *HeadroomDefaults) read(v value) {
	v.read(
		field{"k", set(&h.K, bitsOfK)},
		field{"precision", func(v value) {
			if h.Precision = 0; !v.is("auto") {
				set(&h.Precision, or(duration(1, time.Millisecond), "auto"))(v)
			}
		}},
		field{"answer", set(&h.Answer, oneOf(AnswerGenerator, AnswerLink))},
		field{"mode", set(&h.Mode, oneOf(ModeAcknowledge, ModeLoopback))},
		field{"stamps", set(&h.Stamps, oneOf(FourStamps, TwoStamps))},
		field{"variant", set(&h.Variant, oneOf(VariantMAC, VariantClient))},
		field{"opcode", set(&h.Opcode, opcode)},
		field{"identifier", set(&h.Identifier, extensionIdentifier)},
		field{"ethertype", set(&h.EtherType, privateEtherType)},
		field{"percentile", set(&h.Percentile, percentile)},
		field{"interval", set(&h.Interval, duration(10*time.Millisecond, 100*time.Second))},
		field{"min", set(&h.Min, size(0, maxSize))},
		field{"max", set(&h.Max, headroomLimit)},
		field{"agree", set(&h.Agree, oneOf(AgreeLLDP, AgreeAlways))},
		field{"send_request", set(&h.SendRequest, toggle)},
	)
	if h.Mode == ModeLoopback && h.Stamps == FourStamps {
		v.at("stamps").fail("4 needs the peer's stamps, which a frame that is sent back does not have: write 2, or " +
			"mode: acknowledge")
	}
}

var headroomLimit = parser[HeadroomLimit]{readHeadroomLimit, func() []*Schema {
	return append(sizeForms(1, maxSize), pattern(timesForm, "(1x to 1000x the calculated headroom)"))
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
var opcode = numbers(&Schema{Type: "integer", Minimum: new(float64(0x19)), Maximum: new(float64(0xFFFF)),
	Not: &Schema{Enum: []any{0x0101}}}, readOpcode)

func readOpcode(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 0, 16)
	switch {
	case err != nil:
		return 0, errors.New("is no opcode: write a number such as 0xFFFE")
	case n <= 0x18 || n == 0x0101:
		return 0, errors.New("is the opcode of another MAC Control frame: write one above 0x0018 that is not 0x0101, " +
			"such as 0xFFFE")
	}
	return uint16(n), nil
}

var extensionIdentifier = matching(`^`+octetForm+`(-`+octetForm+`){2}$`, readExtensionIdentifier)

func readExtensionIdentifier(text string) (id [3]byte, err error) {
	parts := strings.Split(text, "-")
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 16, 8)
		if err != nil || len(part) != 2 || len(parts) != len(id) {
			return id, errors.New("is no identifier: write three octets, such as 02-50-46")
		}
		id[i] = byte(n)
	}
	return id, nil
}

// privateEtherType reads an EtherType. The EtherTypes of known protocols are refused.
var privateEtherType = numbers(whole(0x0600, 0xFFFF), readPrivateEtherType)

func readPrivateEtherType(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 0, 16)
	if err != nil || n < 0x0600 {
		return 0, errors.New("is no EtherType: write a number from 0x0600 on, such as 0x88B5")
	}
	switch n {
	case 0x0800, 0x0806, 0x8100, 0x86DD, 0x8808, 0x88A8, 0x88B6, 0x88CC:
		return 0, errors.New("is the EtherType of another protocol: write a local experimental one, such as 0x88B5")
	}
	return uint16(n), nil
}

var percentile = numbers(between(50, 100), readPercentile)

func readPercentile(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 50 && n <= 100) {
		return 0, errors.New("is no percentile: write a number from 50 to 100, such as 99.9")
	}
	return n, nil
}

func (w *writer) headroom(h *HeadroomDefaults) {
	precision := "auto"
	if h.Precision > 0 {
		precision = formatTime(h.Precision)
	}
	w.line("headroom:")
	w.line("  k: %d", h.K)
	w.line("  precision: %s", precision)
	w.line("  answer: %s", h.Answer)
	w.line("  mode: %s", h.Mode)
	w.line("  stamps: %s", h.Stamps)
	w.line("  variant: %s", h.Variant)
	w.line("  opcode: 0x%04X", h.Opcode)
	w.line("  identifier: %s", fmt.Sprintf("%02x-%02x-%02x", h.Identifier[0], h.Identifier[1], h.Identifier[2]))
	w.line("  ethertype: 0x%04X", h.EtherType)
	w.line("  percentile: %s", formatNumber(h.Percentile))
	w.line("  interval: %s", formatTime(h.Interval))
	w.line("  min: %s", formatSize(h.Min))
	w.line("  max: %s", h.Max)
	w.line("  agree: %s", h.Agree)
	w.line("  send_request: %s", formatToggle(h.SendRequest))
}
