package config

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"pfcswitch/buffer"
)

// unit is a suffix and its factor. In tables a suffix comes before every suffix that it ends with.
type unit struct {
	suffix string
	factor int64
}

var (
	sizeUnits = []unit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
	}
	rateUnits   = []unit{{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1}}
	lengthUnits = []unit{{"km", 1e6}, {"m", 1e3}} // in millimetres
	timeUnits   = []unit{{"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}, {"s", 1e9}}
)

// The rates that are accepted, in bit/s.
const (
	minRate int64 = 1_000_000
	maxRate int64 = 800_000_000_000
)

// maxSize bounds every size, so that no sum of sizes overflows.
const maxSize int64 = 1 << 40

// quantity reads a decimal number with a unit of the table, exactly.
func quantity(text string, units []unit) (int64, bool) {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		whole, fraction, _ := strings.Cut(number, ".")
		if !digits(whole) || strings.HasSuffix(number, ".") || fraction != "" && !digits(fraction) {
			return 0, false
		}
		r, ok := new(big.Rat).SetString(number)
		if !ok {
			return 0, false
		}
		r.Mul(r, new(big.Rat).SetInt64(u.factor))
		return r.Num().Int64(), r.IsInt() && r.Num().IsInt64()
	}
	return 0, false
}

func digits(text string) bool {
	return text != "" && len(text) <= 18 && strings.Trim(text, "0123456789") == ""
}

// measured reads a quantity in a closed range. forms describes it, with a text about the range.
func measured(what string, units []unit, least, most int64, write func(int64) string,
	forms func(about string) []*Schema) parser[int64] {
	return parser[int64]{func(text string) (int64, error) {
		switch n, ok := quantity(text, units); {
		case !ok && text != "0":
			return 0, errors.New(what)
		case n < least || n > most:
			return 0, fmt.Errorf("is out of range: write %s to %s", write(least), write(most))
		default:
			return n, nil
		}
	}, write, func() []*Schema { return forms("(" + write(least) + " to " + write(most) + ")") }}
}

// size reads bytes in a closed range.
func size(least, most int64) parser[int64] {
	return measured("is not a size: write whole bytes with a unit, such as 256B, 4KiB or 8MiB", sizeUnits, least, most,
		formatSize, func(about string) []*Schema { return []*Schema{pattern(sizeForm, about), whole(least, most)} })
}

// rate reads bit/s from least on.
func rate(least int64) parser[int64] {
	return measured("is not a rate: write bit/s with K, M or G, such as 100M, 2.5G or 10G", rateUnits, least, maxRate,
		formatRate, func(about string) []*Schema { return []*Schema{pattern(rateForm, about), whole(least, maxRate)} })
}

// duration reads a time in a closed range.
func duration(least, most time.Duration) parser[time.Duration] {
	p := measured("is not a time: write a number with ns, us, ms or s, such as 10ms or 300s", timeUnits, int64(least),
		int64(most), func(n int64) string { return formatTime(time.Duration(n)) }, func(about string) []*Schema {
			if least > 0 {
				return []*Schema{pattern(timeForm, about)}
			}
			return []*Schema{pattern(timeForm, about), {Enum: []any{0}}}
		})
	return parser[time.Duration]{func(text string) (time.Duration, error) {
		n, err := p.read(text)
		return time.Duration(n), err
	}, formatTime, p.forms}
}

// cable reads a length as its propagation delay at 5 ns/m.
var cable = parser[time.Duration]{readCable, nil,
	func() []*Schema { return []*Schema{pattern(lengthForm, ""), {Enum: []any{0}}} }}

func readCable(text string) (time.Duration, error) {
	millimetres, ok := quantity(text, lengthUnits)
	if !ok && text != "0" {
		return 0, errors.New("is not a length: write metres or kilometres, such as 100m or 10km")
	}
	const mostMillimetres = int64(maxDelay) / 5 * 1000
	if millimetres > mostMillimetres {
		return 0, fmt.Errorf("is out of range: write 0m to %dkm", mostMillimetres/1_000_000)
	}
	return time.Duration(millimetres * 5 / 1000), nil
}

// alpha reads a Dynamic Threshold factor.
var alpha = float(&Schema{Type: "number", Minimum: new(buffer.MinAlpha), Maximum: new(buffer.MaxAlpha)},
	"is not an alpha: write a number from 0.0009765625 (1/1024) to 1024, such as 0.125, 1 or 8",
	func(n float64) bool { return n >= buffer.MinAlpha && n <= buffer.MaxAlpha })

// poolRatio reads what all headrooms are together, over the size of the pool that holds them.
var poolRatio = float(&Schema{Type: "number", Minimum: new(float64(1)), Maximum: new(float64(buffer.MaxRatio))},
	"is not a ratio: write a number from 1 to 1024, such as 2",
	func(n float64) bool { return n >= 1 && n <= buffer.MaxRatio })

// share reads a percentage or a fraction above 0, as a fraction. shareOrNone reads 0 too.
var (
	share = parser[float64]{readShare, formatShare,
		func() []*Schema {
			return []*Schema{pattern(percentForm, ""),
				{Type: "number", ExclusiveMinimum: new(float64(0)), Maximum: new(float64(1))}}
		}}
	shareOrNone = parser[float64]{readShareOrNone, formatShare, func() []*Schema {
		return []*Schema{pattern(percentForm, ""), {Type: "number", Minimum: new(float64(0)), Maximum: new(float64(1))}}
	}}
)

func readShare(text string) (float64, error) {
	n, err := readShareOrNone(text)
	if err != nil || n == 0 {
		return 0, errors.New("is not a share: write a percentage above 0% and up to 100%, such as 10%")
	}
	return n, nil
}

func readShareOrNone(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if err != nil || !(n >= 0 && n <= 1) {
		return 0, errors.New("is not a share: write a percentage up to 100%, such as 10%")
	}
	return n, nil
}

// toggle reads on and off. truth writes them as true and false.
var (
	toggle = simple(&Schema{Enum: []any{"on", "off", true, false, "yes", "no", "true", "false"}},
		"is neither on nor off: write one of them", formatToggle, func(text string) (on, ok bool) {
			on = text == "on" || text == "true" || text == "yes"
			return on, on || text == "off" || text == "false" || text == "no"
		})
	truth = toggle.written(strconv.FormatBool)
)

func formatSize(n int64) string {
	return formatWhole(n, []unit{sizeUnits[2], sizeUnits[1], sizeUnits[0], {"B", 1}})
}

func formatTime(d time.Duration) string {
	return formatWhole(int64(d), []unit{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}})
}

// formatWhole writes n in the largest unit that divides it.
func formatWhole(n int64, units []unit) string {
	for _, u := range units {
		if n != 0 && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return "0" + units[len(units)-1].suffix
}

// formatRate writes bit/s in the largest unit that needs at most three decimals.
func formatRate(n int64) string {
	u := unit{"K", 1e3}
	for _, larger := range []unit{{"M", 1e6}, {"G", 1e9}} {
		if n >= larger.factor && n%(larger.factor/1000) == 0 {
			u = larger
		}
	}
	return strconv.FormatFloat(float64(n)/float64(u.factor), 'f', -1, 64) + u.suffix
}

// formatShare writes a fraction so that share reads exactly the same one.
func formatShare(fraction float64) string {
	percent := strconv.FormatFloat(fraction*100, 'f', -1, 64) + "%"
	if again, err := readShareOrNone(percent); err == nil && again == fraction {
		return percent
	}
	return strconv.FormatFloat(fraction, 'f', -1, 64)
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func formatToggle(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// ParseRate reads a rate in bit/s as the file writes it, such as 200M or 1.5G.
func ParseRate(text string) (int64, error) { return rate(1).read(text) }
