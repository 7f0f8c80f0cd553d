package bridge

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/frame"
)

const probeHex = "035046430001" + "02000000000a" + "88b6" + // destination, source, EtherType
	"4c4f4f50" + "01" + "00" + // magic, version, zero
	"deadbeef01020304" + "0007" + "00010203" + // identity, port, sequence
	"0000000000000000000000000000000000000000000000000000"

var probe7 = Probe{Identity: testIdentity, Port: 7, Sequence: 0x010203}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAppendProbe(t *testing.T) {
	want := unhex(t, probeHex)
	got := AppendProbe([]byte{1, 2, 3}, stationA, probe7)
	if !bytes.Equal(got[:3], []byte{1, 2, 3}) || !bytes.Equal(got[3:], want) {
		t.Errorf("\n got %x\nwant 010203%x", got, want)
	}
	if len(want) != ProbeLen {
		t.Errorf("%d octets, want %d", len(want), ProbeLen)
	}
}

// TestProbeAddress: bridges flood the probe, ours do too, and nobody else was given the address.
func TestProbeAddress(t *testing.T) {
	const local = 1 << 41 // U/L bit
	if !frame.IsGroup(ProbeAddress) || Reserved(ProbeAddress) || ProbeAddress&local == 0 {
		t.Errorf("%012x: group %v, reserved %v, local %v; want true, false, true",
			uint64(ProbeAddress), frame.IsGroup(ProbeAddress), Reserved(ProbeAddress), uint64(ProbeAddress)&local != 0)
	}
}

func TestParseProbe(t *testing.T) {
	frame := unhex(t, probeHex)
	tagged := func(tags string) []byte { return slices.Concat(frame[:12], unhex(t, tags), frame[12:]) }
	for name, b := range map[string][]byte{
		"as sent":              frame,
		"without padding":      frame[:34],
		"with a customer tag":  tagged("8100 600a"),
		"with a service tag":   tagged("88a8 0064"),
		"with both tags":       tagged("88a8 0064 8100 000a"),
		"with a trailing FCS":  append(slices.Clone(frame), 1, 2, 3, 4),
		"reserved octet is 99": edited(frame, 19, 99),
		"padding is not zero":  edited(frame, 59, 1),
		"another source":       edited(frame, 6, 0),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseProbe(b)
			if err != nil || got != probe7 {
				t.Errorf("got %+v, %v; want %+v", got, err, probe7)
			}
		})
	}
	for name, b := range map[string][]byte{
		"empty":               nil,
		"one octet short":     frame[:33],
		"another destination": edited(frame, 5, 2),
		"another EtherType":   edited(frame, 13, 0xB5),
		"another magic":       edited(frame, 17, 'Q'),
		"another version":     edited(frame, 18, 2),
		"three tags":          tagged("88a8 0064 8100 000a 8100 000b"),
		"tagged and short":    tagged("8100 000a")[:37],
		"nothing but tags":    append(frame[:12:12], bytes.Repeat([]byte{0x81, 0, 0, 1}, 6)...),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseProbe(b); err != ErrNotProbe || got != (Probe{}) {
				t.Errorf("got %+v, %v; want the zero probe, ErrNotProbe", got, err)
			}
		})
	}
}

func edited(frame []byte, at int, to byte) []byte {
	b := slices.Clone(frame)
	b[at] = to
	return b
}
