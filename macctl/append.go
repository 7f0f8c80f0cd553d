package macctl

import "encoding/binary"

// Prebuilt frames: only source, vector and times are written into them.
var (
	pauseFrame = [FrameSize]byte{0x01, 0x80, 0xC2, 0, 0, 0x01, typeOffset: 0x88, 0x08, 0x00, 0x01}
	pfcFrame   = [FrameSize]byte{0x01, 0x80, 0xC2, 0, 0, 0x01, typeOffset: 0x88, 0x08, 0x01, 0x01}
)

// AppendPause appends a PAUSE frame of FrameSize octets to GroupAddress and returns the longer slice.
// It does not allocate when cap(b) suffices.
func AppendPause(b []byte, source [6]byte, quanta uint16) []byte {
	start := len(b)
	b = append(b, pauseFrame[:]...)
	f := b[start:]
	copy(f[sourceOffset:], source[:])
	binary.BigEndian.PutUint16(f[paramsOffset:], quanta)
	return b
}

// AppendPFC appends a PFC frame of FrameSize octets to GroupAddress and returns the longer slice. Priorities whose bit
// in vector is clear are left alone by the receiver, whatever stands in time.
// It does not allocate when cap(b) suffices.
func AppendPFC(b []byte, source [6]byte, vector uint8, time [8]uint16) []byte {
	start := len(b)
	b = append(b, pfcFrame[:]...)
	f := b[start:]
	copy(f[sourceOffset:], source[:])
	f[paramsOffset+1] = vector
	for n, quanta := range time {
		binary.BigEndian.PutUint16(f[timeOffset+2*n:], quanta)
	}
	return b
}
