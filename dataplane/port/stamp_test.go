package port

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// message makes a control message.
func message(level, kind uint32, data ...uint64) []byte {
	const cmsgData = unix.SizeofCmsghdr
	b := make([]byte, cmsgData+8*len(data))
	binary.NativeEndian.PutUint64(b, uint64(len(b)))
	binary.NativeEndian.PutUint32(b[8:], level)
	binary.NativeEndian.PutUint32(b[12:], kind)
	for i, v := range data {
		binary.NativeEndian.PutUint64(b[cmsgData+8*i:], v)
	}
	return b
}

func TestStampIn(t *testing.T) {
	stamp := message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, 5, 7, 0, 0, 0, 0)
	short := message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, 5)
	other := message(unix.SOL_PACKET, unix.PACKET_TX_TIMESTAMP, 1, 2)
	broken := message(unix.SOL_PACKET, unix.PACKET_TX_TIMESTAMP, 1)
	binary.NativeEndian.PutUint64(broken, 3)
	tests := []struct {
		name string
		b    []byte
		want int64
	}{
		{"nothing", nil, 0},
		{"a stamp", stamp, 5_000_000_007},
		{"behind another message", append(append([]byte(nil), other...), stamp...), 5_000_000_007},
		{"too short", short, 0},
		{"cut", stamp[:30], 0},
		{"a length that leads nowhere", append(broken, stamp...), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, stampIn(tt.b), tt.want, "stampIn") })
	}
}
