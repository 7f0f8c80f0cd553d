package main

import (
	"encoding/hex"
	"testing"
)

func TestParseIperf(t *testing.T) {
	const good = `{"end":{"sum_sent":{"bytes":100,"bits_per_second":1,"retransmits":42},"sum_received":{"bytes":90,"bits_per_second":8e9}}}`
	r, err := parseIperf([]byte(good))
	if err != nil || r.End.Sent.Retransmits != 42 || r.End.Received.BitRate != 8e9 || r.End.Received.Octets != 90 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"", "{", `{"error":"unable to connect"}`, `{"end":{"sum_received":{"bytes":0,"bits_per_second":0}}}`} {
		if _, err := parseIperf([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestParseProbes(t *testing.T) {
	const good = `{"flows":[{"received":100,"lost":2,"finished":true,"latency_ns":{"p50":1000,"p99":20000,"p999":300000,"max":400000}}]}`
	values, err := parseProbes([]byte(good))
	want := []value{{p50, 1}, {p99, 20}, {p999, 300}, {highest, 400}, {count, 100}, {lost, 2}}
	if err != nil || len(values) != len(want) {
		t.Fatalf("%v, %v", values, err)
	}
	for i := range want {
		if values[i] != want[i] {
			t.Errorf("%v, want %v", values[i], want[i])
		}
	}
	for _, text := range []string{"", "{}", `{"flows":[{"received":0,"finished":true}]}`, `{"flows":[{"received":5}]}`, `{"flows":[{},{}]}`} {
		if _, err := parseProbes([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// The octets of IEEE 802.1Q figure 36-1: opcode 0101, enable vector with bit 3, eight times.
func TestPFCFrame(t *testing.T) {
	const want = "0180c2000001" + "020000000002" + "8808" + "0101" + "0008" + "0000" + "0000" + "0000" + "1234" + "0000" + "0000" + "0000" + "0000"
	b := pfcFrame(3, 0x1234)
	if got := hex.EncodeToString(b[:34]); got != want || len(b) != 60 {
		t.Errorf("%d octets %s, want 60 with %s", len(b), got, want)
	}
}

func TestPauseTime(t *testing.T) {
	// 512 bit times at 100 Mbit/s are 5.12 µs.
	for q, want := range map[uint16]int64{0: 0, 1: 5120, 1000: 5_120_000, 0xffff: 335_539_200} {
		if got := pauseTime(q); got != want {
			t.Errorf("%d quanta: %d ns, want %d", q, got, want)
		}
	}
}

func TestSilence(t *testing.T) {
	var w silence
	w.begin(1000)
	for _, at := range []int64{1010, 1020, 1500, 1510, 1900} {
		w.frame(at)
	}
	if w.from != 1020 || w.to != 1500 {
		t.Errorf("from %d to %d, want 1020 to 1500", w.from, w.to)
	}
	if !w.over(1899) || w.over(1900) {
		t.Error("the last frame came at 1900")
	}
	w.begin(0)
	w.frame(400) // none before: the silence began with the question
	if w.from != 0 || w.to != 400 {
		t.Errorf("from %d to %d, want 0 to 400", w.from, w.to)
	}
}

func TestStationFrames(t *testing.T) {
	seen := map[[6]byte]bool{}
	for i := range stations {
		m := stationMAC(i)
		if seen[m] || m[0]&1 != 0 {
			t.Fatalf("station %d: %x is a group's or another's", i, m)
		}
		seen[m] = true
	}
	const want = "020000000001" + "021000000102" + "8100" + "000a" + "88b5"
	if got := hex.EncodeToString(stationFrame([6]byte{2, 0, 0, 0, 0, 1}, stationMAC(0x102))); got[:36] != want || len(got) != 120 {
		t.Errorf("%s, want %s…", got, want)
	}
}
