package lldp

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestParsePDU(t *testing.T) {
	base := PDU{Chassis: leaf.Chassis, Port: leaf.Port, TTL: 121}
	with := func(change func(p *PDU)) PDU { p := base; change(&p); return p }
	tests := []struct {
		name string
		hex  string
		want PDU
		d    Discarded
	}{
		{"mandatory only", chassis + port + lifetime + end, base, Discarded{}},
		{"without an end", chassis + port + lifetime, base, Discarded{}},
		{"padding behind the end", chassis + port + lifetime + end + "ffff ff", base, Discarded{}},
		{"texts", chassis + port + lifetime + "0802 6131 0a01 62 0c01 63" + end,
			with(func(p *PDU) { p.PortDescription, p.SystemName, p.SystemDescription = "a1", "b", "c" }), Discarded{}},
		{"capabilities", chassis + port + lifetime + "0e04 0014 0004" + end,
			with(func(p *PDU) { p.Capabilities = &Capabilities{0x14, CapabilityBridge} }), Discarded{}},
		{"two management addresses",
			chassis + port + lifetime + "100c 05 01 c0000201 02 00000007 00" +
				"100e 07 06 020000000001 01 00000000 00" + end,
			with(func(p *PDU) {
				p.Management = []ManagementAddress{
					{FamilyIPv4, "\xc0\x00\x02\x01", NumberIfIndex, 7, ""}, {FamilyMAC, "\x02\x00\x00\x00\x00\x01",
						NumberUnknown, 0, ""}}
			}), Discarded{}},
		{"organization", chassis + port + lifetime + "fe06 0080c2 0b 2808" + end,
			with(func(p *PDU) { p.Organization = []Organization{{OUI{0, 0x80, 0xc2}, 11, "\x28\x08"}} }), Discarded{}},
		{"reserved type", chassis + port + lifetime + "1402 abcd" + end,
			with(func(p *PDU) { p.Reserved = []TLV{{10, []byte{0xab, 0xcd}}} }), Discarded{Reserved: 1}},
		{"second system name", chassis + port + lifetime + "0a01 62 0a01 63" + end,
			with(func(p *PDU) { p.SystemName = "b" }), Discarded{Malformed: 1}},
		{"management address that is too long", chassis + port + lifetime + "100c 09 01 c0000201 02 00000007 00" + end,
			base, Discarded{Malformed: 1}},
		{"time to live 0", chassis + port + "0602 0000" + end, with(func(p *PDU) { p.TTL = 0 }), Discarded{}},
	}
	for _, tt := range tests {
		p, d, err := ParsePDU(assert.Hex(t, tt.hex))
		assert.True(t, err == nil && d == tt.d && reflect.DeepEqual(p, tt.want),
			"%s: got %+v, %+v, %v\nwant %+v, %+v", tt.name, p, d, err, tt.want, tt.d)
	}
}

func TestParsePDURefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                    "",
		"another order":              port + chassis + lifetime + end,
		"no port ID":                 chassis + lifetime + end,
		"a second chassis ID":        chassis + port + lifetime + chassis + end,
		"a second time to live":      chassis + port + lifetime + lifetime + end,
		"chassis ID without octets":  "0201 04" + port + lifetime + end,
		"port ID of 256 octets":      chassis + "0501 05" + strings.Repeat("61", 256) + lifetime + end,
		"time to live of one octet":  chassis + port + "0601 79" + end,
		"time to live of 3 octets":   chassis + port + "0603 007900" + end,
		"end with a value":           chassis + port + lifetime + "0001 00",
		"ends within a header":       chassis + port + lifetime + "0a",
		"an octet beyond the end":    chassis + port + lifetime + "0a02 61",
		"a TLV beyond the end":       chassis + port + lifetime + "0a05 6162",
		"the longest beyond the end": chassis + port + lifetime + "ffff 0080c2",
	} {
		p, _, err := ParsePDU(assert.Hex(t, text))
		assert.True(t, errors.Is(err, ErrPDU), "%s: got %+v, %v, want an error", name, p, err)
	}
}

// Each optional TLV has its valid lengths. One with another length is left out, and the others hold.
func TestLengths(t *testing.T) {
	management := func(address, oid int) []byte {
		b := append([]byte{byte(1 + address), FamilyMAC}, make([]byte, address)...)
		return append(append(b, 1, 0, 0, 0, 0, byte(oid)), make([]byte, oid)...)
	}
	for _, tt := range []struct {
		name  string
		typ   Type
		value func(n int) []byte
		fits  func(n int) bool
	}{
		{"port description", TypePortDescription, func(n int) []byte { return make([]byte, n) },
			func(n int) bool { return n <= 255 }},
		{"system name", TypeSystemName, func(n int) []byte { return make([]byte, n) },
			func(n int) bool { return n <= 255 }},
		{"system description", TypeSystemDescription, func(n int) []byte { return make([]byte, n) },
			func(n int) bool { return n <= 255 }},
		{"capabilities", TypeCapabilities, func(n int) []byte { return make([]byte, n) },
			func(n int) bool { return n == 4 }},
		{"organization", TypeOrganization, func(n int) []byte { return make([]byte, n) },
			func(n int) bool { return n >= 4 }},
		{"address", TypeManagementAddress, func(n int) []byte { return management(n%200, 0) },
			func(n int) bool { return n%200 >= 1 && n%200 <= 31 }},
		{"object identifier", TypeManagementAddress, func(n int) []byte { return management(6, n%200) },
			func(n int) bool { return n%200 <= 128 }},
		{"management that ends early", TypeManagementAddress,
			func(n int) []byte { b := management(6, 9); return b[:n%len(b)] }, func(int) bool { return false }},
	} {
		for n := range MaxValue + 1 {
			b := AppendTLV(AppendTLV(assert.Hex(t, chassis, port, lifetime), TLV{tt.typ, tt.value(n)}), TLV{Type: 9})
			p, d, err := ParsePDU(slices.Clip(b))
			want := Discarded{Reserved: 1}
			if !tt.fits(n) {
				want.Malformed = 1
			}
			without := PDU{Chassis: leaf.Chassis, Port: leaf.Port, TTL: 121, Reserved: p.Reserved}
			assert.MustBeTrue(t, err == nil && d == want && len(p.Reserved) == 1 && (tt.fits(n) ||
				reflect.DeepEqual(p, without)), "%s, %d: %+v, %+v, %v, want %+v", tt.name, n, p, d, err, want)
		}
	}
}

func TestParseFrame(t *testing.T) {
	const header = "0180c200000e 020000000002 "
	source, pdu, err := ParseFrame(assert.Hex(t, header, "88cc", chassis))
	assert.True(t, err == nil && source == spineMAC && len(pdu) == 9, "got %x, %x, %v", source, pdu, err)
	for name, b := range map[string][]byte{
		"truncated":            assert.Hex(t, header, "88"),
		"nearest customer":     assert.Hex(t, "0180c2000000 020000000002 88cc", chassis),
		"another protocol":     assert.Hex(t, header, "8808", chassis),
		"tagged":               assert.Hex(t, header, "8100 0000 88cc", chassis),
		"larger than Ethernet": append(assert.Hex(t, header, "88cc"), make([]byte, 1501)...),
	} {
		_, _, err := ParseFrame(b)
		assert.True(t, errors.Is(err, ErrFrame), "%s: got %v", name, err)
	}
}

func TestAppendFrame(t *testing.T) {
	p := leaf
	p.TTL, p.SystemName = 121, "s"
	want := assert.Hex(t, "0180c200000e 020000000001 88cc", chassis, port, lifetime, "0a01 73", end,
		strings.Repeat("00", 23))
	got := AppendFrame(nil, leafMAC, &p)
	assert.True(t, string(got) == string(want), "got  %x\nwant %x", got, want)
	p.TTL = 0
	want = assert.Hex(t, "0180c200000e 020000000001 88cc", chassis, port, "0602 0000", end, strings.Repeat("00", 26))
	got = AppendFrame(nil, leafMAC, &p)
	assert.True(t, string(got) == string(want), "shutdown: got  %x\nwant %x", got, want)
}

// drawPDU draws any PDU.
func drawPDU(t *rapid.T) PDU {
	octets := func(what string, least, most int) string {
		return string(rapid.SliceOfN(rapid.Byte(), least, most).Draw(t, what))
	}
	id := func(what string) ID { return ID{rapid.Byte().Draw(t, what), octets(what+" ID", 1, MaxID)} }
	p := PDU{Chassis: id("chassis"), Port: id("port"), TTL: rapid.Uint16Min(1).Draw(t, "TTL"),
		PortDescription: octets("port description", 0, 255), SystemName: octets("system name", 0, 255),
		SystemDescription: octets("system description", 0, 255)}
	if rapid.Bool().Draw(t, "has capabilities") {
		p.Capabilities = &Capabilities{rapid.Uint16().Draw(t, "supported"), rapid.Uint16().Draw(t, "enabled")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "addresses") {
		p.Management = append(p.Management, ManagementAddress{rapid.Byte().Draw(t, "family"), octets("address", 1, 31),
			rapid.Byte().Draw(t, "numbering"), rapid.Uint32().Draw(t, "interface"), octets("OID", 0, 128)})
	}
	for range rapid.IntRange(0, 3).Draw(t, "organizations") {
		p.Organization = append(p.Organization, Organization{OUI(rapid.SliceOfN(rapid.Byte(), 3, 3).Draw(t, "OUI")),
			rapid.Byte().Draw(t, "subtype"), octets("info", 0, MaxInfo)})
	}
	for range rapid.IntRange(0, 2).Draw(t, "reserved") {
		p.Reserved = append(p.Reserved,
			TLV{Type(rapid.IntRange(9, 126).Draw(t, "type")), []byte(octets("value", 1, 20))})
	}
	return p
}

// A PDU is read as it was written, and makes the same frame again. A frame longer than Ethernet's is refused.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawPDU(t)
		sender := [6]byte(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "sender"))
		frame := AppendFrame(nil, sender, &want)
		source, b, err := ParseFrame(frame)
		if len(frame) > maxFrame {
			assert.MustBeTrue(t, errors.Is(err, ErrFrame), "%d octets: %v", len(frame), err)
			b = AppendPDU(nil, &want) // its LLDPDU is still one
		} else if err != nil || source != sender {
			t.Fatalf("from %x, %v, want %x", source, err, sender)
		}
		got, d, err := ParsePDU(append(b, make([]byte, rapid.IntRange(0, 3).Draw(t, "padding"))...))
		assert.MustBeTrue(t, err == nil && d.Malformed == 0 && d.Reserved == len(want.Reserved) &&
			reflect.DeepEqual(got, want), "got %+v, %+v, %v\nwant %+v", got, d, err, want)
		assert.MustBeSame(t, AppendFrame(nil, sender, &got), frame, "announced again")
	})
}

// A shutdown LLDPDU names its sender and has nothing else.
func TestShutdownRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPDU(t)
		p.TTL = 0
		want := PDU{Chassis: p.Chassis, Port: p.Port}
		got, d, err := ParsePDU(AppendPDU(nil, &p))
		assert.MustBeTrue(t, err == nil && d == (Discarded{}) && reflect.DeepEqual(got, want),
			"got %+v, %+v, %v\nwant %+v", got, d, err, want)
	})
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{leaf.ChassisText(), "02:00:00:00:00:01"},
		{leaf.PortText(), "p1"},
		{leaf.Name(), "leaf"},
		{(&PDU{Chassis: leaf.Chassis}).Name(), "02:00:00:00:00:01"},
		{(&PDU{Chassis: ID{ChassisNetwork, "\x01\xc0\x00\x02\x01"}}).Name(), "192.0.2.1"},
		{(&PDU{SystemName: "a\x1b[2Jb"}).Name(), "611b5b324a62"},
		{ManagementAddress{Family: FamilyIPv6, Address: "\xfe\x80" + strings.Repeat("\x00", 13) + "\x01"}.String(),
			"fe80::1"},
		{ManagementAddress{Family: FamilyMAC, Address: string(leafMAC[:])}.String(), "02:00:00:00:00:01"},
		{ManagementAddress{Family: 9, Address: "ab"}.String(), "6162"},
		{strings.Join(CapabilityNames(0x8014), ","), "bridge,router"},
	} {
		assert.True(t, tt.got == tt.want, "got %q, want %q", tt.got, tt.want)
	}
}
