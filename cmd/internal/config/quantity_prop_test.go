package config

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is written reads back as the very same quantity.
func TestQuantitiesSurviveWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, maxSize).Draw(t, "bytes")
		if got, err := size(0, maxSize).read(formatSize(bytes)); err != nil || got != bytes {
			t.Errorf("size %d: written %q, read %d, %v", bytes, formatSize(bytes), got, err)
		}
		bits := rapid.Int64Range(minRate, maxRate).Draw(t, "bits")
		if got, err := rate(minRate).read(formatRate(bits)); err != nil || got != bits {
			t.Errorf("rate %d: written %q, read %d, %v", bits, formatRate(bits), got, err)
		}
		length := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "time"))
		if got, err := duration(0, time.Hour).read(formatTime(length)); err != nil || got != length {
			t.Errorf("time %d: written %q, read %d, %v", length, formatTime(length), got, err)
		}
		fraction := rapid.Float64Range(math.SmallestNonzeroFloat64, 1).Draw(t, "fraction")
		if got, err := share.read(formatShare(fraction)); err != nil || got != fraction {
			t.Errorf("share %v: written %q, read %v, %v", fraction, formatShare(fraction), got, err)
		}
	})
}

func TestRoundQuantitiesAreWrittenShort(t *testing.T) {
	for got, want := range map[string]string{
		formatSize(0): "0B", formatSize(256): "256B", formatSize(64 << 10): "64KiB", formatSize(1 << 40): "1024GiB", formatSize(1542): "1542B",
		formatRate(1e9): "1G", formatRate(2_500_000_000): "2.5G", formatRate(100_000_000): "100M", formatRate(1_234_567): "1234.567K",
		formatRate(1_000_000_001): "1000000.001K",
		formatTime(0):             "0ns", formatTime(300 * time.Second): "300s", formatTime(1500 * time.Microsecond): "1500us",
		formatShare(0.1): "10%", formatShare(0.005): "0.5%", formatShare(1): "100%",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
