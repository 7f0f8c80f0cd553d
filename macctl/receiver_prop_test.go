package macctl

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A paintedPort is the model of a Receiver: for each priority a line of nanoseconds, each paused or not. A frame wipes
// the line from its stamp on and paints its time.
type paintedPort struct {
	lines    [8][]bool
	free     [8]int64 // end of the latest pause
	enabled  uint8
	reported [8]int64
}

func (p *paintedPort) paint(prio int, from, length int64) {
	line := p.lines[prio]
	if line[from] || length > 0 {
		p.free[prio] = from + length
	}
	clear(line[from:])
	for n := from; n < from+length; n++ {
		line[n] = true
	}
}

func (p *paintedPort) paused(now int64) (vector uint8) {
	for prio, line := range p.lines {
		if line[now] {
			vector |= 1 << prio
		}
	}
	return vector
}

func (p *paintedPort) next(now int64) int64 {
	next := int64(math.MaxInt64)
	for _, line := range p.lines {
		if !line[now] {
			continue
		}
		end := now
		for line[end] {
			end++
		}
		next = min(next, end)
	}
	return next
}

func (p *paintedPort) total(prio int, now int64) int64 {
	sum := int64(0)
	for _, paused := range p.lines[prio][:now] {
		if paused {
			sum++
		}
	}
	p.reported[prio] = max(p.reported[prio], sum)
	return p.reported[prio]
}

// A Receiver answers as the model does, however late frames are looked at.
func TestReceiverAgainstModel(t *testing.T) {
	const (
		longest = 60
		horizon = 20_000
	)
	rapid.Check(t, func(t *rapid.T) {
		model := &paintedPort{enabled: rapid.Uint8().Draw(t, "enabled")}
		for prio := range model.lines {
			model.lines[prio] = make([]bool, horizon)
		}
		r := NewReceiver(ModePFC, model.enabled, oneNS, port)
		var now, stamp int64
		t.Repeat(map[string]func(*rapid.T){
			"advance": func(t *rapid.T) {
				now = min(now+rapid.Int64Range(0, 2*longest).Draw(t, "ns"), horizon-2*longest)
			},
			"frame": func(t *rapid.T) {
				stamp = rapid.Int64Range(max(stamp, now-longest), now).Draw(t, "stamp")
				vector := rapid.Uint8().Draw(t, "vector")
				var time [8]uint16
				for prio := range time {
					time[prio] = rapid.Uint16Range(0, longest).Draw(t, "time")
					if vector&model.enabled>>prio&1 != 0 {
						model.paint(prio, stamp, int64(time[prio]))
					}
				}
				r.Receive(AppendPFC(nil, port, vector, time), stamp, now)
			},
			"reset": func(t *rapid.T) {
				for prio := range model.lines {
					model.paint(prio, now, 0)
				}
				r.Reset(now)
			},
			"configure": func(t *rapid.T) {
				model.enabled = rapid.Uint8().Draw(t, "enabled")
				for prio := range model.lines {
					if model.enabled>>prio&1 == 0 {
						model.paint(prio, now, 0)
					}
				}
				r.Configure(ModePFC, model.enabled, oneNS, port, now)
			},
			"time": func(t *rapid.T) {
				for prio := range model.lines {
					assert.Equal(t, r.PausedTime(uint8(prio), now), model.total(prio, now),
						"at %d: ns for which priority %d was paused", now, prio)
				}
			},
			"": func(t *rapid.T) {
				assert.MustEqual(t, r.Paused(now), model.paused(now), "at %d: paused", now)
				assert.Equal(t, r.NextExpiry(), model.next(now), "at %d: next expiry", now)
				for prio := range model.lines {
					assert.Equal(t, r.FreeSince(uint8(prio)), model.free[prio], "at %d: priority %d is free since", now,
						prio)
				}
			},
		})
	})
}
