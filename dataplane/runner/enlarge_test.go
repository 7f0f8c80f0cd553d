package runner

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// larger are larger rings in memory: they say what is done with them, and what they fail with.
type larger struct {
	octets int
	steer  error
	done   []string
}

func (l *larger) Octets(port.Class) int { return l.octets }
func (l *larger) Join()                 { l.done = append(l.done, "join") }
func (l *larger) Leave()                { l.done = append(l.done, "leave") }

func (l *larger) Steer() error {
	l.done = append(l.done, "steer")
	return l.steer
}

// Larger rings join before frames are steered to them. Where that fails, they leave, and the port goes on. Where memory
// for as large a waiting room fails, they do not even join.
func TestEnlarge(t *testing.T) {
	l := newTestbed(t, executors[1], roomy(2), unshapedPorts(2)...)
	frames, fails := several(0, 1, lossless, 150, small), errors.New("not now")
	for _, tt := range []struct {
		rings larger
		want  []string
		err   string
	}{
		{larger{octets: 1 << 20}, []string{"join", "steer"}, ""},
		{larger{steer: fails}, []string{"join", "steer", "leave"}, "not now"},
		{larger{octets: 1 << 60}, nil, "map packet buffer"},
	} {
		err := l.r.Enlarge(0, &tt.rings)
		if tt.err != "" {
			assert.Fails(t, err, tt.err, "larger rings")
		} else {
			assert.NoError(t, err, "larger rings")
		}
		assert.Same(t, tt.rings.done, tt.want, "what was done")
		l.stations[0].send(frames[:50]...)
		frames = frames[50:]
	}
	eventually(t, "all arrive", func() bool { return len(l.stations[1].received(0, lossless)) == 150 })
	assert.True(t, slices.IsSorted(l.stations[1].received(0, lossless)), "in order")
	assert.Fails(t, l.r.Enlarge(7, &larger{}), "no sockets", "rings for no port")
}

// A port is in use from its first lossless data frame on, or from the 256th of others. What measures, a stream or a
// request, is no use, also behind a data frame.
func TestUse(t *testing.T) {
	for name, tt := range map[string]struct {
		frames [][]byte
		uses   bool
	}{
		"one lossless frame": {several(0, 1, lossless, 1, small), true},
		"few other frames":   {several(0, 1, 0, wholeFrames-1, small), false},
		"many others":        {several(0, 1, 0, wholeFrames, small), true},
		"a request":          {[][]byte{request()}, false},
		"a lossless stream":  {append(several(0, 1, 0, 1, small), streamed()), false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, ports := roomy(2), unshapedPorts(2)
			cfg.Measurement, ports[0].Prober = macctl.DefaultMeasurementFormat, &prober{}
			l := newTestbed(t, executors[0], cfg, ports...)
			var told atomic.Int64
			l.must(l.r.Do(func(*dataplane.Switch) error { // the worker finds all of them at once
				l.r.ringsUsed = func() { told.Add(1) }
				l.stations[0].send(tt.frames...)
				return nil
			}))
			c := l.empties().Ports[0].Counters
			assert.Equal(t, c.StreamReceived == 1, name == "a lossless stream", "a stream came")
			assert.Equal(t, [2]bool{l.r.Used(0), l.r.Used(1)}, [2]bool{tt.uses, false}, "ports in use")
			l.stations[0].send(several(0, 1, lossless, 2, small)...)
			eventually(t, "lossless frames are use, which is told once", func() bool { return l.r.Used(0) })
			l.empties()
			assert.Equal(t, told.Load(), 1, "how often it was told")
		})
	}
}

// streamed is a lossless frame of a neighbour's stream: see dataplane/stream.go.
func streamed() []byte {
	b := make([]byte, 100)
	copy(b, macctl.FallbackAddress[:])
	copy(b[frame.AddressOctets:], peerMAC[:])
	binary.BigEndian.PutUint16(b[12:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(b[14:], uint16(frame.MakeTCI(lossless, false, 0)))
	binary.BigEndian.PutUint16(b[16:], frame.TypeIPv4)
	ip := b[18:]
	ip[0], ip[8], ip[9] = 0x45, 1, 253
	copy(ip[12:], []byte{192, 0, 2, 1, 192, 0, 2, 2})
	return b
}
