package port

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// A frame in a slot is read as it was on the link, with its tag, also where it is read again.
func FuzzSlot(f *testing.F) {
	vnet := []byte{1, 0, 0, 0, 0, 0, 34, 0, 16, 0}
	f.Add(make([]byte, 60), vnet, true, uint16(0x6001), uint16(frame.TypeVLAN))
	f.Add(make([]byte, 1514), vnet, true, uint16(0x6001), uint16(0))
	f.Add(make([]byte, frame.HeaderOctets), []byte{}, false, uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, b, vnet []byte, tagged bool, tci, tpid uint16) {
		const longest = 1514
		if len(b) < frame.HeaderOctets || len(b) > longest || len(vnet) != 0 && len(vnet) != frame.VnetHeaderOctets {
			return
		}
		r := ring{vnet: len(vnet) > 0, slots: 1, perBlock: 1, slotSize: SlotOctets(longest)}
		s := make([]byte, r.slotSize)
		copy(s[slotHeader-len(vnet):], vnet)
		copy(s[slotHeader:], b)
		h := header(s)
		h.Mac, h.Len, h.Snaplen, h.Vlan_tci, h.Vlan_tpid = slotHeader, uint32(len(b)), uint32(len(b)), tci, tpid
		h.Status = unix.TP_STATUS_USER
		want := b
		wantVnet, _ := frame.DecodeVnetHeader(vnet)
		if tagged {
			h.Status |= unix.TP_STATUS_VLAN_VALID
			if tpid != 0 {
				h.Status |= unix.TP_STATUS_VLAN_TPID_VALID
			} else {
				tpid = frame.TypeVLAN
			}
			want = binary.BigEndian.AppendUint16(bytes.Clone(b[:12]), tpid)
			want = append(binary.BigEndian.AppendUint16(want, tci), b[12:]...)
			wantVnet = wantVnet.Shift(frame.TagOctets)
		}
		for range 2 {
			var got Frame
			assert.MustBeTrue(t, r.read(s, status(s), &got) && bytes.Equal(got.Data, want) && got.Vnet == wantVnet &&
				!got.Truncated, "%x, %+v\nwant %x, %+v", got.Data, got.Vnet, want, wantVnet)
		}
	})
}

// A stamp behind other messages is found, whatever these hold.
func FuzzStampIn(f *testing.F) {
	f.Add(message(unix.SOL_PACKET, unix.PACKET_TX_TIMESTAMP, 1, 2))
	f.Add([]byte{16, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = stampIn(b)
		other := message(unix.SOL_PACKET, unix.PACKET_TX_TIMESTAMP)
		other = append(other, b[:len(b)&^7]...)
		binary.NativeEndian.PutUint64(other, uint64(len(other)))
		other = append(other, message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, 5, 7)...)
		assert.Equal(t, stampIn(other), 5_000_000_007, "the stamp")
	})
}

// Answers of the kernel about packet sockets and DCB are read, and an attribute in front of what is asked for changes
// nothing.
func FuzzNetlink(f *testing.F) {
	f.Add(nl.NewRtAttr(dcbAttrIEEE, []byte{0xA1}).Serialize(), uint16(7), 3)
	f.Add([]byte{5, 0, 13, 0, 1}, uint16(1), 1)
	f.Add(make([]byte, diagHeader+8), uint16(2), 0)
	f.Fuzz(func(t *testing.T, b []byte, kind uint16, index int) {
		_, _, _ = ieeePFC(b), ieeeError(attribute(b, dcbAttrIEEE)), isPortOf(b, index)
		kind &= nl.NLA_TYPE_MASK
		if len(b) > 1<<12 || kind == dcbAttrIEEEPFC || kind == diagAttrInfo || kind == diagAttrFanout {
			return
		}
		other := nl.NewRtAttr(int(kind), b).Serialize()
		pfc := append(bytes.Clone(other), nl.NewRtAttr(dcbAttrIEEEPFC, []byte{8, 0x18}).Serialize()...)
		got := ieeePFC(pfc)
		assert.True(t, got == 0x18, "PFC %#x", got)
		here := binary.NativeEndian.AppendUint32(nil, uint32(index))
		fanout := binary.NativeEndian.AppendUint32(nil, unix.PACKET_FANOUT_CBPF<<16)
		socket := append(make([]byte, diagHeader), other...)
		socket = append(socket, nl.NewRtAttr(diagAttrInfo, here).Serialize()...)
		socket = append(socket, nl.NewRtAttr(diagAttrFanout, fanout).Serialize()...)
		assert.True(t, index != int(uint32(index)) || isPortOf(socket, index), "%x is not found at %d", socket, index)
	})
}

// Numbers that the kernel writes as text are read, and a line that is none of its own changes nothing.
func FuzzProc(f *testing.F) {
	f.Add([]byte("00000000c0ffee 3      3    0003   7     1 0      0      4711\n"), 3, uint64(9))
	f.Add([]byte("0.00 0.01 0.05 2/87 29163\n"), 0, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, n int, inode uint64) {
		got, ok := parseTap(b)
		assert.True(t, !ok || got.index != 0 || bytes.Contains(b, []byte("0")), "%q is a tap at no interface", b)
		if got, err := runnable(b); err == nil && got < 0 {
			t.Errorf("%q: %d threads", b, got)
		}
		got, ok = parseTap(fmt.Appendf(nil, "c0ffee 3 3 0003 %d 1 0 0 %d", n, inode))
		assert.True(t, ok && got == (tap{index: n, inode: inode}), "%+v, %v", got, ok)
		if got, err := runnable(fmt.Appendf(nil, "0.00 0.01 0.05 %d/87 29163", n)); (err == nil) != (n >= 0) ||
			n >= 0 && got != n {
			t.Errorf("%d threads, %v, want %d", got, err, n)
		}
		lines := append(bytes.TrimRight(bytes.Clone(b), "\n"), fmt.Sprintf("\n0 %x 0\n", uint32(n))...)
		assert.Equal(t, backlogDrops(lines), backlogDrops(b)+uint64(uint32(n)), "frames dropped: %q", lines)
	})
}
