package traffic

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// The shortest frame of Ethernet says all that a sink needs, with a tag and without.
func TestShortestFrame(t *testing.T) {
	const stamp = 1_790_000_000_123_456_789
	for _, tagged := range []bool{true, false} {
		e := addressing{destination: 1, source: 2, tagged: tagged, tci: frame.MakeTCI(5, false, 9), octets: minRaw}
		b := wrap(e, message{kind: kindData, priority: 5, flow: 0xDEADBEEF})
		putNumber(b[e.messageAt():], 1<<33+7, stamp-250_000_000)
		m, h, err := parse(b)
		assert.MustBeTrue(t, err == nil && h.Tagged == tagged && m.kind == kindData && m.priority == 5 &&
			m.flow == 0xDEADBEEF, "tagged %v: %+v, %v", tagged, m, err)
		m.complete(1<<33+20, stamp)
		if late := stamp - int64(m.time); m.sequence != 1<<33+7 || late < 250_000_000-64 || late > 250_000_000+64 {
			t.Errorf("tagged %v: number %d, %d ns late", tagged, m.sequence, late)
		}
	}
}

// Numbers go on beyond 32 bits, whichever frame is late, and none is before the first.
func TestShortNumbers(t *testing.T) {
	const wrap32 = 1 << 32
	for _, tt := range []struct{ low, next, want uint64 }{
		{0, 0, 0}, {7, 0, 7}, {0, 9, 0}, {wrap32 - 1, wrap32 - 1, wrap32 - 1}, {0, wrap32, wrap32},
		{5, wrap32 - 3, wrap32 + 5},
		{wrap32 - 2, wrap32 + 3, wrap32 - 2}, {3, 5*wrap32 + 1, 5*wrap32 + 3},
		{wrap32 - 1, 5, wrap32 - 1}, // not the one before 0
	} {
		m := message{short: true, sequence: tt.low}
		m.complete(tt.next, 0)
		assert.Equal(t, m.sequence, tt.want, "%d where %d is next: number", tt.low, tt.next)
	}
	whole := message{sequence: 3, time: 9}
	whole.complete(wrap32, 77)
	assert.True(t, whole.sequence == 3 && whole.time == 9, "a whole message became %+v", whole)
}

func TestForeignFrames(t *testing.T) {
	long := wrap(addressing{destination: 1, source: 2, octets: minMessage}, message{kind: kindData})
	short := wrap(addressing{destination: 1, source: 2, octets: minRaw}, message{kind: kindData})
	for _, tt := range []struct {
		name  string
		frame []byte
		at    int
		to    byte
	}{
		{"other EtherType", long, 12, 0x86}, {"no UDP", long, 23, 6}, {"other port", long, 37, 0},
		{"other magic", long, 42, 0}, {"other version", long, 46, 99}, {"IP options", long, 14, 0x46},
		{"other magic", short, 42, 0}, {"no source port of a priority", short, 35, 0}, {"other port", short, 37, 0},
	} {
		_, _, err := parse(tt.frame)
		assert.Must(t, err)
		b := bytes.Clone(tt.frame)
		b[tt.at] = tt.to
		_, _, err = parse(b)
		assert.True(t, err != nil, "%s, %d octets: taken for ours", tt.name, len(b))
	}
	_, _, err := parse(long[:len(long)-frame.TagOctets-1]) // it cuts into the message
	assert.True(t, err != nil, "a truncated message was taken")
	for n := range 56 { // one octet less than a short message needs without a tag
		_, _, err := parse(short[:n])
		assert.True(t, err != nil, "taken with %d octets", n)
	}
}
