package config

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
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

// fastest is the highest rate that is accepted, in bit/s; slowest the lowest.
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

// size reads bytes in a closed range.
func size(least, most int64) parser[int64] {
	return parser[int64]{func(text string) (int64, error) {
		n, ok := quantity(text, sizeUnits)
		if !ok {
			return 0, errors.New("is not a size: write whole bytes with a unit, such as 256B, 4KiB or 8MiB")
		}
		if n < least || n > most {
			return 0, fmt.Errorf("is out of range: write %s to %s", formatSize(least), formatSize(most))
		}
		return n, nil
	}, func() []*Schema { return sizeForms(least, most) }}
}

// rate reads bit/s from least on.
func rate(least int64) parser[int64] {
	return parser[int64]{func(text string) (int64, error) {
		n, ok := quantity(text, rateUnits)
		if !ok {
			return 0, errors.New("is not a rate: write bit/s with K, M or G, such as 100M, 2.5G or 10G")
		}
		if n < least || n > maxRate {
			return 0, fmt.Errorf("is out of range: write %s to %s", formatRate(least), formatRate(maxRate))
		}
		return n, nil
	}, func() []*Schema { return rateForms(least) }}
}

// duration reads a time in a closed range.
func duration(least, most time.Duration) parser[time.Duration] {
	return parser[time.Duration]{func(text string) (time.Duration, error) {
		n, ok := quantity(text, timeUnits)
		if !ok && text != "0" {
			return 0, errors.New("is not a time: write a number with ns, us, ms or s, such as 10ms or 300s")
		}
		if d := time.Duration(n); d >= least && d <= most {
			return d, nil
		}
		return 0, fmt.Errorf("is out of range: write %s to %s", formatTime(least), formatTime(most))
	}, func() []*Schema { return timeForms(least, most) }}
}

// cable reads a length as its propagation delay at 5 ns/m.
var cable = parser[time.Duration]{readCable,
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

// number reads a whole number in a closed range; what names it in errors.
func number[T ~int | ~int64 | ~uint8 | ~uint16](what string, least, most int64) parser[T] {
	return numbers(whole(least, most), func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("is no %s: write a number from %d to %d", what, least, most)
		}
		return T(n), nil
	})
}

// alpha reads a Dynamic Threshold factor.
var alpha = numbers(above(0, 1024), readAlpha)

func readAlpha(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= 1024) {
		return 0, errors.New("is not an alpha: write a number above 0 and up to 1024, such as 0.125, 1 or 8")
	}
	return n, nil
}

// share reads a percentage or a fraction, as a fraction.
var share = parser[float64]{readShare, func() []*Schema { return []*Schema{pattern(percentForm, ""), above(0, 1)} }}

func readShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if err != nil || !(n > 0 && n <= 1) {
		return 0, errors.New("is not a share: write a percentage above 0% and up to 100%, such as 10%")
	}
	return n, nil
}

// toggle reads on and off.
var toggle = parser[bool]{readToggle, func() []*Schema {
	return []*Schema{{Enum: []any{"on", "off", true, false, "yes", "no", "true", "false"}}}
}}

func readToggle(text string) (bool, error) {
	switch text {
	case "on", "true", "yes":
		return true, nil
	case "off", "false", "no":
		return false, nil
	}
	return false, errors.New("is neither on nor off: write one of them")
}

// oneOf reads one of several words.
func oneOf[T ~string](all ...T) parser[T] {
	return parser[T]{func(text string) (T, error) {
		var names []string
		for _, word := range all {
			if string(word) == text {
				return word, nil
			}
			names = append(names, string(word))
		}
		if meant := nearest(text, names); meant != "" {
			return "", fmt.Errorf("is unknown: did you mean %s?", meant)
		}
		return "", fmt.Errorf("is unknown: write %s", alternatives(names))
	}, func() []*Schema { return []*Schema{words(all...)} }}
}

// or adds to a parser's errors the words that its key accepts instead.
func or[T any](p parser[T], words ...string) parser[T] {
	return parser[T]{func(text string) (T, error) {
		parsed, err := p.read(text)
		if err != nil {
			err = fmt.Errorf("%w, or %s", err, strings.Join(words, ", or "))
		}
		return parsed, err
	}, p.forms}
}

func alternatives(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

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
	if again, err := readShare(percent); err == nil && again == fraction {
		return percent
	}
	return strconv.FormatFloat(fraction, 'f', -1, 64)
}

func formatToggle(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// ParseRate reads a rate in bit/s as the file writes it, such as 200M or 1.5G.
func ParseRate(text string) (int64, error) { return rate(1).read(text) }
