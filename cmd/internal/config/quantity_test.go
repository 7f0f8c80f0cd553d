package config

import (
	"math"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// wantReads checks which texts a parser reads as what, and which it refuses.
func wantReads[T comparable](t *testing.T, name string, p parser[T], good map[string]T, refused ...string) {
	t.Helper()
	for text, want := range good {
		got, err := p.read(text)
		assert.True(t, err == nil && got == want, "%s %q\n got %v, %v\nwant %v", name, text, got, err, want)
	}
	for _, text := range refused {
		got, err := p.read(text)
		assert.True(t, err != nil, "%s %q\n got %v\nwant an error", name, text, got)
	}
}

func TestQuantities(t *testing.T) {
	wantReads(t, "size", size(0, maxSize), map[string]int64{"0": 0, "1": 1, "256B": 256, "4KiB": 4096, "8MiB": 8 << 20,
		"1GiB": 1 << 30, "4kB": 4000, "4KB": 4000, "1.5KiB": 1536, "0.5MB": 500_000, "0.001kB": 1, "1024GiB": 1 << 40},
		"1025GiB", "0.3B", "1.5", "-1", "+1", "", "KiB", "4 KiB", "4Kib", "4k", "1e3", "0x10", "1.", ".5KiB", "1.2.3",
		"1/2", "99999999999999999999", "0.99999999999999999999", "999999999999999999GiB")
	wantReads(t, "rate", rate(minRate), map[string]int64{"1M": 1e6, "100M": 1e8, "1G": 1e9, "2.5G": 2_500_000_000,
		"0.8T": 8e11, "1000K": 1e6, "1000000": 1e6},
		"999K", "801G", "1g", "1Gbps", "fast", "")
	wantReads(t, "duration", duration(0, time.Second), map[string]time.Duration{"0": 0, "0s": 0,
		"5us": 5 * time.Microsecond, "5µs": 5 * time.Microsecond, "10ms": 10 * time.Millisecond,
		"0.5s": 500 * time.Millisecond, "17ns": 17, "1s": time.Second},
		"1.1s", "10", "1m", "-1ms", "0.5ns", "soon")
	wantReads(t, "cable, 5 ns/m", cable, map[string]time.Duration{"0": 0, "0m": 0, "1m": 5, "100m": 500, "1.5m": 7,
		"10km": 50 * time.Microsecond, "200000km": time.Second},
		"200001km", "100", "100ft", "-1m", "0.0001m")
	wantReads(t, "share", share, map[string]float64{"10%": 0.1, "100%": 1, "0.1": 0.1, "1": 1, "0.5%": 0.005},
		"0%", "0", "10", "-1%", "NaN", "Inf%", "ten", "%")
	wantReads(t, "alpha", alpha, map[string]float64{"1": 1, "0.0625": 0.0625, "1024": 1024, "8.0": 8},
		"0", "-1", "1025", "NaN", "Inf", "1/16", "")
}

func TestWords(t *testing.T) {
	wantReads(t, "toggle", toggle, map[string]bool{"on": true, "true": true, "yes": true, "off": false, "false": false,
		"no": false}, "", "1", "On", "enabled")
	wantReads(t, "listen address", orOff(listenAddress), map[string]string{"127.0.0.1:9808": "127.0.0.1:9808",
		":9808": ":9808", "[::1]:0": "[::1]:0", "leaf1.example:80": "leaf1.example:80", "off": ""},
		"", "9808", "host", "host:", "host:http", "host:65536", "host:00", "a b:1", "::1:80", "host:1/x", "a/b:1")
	for _, tt := range []struct {
		name          string
		parse         parser[string]
		good, refused []string
	}{
		{"interface", interfaceName, []string{"p1", "eth0.100", "e1-1", "fifteen-bytes-1"},
			[]string{"", ".", "..", "sixteen-bytes-12", "a/b", "a b", "a:1", "a\x00"}},
		{"namespace", namespace, []string{"sw", "/run/netns/sw", "pid:1", "a:b"},
			[]string{"", ".", "..", "a/b", "pid:", "pid:0", "pid:-1", "pid:x", "/a\nb"}},
		{"socket", socketPath, []string{"/run/pfcswitch/leaf1.sock", "/a b", "/" + strings.Repeat("x", 106)},
			[]string{"", "a.sock", "/run/", "/" + strings.Repeat("x", 107), "/a\x01"}},
		{"switch", switchName, []string{"leaf1", "7", "a.b_c-d"},
			[]string{"", "-a", "a/b", "a b", "é", strings.Repeat("x", 65)}},
	} {
		itself := map[string]string{}
		for _, text := range tt.good {
			itself[text] = text
		}
		wantReads(t, tt.name, tt.parse, itself, tt.refused...)
	}
}

// What is written reads back as the very same quantity.
func TestQuantitiesSurviveWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, maxSize).Draw(t, "bytes")
		if got, err := size(0, maxSize).read(formatSize(bytes)); err != nil || got != bytes {
			t.Errorf("size %d: written %q, read %d, %v", bytes, formatSize(bytes), got, err)
		}
		bits := rapid.Int64Range(minRate, maxRate).Draw(t, "bits")
		got, err := rate(minRate).read(formatRate(bits))
		assert.True(t, err == nil && got == bits, "rate %d: written %q, read %d, %v", bits, formatRate(bits), got, err)
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
		formatSize(0): "0B", formatSize(256): "256B", formatSize(64 << 10): "64KiB", formatSize(1 << 40): "1024GiB",
		formatSize(1542): "1542B",
		formatRate(1e9):  "1G", formatRate(2_500_000_000): "2.5G", formatRate(100_000_000): "100M",
		formatRate(1_234_567):     "1234.567K",
		formatRate(1_000_000_001): "1000000.001K",
		formatTime(0):             "0ns", formatTime(300 * time.Second): "300s",
		formatTime(1500 * time.Microsecond): "1500us",
		formatShare(0.1):                    "10%", formatShare(0.005): "0.5%", formatShare(1): "100%",
	} {
		assert.True(t, got == want, "got %q, want %q", got, want)
	}
}
