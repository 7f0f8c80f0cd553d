package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What no machine has is refused here, where it can be said which key it comes from.
func TestLimits(t *testing.T) {
	var many strings.Builder
	many.WriteString("ports:\n")
	for i := range 257 {
		fmt.Fprintf(&many, "  p%d: {}\n", i)
	}
	tests := []struct{ name, text, key, want string }{
		{"many small cells", "buffer: {lossy: {size: 2GiB}, cell: 80B}\nports: {p1: }", "buffer.cell", "16777216 are the most: write at least 129B"},
		{"lossy pool", "buffer: {lossy: {size: 1024GiB}, cell: 80B}\nports: {p1: }", "buffer.lossy.size", "16GiB"},
		{"lossless pool", "buffer: {lossless: {size: 17GiB}}\nports: {p1: }", "buffer.lossless.size", "17GiB: both pools"},
		{"both pools", "buffer: {lossless: {size: 9GiB}, lossy: {size: 8GiB}}\nports: {p1: }", "buffer.lossless.size", "together"},
		{"k", "preset: roce\nports: {p1: {k: 1099511627776}}", "buffer.lossless.size", "auto would be 2"},
		{"private", "preset: roce\nbuffer: {private: 1024GiB}\nports: {p1: }", "buffer.lossless.size", "auto would be"},
		{"delay", "ports: {p1: {speed: 800G, delay: 1s, mtu: 65535}}", "ports.p1.delay", "1s: the frames under way here"},
		{"delays", "ports: {p1: {speed: 10G, delay: 500ms}, p2: {speed: 10G, delay: 500ms}}", "ports.p2.delay", "of all ports"},
		{"delay without a speed", "ports: {p1: {speed: none, delay: 1s}}", "ports.p1.delay", "lower delay"},
		{"burst", "ports: {p1: {burst: 1GiB, delay: 1us}}", "ports.p1.delay", "burst"},
		{"other ring", "ports: {p1: {ring: {frame: 64KiB, other: 1048576}}}", "ports.p1.ring.other", "1048576 slots of 65648 bytes"},
		{"ports", many.String(), "ports", "257 ports: a switch has at most 256"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Parse("large.yaml", []byte(tt.text))
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("want an *Error, got %v", err)
			}
			if fault.Key != tt.key || !strings.Contains(fault.Text, tt.want) {
				t.Errorf("got %v\nwant key %s, %q", fault, tt.key, tt.want)
			}
		})
	}
	mustParse(t, "preset: roce\nbuffer: {lossless: {size: 2GiB}, lossy: {size: 2GiB}}\nports: {p1: {speed: 10G, delay: 500ms}}")
}
