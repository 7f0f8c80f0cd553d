package tshark

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// tooShort is the complaint about CIN of a tshark that reads CIN by the layout of CEE, as 4.0 at least does: function
// dissect_dcbx_tlv steps from field to field of CEE, whatever lengths the TLVs state. CEE's PFC has an octet more than
// CIN's, so the fields from there on are misread. No other complaint is excused, nor one about an incomplete frame.
func tooShort(complaint string) bool {
	return strings.Contains(complaint, "Malformed Packet") || complaint == Complaints[1]
}

// lengthsCIN are those of the TLVs within the TLV of CIN: control, priority groups (header, 8 percentages, 8 pairs),
// PFC (header, map).
var lengthsCIN = map[byte]int{1: 10, 2: 4 + 8 + 16, 3: 4 + 1}

// completeCIN tells whether a frame has one TLV of CIN, which the TLVs of lengthsCIN, each of them once, fill to the
// octet. It knows nothing of the code that has written it.
func completeCIN(frame []byte) bool {
	found := 0
	for b := frame[14:]; len(b) >= 2; {
		kind, n := b[0]>>1, int(b[0]&1)<<8|int(b[1])
		if kind == 0 || n > len(b)-2 {
			break
		}
		value := b[2 : 2+n]
		b = b[2+n:]
		if kind != 127 || n < 4 || [4]byte(value) != [4]byte{0x00, 0x1B, 0x21, 1} {
			continue
		}
		if found++; !fillsCIN(value[4:]) {
			return false
		}
	}
	return found == 1
}

func fillsCIN(b []byte) bool {
	seen := map[byte]bool{}
	for len(b) >= 2 {
		kind, n := b[0]>>1, int(b[0]&1)<<8|int(b[1])
		// versions 0, the only ones
		if seen[kind] || n != lengthsCIN[kind] || n == 0 || n > len(b)-2 || b[2] != 0 || b[3] != 0 {
			return false
		}
		seen[kind], b = true, b[2+n:]
	}
	return len(b) == 0 && len(seen) == len(lengthsCIN)
}

// theirCIN is what lldpad of Debian makes of priorities 3 and 4 by its source (bld_dcbx1_tlv and the functions that it
// calls): control, priority groups, PFC, FCoE on priority 3, the state of the logical link. No interface here makes it
// send that.
const theirCIN = "001b21 01" + "020a 0000 00000001 00000000" + "041c 0000 c0 00 32 00 00 32 00 00 00 00  0064 2064 " +
	"4064 6064 8064 a064 d000 e064" +
	"0605 0000 c0 00 18" + "0a05 0000 c0 00 08" + "0c05 0000 c0 00 80"

// tshark has the same complaints about our CIN as about lldpad's, and we read what lldpad writes. NOT TESTED: a switch
// or an adapter that speaks CIN, of which none is here.
func TestCINOfOthers(t *testing.T) {
	info := assert.Got(hex.DecodeString(strings.ReplaceAll(theirCIN, " ", ""))).Must(t)
	theirs := lldp.Organization{OUI: lldp.OUI(info), Subtype: info[3], Info: string(info[4:])}
	x := dcbx.ParseLegacy([]lldp.Organization{theirs}, dcbx.VersionCIN)
	want := dcbx.Feature{Enable: true, Willing: true, Data: "\x18"}
	if x == nil || x.Control == nil || x.Control.Seq != 1 || x.Features[dcbx.KindPFC] == nil ||
		*x.Features[dcbx.KindPFC] != want ||
		x.Features[dcbx.KindGroups] == nil {
		t.Errorf("lldpad's CIN: %+v", x)
	}

	one := end(1, 0x18, mode(dcbx.ModeCIN))
	ours := exchange(one, end(2, 0x18))[:1]
	assert.MustBeTrue(t, completeCIN(ours[0]), "no CIN: %x", ours[0])
	p := agent(one).Local
	p.TTL, p.Organization = 121, []lldp.Organization{theirs}
	var says [][]string
	for _, l := range Decode(t, [][]byte{ours[0], lldp.AppendFrame(nil, one.MAC, &p)}, Complaints...) {
		says = append(says, slices.Concat(l[Complaints[0]], l[Complaints[1]]))
	}
	assert.True(t, len(says) == 2 && slices.Equal(says[0], says[1]), "tshark says of ours and of lldpad's: %q", says)
}
