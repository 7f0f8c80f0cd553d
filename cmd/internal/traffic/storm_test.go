package traffic

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// What a storm asked for is added up as pauses that may overlap, with the gaps between them.
func TestStormAccount(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sent    []int64
		pause   int64
		end     int64
		share   float64
		longest int64
	}{
		{"gapless", []int64{0, 50, 100}, 100, 200, 1, 0},
		{"half", []int64{0, 100, 200}, 50, 300, .5, 50},
		{"one is late", []int64{0, 100, 350}, 100, 450, 300. / 450, 150},
		{"it ended long ago", []int64{0}, 100, 400, .25, 300},
		{"the first is late", []int64{200, 250}, 100, 400, .375, 200},
		{"none left", nil, 0, 400, 0, 400},
		{"never began", nil, 0, 0, 0, 0},
	} {
		s := storm{from: 1000, until: 1000}
		for _, at := range tt.sent {
			s.sent(1000+at, tt.pause)
		}
		r := new(StormConfig).report(&s, 1000, 1000+tt.end, testMAC)
		assert.True(t, math.Abs(r.Paused-tt.share) <= 1e-12 && r.LongestGap == tt.longest,
			"%s: share %v, longest gap %d, want %v, %d", tt.name, r.Paused, r.LongestGap, tt.share, tt.longest)
	}
}

// What the link or the kernel does not take is sent again a little later, and ends no storm; a link that goes down
// does.
func TestStormIsRefused(t *testing.T) {
	for _, tt := range []struct {
		refusal error
		ends    bool
	}{{port.ErrDropped, false}, {port.ErrAgain, false}, {port.ErrDown, true}} {
		near, _ := wire(t)
		const refusals = 20
		ctx, enough := context.WithCancel(t.Context())
		defer enough()
		var asked []time.Time
		near.Refuse(func() error {
			if asked = append(asked, time.Now()); len(asked) <= refusals {
				return tt.refusal
			}
			enough()
			return nil
		})
		c := StormConfig{Interface: "eth0", FlowControl: "pfc", Priority: 3, Duty: 50, Duration: time.Minute}
		s, _, err := c.send(ctx, near, testMAC)
		assert.MustEqual(t, err != nil, tt.ends, "%v: the storm ended with %v", tt.refusal, err)
		if tt.ends {
			continue
		}
		assert.MustBeTrue(t, len(asked) > refusals && len(asked) == refusals+int(s.frames),
			"%v: asked %d times, %d frames left", tt.refusal, len(asked), s.frames)
		took := asked[refusals].Sub(asked[0])
		assert.True(t, took >= refusals*refusedDelay, "%v: sent again %d times within %v", tt.refusal, refusals, took)
	}
}

// A throttling storm asks for its duty of each cycle, whatever the speed; a whole one for as long as it can.
func TestStormQuanta(t *testing.T) {
	for _, tt := range []struct {
		speed int64
		duty  int
	}{{100_000_000, 90}, {1_000_000_000, 50}, {0, 10}, {10_000_000_000, 99}} {
		c := StormConfig{Speed: tt.speed, Duty: tt.duty}
		got := time.Duration(macctl.QuantaDuration(c.quanta(), tt.speed))
		want := stormCycle * time.Duration(tt.duty) / 100
		assert.True(t, got <= want && got >= want-stormCycle/100,
			"%d bit/s, %d %%: %v of %v", tt.speed, tt.duty, got, stormCycle)
	}
	c := StormConfig{Duty: 100, Speed: 1e9}
	assert.True(t, c.quanta() == 0xffff, "%d quanta", c.quanta())
}

// The report says at which speed its shares hold.
func TestStormSpeed(t *testing.T) {
	for speed, want := range map[int64]string{100_000_000: "193 quanta at 100 Mbit/s",
		0: "19335 quanta at 10000 Mbit/s"} {
		c := StormConfig{Interface: "eth0", Speed: speed, FlowControl: "pfc", Priority: 3, Duty: 99}
		var out strings.Builder
		err := c.report(&storm{}, 0, 1, [6]byte{2}).Text(&out)
		assert.True(t, err == nil && strings.Contains(out.String(), want), "%v: %s, want %q", err, out.String(), want)
	}
}

func TestStormCheck(t *testing.T) {
	good := StormConfig{FlowControl: "pfc", Priority: 3, Duty: 100, Duration: time.Second}
	assert.Must(t, good.Check())
	for name, change := range map[string]func(*StormConfig){
		"off": func(c *StormConfig) { c.FlowControl = "off" }, "priority 8": func(c *StormConfig) { c.Priority = 8 },
		"duty 0": func(c *StormConfig) { c.Duty = 0 }, "duty 101": func(c *StormConfig) { c.Duty = 101 },
		"no end": func(c *StormConfig) { c.Duration = 0 },
	} {
		c := good
		change(&c)
		assert.True(t, c.Check() != nil, "%s: not refused", name)
	}
}
