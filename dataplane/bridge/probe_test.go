package bridge

import (
	"bytes"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

const probeHex = "035046430001" + "02000000000a" + "88b6" + // destination, source, EtherType
	"4c4f4f50" + "02" + "00" + // magic, version, zero
	"deadbeef01020304" + "0007" + "00010203" + // identity, port, sequence
	"a0a1a2a3a4a5a6a7a8a9aaabacadaeaf" + // authenticator
	"00000000000000000000"

var probe7 = Probe{Identity: testIdentity.Public, Port: 7, Sequence: 0x010203, Authenticator: [16]byte{0xa0, 0xa1,
	0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf}}

func TestAppendProbe(t *testing.T) {
	want := assert.Hex(t, probeHex)
	got := AppendProbe([]byte{1, 2, 3}, stationA, probe7)
	assert.True(t, bytes.Equal(got[:3], []byte{1, 2, 3}) && bytes.Equal(got[3:], want), "\n got %x\nwant 010203%x", got,
		want)
	assert.Equal(t, len(want), ProbeLen, "octets")
}

// TestAuthenticator: the authenticator is the first half of HMAC-SHA256 of the probe's octets from the magic to the
// sequence number. The value is of Python's hmac module.
func TestAuthenticator(t *testing.T) {
	b := newBridge(t, Config{})
	got := b.authenticator(&probe7)
	want := assert.Hex(t, "4641f9cc4bd9fe6c9e4905b202b838b3")
	assert.True(t, bytes.Equal(got[:], want), "\n got %x\nwant %x", got, want)
}

// TestProbeAddress: bridges flood the probe, ours do too, and nobody else was given the address.
func TestProbeAddress(t *testing.T) {
	const local = 1 << 41 // U/L bit
	assert.True(t, frame.IsGroup(ProbeAddress) && !Reserved(ProbeAddress) && ProbeAddress&local != 0,
		"%012x: group %v, reserved %v, local %v; want true, false, true", uint64(ProbeAddress),
		frame.IsGroup(ProbeAddress), Reserved(ProbeAddress), uint64(ProbeAddress)&local != 0)
}

func TestParseProbe(t *testing.T) {
	frame := assert.Hex(t, probeHex)
	tagged := func(tags string) []byte { return slices.Concat(frame[:12], assert.Hex(t, tags), frame[12:]) }
	for name, b := range map[string][]byte{
		"as sent":              frame,
		"without padding":      frame[:50],
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
			assert.True(t, err == nil && got == probe7, "got %+v, %v; want %+v", got, err, probe7)
		})
	}
	for name, b := range map[string][]byte{
		"empty":               nil,
		"one octet short":     frame[:49],
		"another destination": edited(frame, 5, 2),
		"another EtherType":   edited(frame, 13, 0xB5),
		"another magic":       edited(frame, 17, 'Q'),
		"another version":     edited(frame, 18, 1),
		"three tags":          tagged("88a8 0064 8100 000a 8100 000b"),
		"tagged and short":    tagged("8100 000a")[:53],
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
