package config

import (
	"testing"
	"time"
)

func TestLosslessSlots(t *testing.T) {
	tests := []struct {
		name, port string
		slots      int64
		slotBytes  int64
	}{
		{"1G", "speed: 1G", 4876, 1632}, // 60 ms · 1G / (1538 · 8)
		{"100M", "speed: 100M", 512, 1632},
		{"20M", "speed: 20M", 512, 1632},
		{"20M, and a short outage", "speed: 20M, ring: {outage: 60ms}", 97, 1632},
		{"10G is limited by max", "speed: 10G", 20_560, 1632}, // 32 MiB / 1632
		{"jumbo", "speed: 1G, mtu: 9000", 829, 9136},
		{"no speed counts as 10G", "speed: none, ring: {max: 1GiB}", 48_764, 1632},
		{"one at least", "speed: 1M, ring: {outage: 1ms}", 1, 1632},
		{"small slots", "speed: 1G, ring: {frame: 64}", 85_227, 176},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustParse(t, "ports: {p1: {"+tt.port+"}}").Ports[0]
			if got := p.LosslessSlots(); got != tt.slots {
				t.Errorf("slots\n got %d\nwant %d", got, tt.slots)
			}
			if got := p.Ring.SlotBytes(); got != tt.slotBytes {
				t.Errorf("bytes of a slot\n got %d\nwant %d", got, tt.slotBytes)
			}
		})
	}
}

func TestOutage(t *testing.T) {
	p := mustParse(t, "ports: {p1: {speed: 1G}}").Ports[0]
	tests := []struct {
		frame int64
		want  time.Duration
	}{
		{1514, 4876 * 1538 * 8},
		{144, 16_384 * 168 * 8}, // from here on down the other ring takes them
		{60, 16_384 * 84 * 8},
		{145, 4876 * 169 * 8}, // the worst length
	}
	for _, tt := range tests {
		if got := p.Outage(tt.frame); got != tt.want {
			t.Errorf("outage at %d octets\n got %v\nwant %v", tt.frame, got, tt.want)
		}
	}
	p.Ring.Small = 50_000
	if got, want := p.Outage(60), time.Duration(50_000*84*8); got != want {
		t.Errorf("outage with a number of small slots\n got %v\nwant %v", got, want)
	}
	p.Speed = 0
	if got, want := p.Outage(1514), time.Duration(20_560*1538*8/10); (got - want).Abs() > time.Microsecond {
		t.Errorf("outage without a speed\n got %v\nwant %v", got, want)
	}
}
