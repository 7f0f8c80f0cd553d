package headroom

import (
	"math"
	"testing"
	"time"
)

func TestSendLimit(t *testing.T) {
	const wire = tagged + WireOverhead
	tests := []struct {
		name         string
		speed, frame int64
		want         int64
	}{
		{"one frame at least", 10 * mbit, tagged, wire},
		{"50 us", gbit, tagged, 6250},
		{"64 frames at most", 100 * gbit, tagged, 64 * wire},
		{"no rate: one super-frame", 0, tagged, SuperFrame + WireOverhead},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := SendLimit(tt.speed, tt.frame); got != tt.want {
				t.Errorf("SendLimit(%d, %d)\n got %d\nwant %d", tt.speed, tt.frame, got, tt.want)
			}
		})
	}
}

func TestDefaultBurst(t *testing.T) {
	tests := []struct{ speed, frame, want int64 }{
		{0, tagged, 0},
		{10 * mbit, tagged, 2 * 1542},
		{gbit, tagged, 62_500},
		{gbit, 65_535, 2 * (65_535 + 24)},
		{10 * gbit, tagged, 625_000},
	}
	for _, tt := range tests {
		if got := DefaultBurst(tt.speed, tt.frame); got != tt.want {
			t.Errorf("DefaultBurst(%d, %d)\n got %d\nwant %d", tt.speed, tt.frame, got, tt.want)
		}
	}
}

func TestBitsIn(t *testing.T) {
	tests := []struct {
		speed int64
		d     time.Duration
		want  int64
	}{
		{gbit, time.Second, gbit},
		{gbit, 1, 1},
		{10 * mbit, 1, 1}, // a hundredth of a bit, rounded up
		{10 * mbit, 0, 0},
		{gbit, -time.Second, 0},
		{0, time.Microsecond, 10_000},
		{400 * gbit, time.Hour, 400 * gbit * 3600},
		{math.MaxInt64, time.Second, math.MaxInt64},
		{math.MaxInt64, time.Second + 1, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		if got := BitsIn(tt.speed, tt.d); got != tt.want {
			t.Errorf("BitsIn(%d, %v)\n got %d\nwant %d", tt.speed, tt.d, got, tt.want)
		}
	}
}

func TestOctetsAndCells(t *testing.T) {
	for _, tt := range []struct{ bits, want int64 }{{0, 0}, {1, 1}, {8, 1}, {9, 2},
		{math.MaxInt64, math.MaxInt64/8 + 1}} {
		if got := Octets(tt.bits); got != tt.want {
			t.Errorf("Octets(%d)\n got %d\nwant %d", tt.bits, got, tt.want)
		}
	}
	for _, tt := range []struct{ octets, cell, want int64 }{{0, 256, 0}, {1, 256, 1}, {256, 256, 1}, {257, 256, 2},
		{257, 1, 257}} {
		if got := Cells(tt.octets, tt.cell); got != tt.want {
			t.Errorf("Cells(%d, %d)\n got %d\nwant %d", tt.octets, tt.cell, got, tt.want)
		}
	}
}
