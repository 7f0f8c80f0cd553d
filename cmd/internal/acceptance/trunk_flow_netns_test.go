package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// controlled is a trunk of one mode, three members of one speed and an uplink, and the hosts behind them.
type controlled struct {
	*Rig
	mode    macctl.Mode
	setup   Setup
	members []*Station
	uplink  *Station
}

// forTrunkModes runs a test with a trunk under PFC, and with one under PAUSE. marks gives the watermarks: of a priority
// under PFC, of a port under PAUSE.
func forTrunkModes(t *testing.T, marks map[macctl.Mode]string, members, uplink float64,
	f func(t *testing.T, c *controlled)) {
	for _, mode := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
		t.Run(mode.String(), func(t *testing.T) {
			c := &controlled{mode: mode}
			ports := map[int]string{4: fmt.Sprintf("speed: %.0f", uplink)}
			for n := 1; n <= 3; n++ {
				ports[n] = fmt.Sprintf("speed: %.0f", members)
			}
			c.setup = Setup{Keys: threeToOne(flow(mode) + marks[mode]), Each: "ring: {outage: 400ms}" + flow(mode),
				Ports: ports}
			c.Rig = Start(t, 4, c.setup)
			for n := 1; n <= 3; n++ {
				c.members = append(c.members, c.Station(n, mode, int64(members)))
			}
			c.uplink = c.Station(4, mode, int64(uplink))
			f(t, c)
		})
	}
}

// say lets a host pause its port: the lossless priority, or all of it.
func (c *controlled) say(quanta uint16, hosts ...*Station) {
	for _, s := range hosts {
		s.pause(quanta)
	}
}

// are waits until hosts are paused, or free.
func (c *controlled) are(paused bool, what string, hosts ...*Station) {
	c.T.Helper()
	eventually(c.T, what, func() bool {
		for _, s := range hosts {
			if (s.Paused.Load() != 0) != paused {
				return false
			}
		}
		return true
	})
}

// raise lets the trunk hold later than it was told to first, while frames flow.
func (c *controlled) raise(low, high string) {
	c.T.Helper()
	changed := c.setup
	changed.Keys = strings.Replace(changed.Keys, "high: "+low, "high: "+high, 1)
	assert.MustBeTrue(c.T, changed.Keys != c.setup.Keys, "no watermark of %s in %s", low, c.setup.Keys)
	must(c.T, c.Apply(changed, 4))
}

// nobodyHeld waits until the trunk holds nobody.
func (c *controlled) nobodyHeld() {
	c.T.Helper()
	eventually(c.T, "the trunk holds nobody", func() bool {
		held := c.trunk().Held
		return held.Members == 0 && held.Priorities == 0 && held.Uplink == 0
	})
}

// A pause of the uplink reaches every member, and so does its end: XON, expiry, or the loss of the link. One of every
// member that is up reaches the uplink, and ends with the first of them. At 10 Mbit/s the longest pause lasts for 3.4
// s: longer than any step.
func TestPausesPassThroughATrunk(t *testing.T) {
	const tenth = 2000 // quanta of 102 ms
	forTrunkModes(t, nil, 10e6, 10e6, func(t *testing.T, c *controlled) {
		for _, s := range append(c.members, c.uplink) {
			stop := s.Send(Stream{To: s.N%4 + 1, Prio: 3, Rate: 1e6}) // obeys while it sends
			defer stop()
		}
		if c.mode == macctl.ModePFC {
			c.uplink.PFC(1<<5, 0xffff) // lossy here: nobody's business
		}
		c.say(0xffff, c.uplink)
		c.are(true, "the members are paused with the uplink", c.members...)
		if got := c.members[0].Paused.Load(); c.mode == macctl.ModePFC && got != 1<<3 {
			t.Errorf("a member is told to stop %08b, want priority 3 alone", got)
		}
		c.say(0, c.uplink)
		c.are(false, "the members are free with the uplink", c.members...)

		c.say(tenth, c.uplink)
		c.are(true, "the members are paused again", c.members...)
		began := time.Now()
		c.are(false, "the members are free when the uplink's pause has run out", c.members...)
		d := time.Since(began)
		assert.True(t, d <= time.Second, "it took %v", d)

		c.say(0xffff, c.members...)
		c.are(true, "the uplink is paused with all members", c.uplink)
		c.say(0, c.members[1])
		c.are(false, "the uplink is free with one member", c.uplink)
		c.say(0xffff, c.members[0], c.members[2])
		c.say(tenth, c.members[1])
		c.are(true, "the uplink is paused with all members again", c.uplink)
		c.are(false, "the uplink is free when the pause of one has run out", c.uplink)
		IP(t, c.Node, "link", "set", "p2", "down")
		c.WaitUp(2, false)
		c.say(0xffff, c.members[0], c.members[2])
		c.are(true, "all members that are up are paused", c.uplink)
		c.say(0, c.members[0])
		c.are(false, "one of the others is free", c.uplink)
		IP(t, c.Node, "link", "set", "p2", "up")
		c.WaitUp(2, true)
		c.say(0, c.members[2])

		began = time.Now()
		c.say(0xffff, c.uplink)
		c.are(true, "the members are paused once more", c.members...)
		IP(t, c.Node, "link", "set", "p4", "down")
		c.are(false, "the members are free when the uplink's link is down", c.members...)
		d = time.Since(began)
		assert.True(t, d <= 3*time.Second, "it took %v, by when the pause has run out", d)
		IP(t, c.Node, "link", "set", "p4", "up")
		c.WaitUp(4, true)
		c.uplink.GoesOn(1, 5)
		c.nobodyHeld()
	})
}

// Watermarks 1 and 2 or 3 and 4: members that offer three times what the uplink carries are held and let go, and lose
// nothing.
func TestMembersAreHeldByWatermark(t *testing.T) {
	marks := map[macctl.Mode]string{macctl.ModePFC: ", watermarks: {priority: {3: {high: 128KiB, low: 64KiB}}}",
		macctl.ModePause: ", watermarks: {member: {high: 16KiB, low: 8KiB}}"}
	forTrunkModes(t, marks, 100e6, 100e6, func(t *testing.T, c *controlled) {
		var stops []func()
		for _, s := range c.members {
			stops = append(stops, s.Send(Stream{To: 4, Prio: 3}, Stream{To: 4, Prio: 0, Rate: 10e6}))
		}
		eventually(t, "every member is held and freed", func() bool {
			v := c.trunk()
			for i, s := range c.members {
				if s.Controls.Load() < 4 || v.Holds[3].Marked()+v.Members[i].Holds.Marked() < 3 {
					return false
				}
			}
			return true
		})
		c.raise(map[macctl.Mode]string{macctl.ModePFC: "128KiB", macctl.ModePause: "16KiB"}[c.mode], "192KiB")
		c.uplink.GoesOn(2, 500)
		for i, stop := range stops {
			stop()
			c.uplink.Whole(c.members[i], 3)
		}
		c.NoLosslessDrops()
		if control := c.Snapshot(4).ControlSent; control.PFCFrames[3]+control.PauseFrames != 0 {
			t.Error("the uplink was told to stop, and it sends nothing")
		}
		c.nobodyHeld()
	})
}

// Watermarks 5 and 6 or 7 and 8: an uplink that offers more than the members carry together is held and let go, and
// loses nothing.
func TestUplinkIsHeldByWatermark(t *testing.T) {
	marks := map[macctl.Mode]string{macctl.ModePFC: ", watermarks: {uplink_priority: {3: {high: 128KiB, low: 64KiB}}}",
		macctl.ModePause: ", watermarks: {uplink: {high: 128KiB, low: 64KiB}}"}
	forTrunkModes(t, marks, 20e6, 100e6, func(t *testing.T, c *controlled) {
		stop := c.uplink.Send(Stream{To: 1, Prio: 3})
		eventually(t, "the uplink is held and freed", func() bool {
			v := c.trunk()
			return v.UplinkHolds[3].Marked()+v.UplinkPauses.Marked() > 3 && c.uplink.Controls.Load() > 4
		})
		c.raise("128KiB", "192KiB")
		c.members[1].GoesOn(4, 200)
		stop()
		c.nobodyHeld()
		sent := c.uplink.Sent[3].Load()
		var got [3]uint64
		eventually(t, "everything arrives", func() bool {
			var sum uint64
			for i, s := range c.members {
				got[i] = s.Tally(4, 3).Frames
				sum += got[i]
			}
			return sum == sent
		})
		for i, n := range got {
			assert.True(t, n >= sent/4 && n <= sent/2, "member %d got %d of %d frames, want a third", i, n, sent)
		}
		c.NoLosslessDrops()
		for n := 1; n <= 3; n++ {
			if control := c.Snapshot(n).ControlSent; control.PFCFrames[3]+control.PauseFrames != 0 {
				t.Errorf("member %d was told to stop what it does not send", n)
			}
		}
	})
}

// The uplink and a member flap while all members are held, again and again: what they hold is given up with the link,
// frames of the others go on, and in the end nobody stays held and nothing is lost track of.
func TestTrunkFlapsUnderLoad(t *testing.T) {
	marks := map[macctl.Mode]string{macctl.ModePFC: ", watermarks: {priority: {3: {high: 128KiB, low: 64KiB}}, " +
		"uplink_priority: {3: {high: 128KiB, low: 64KiB}}}",
		macctl.ModePause: ", watermarks: {member: {high: 64KiB, low: 32KiB}, uplink: {high: 128KiB, low: 64KiB}}"}
	forTrunkModes(t, marks, 50e6, 100e6, func(t *testing.T, c *controlled) {
		stops := []func(){c.uplink.Send(Stream{To: 1, Prio: 3, Rate: 80e6})}
		for _, s := range c.members {
			stops = append(stops, s.Send(Stream{To: 4, Prio: 3}))
		}
		flows := func(what string, hosts ...int) {
			t.Helper()
			before := map[int][2]uint64{}
			for _, n := range hosts {
				before[n] = [2]uint64{c.uplink.Tally(n, 3).Frames, c.members[n-1].Tally(4, 3).Frames}
			}
			eventually(t, what, func() bool {
				for n, b := range before {
					if c.uplink.Tally(n, 3).Frames < b[0]+50 || c.members[n-1].Tally(4, 3).Frames < b[1]+50 {
						return false
					}
				}
				return true
			})
		}
		flows("frames go both ways", 1, 2, 3)
		for range 3 {
			IP(t, c.Node, "link", "set", "p2", "down")
			c.WaitUp(2, false)
			flows("the others take its share", 1, 3)
			IP(t, c.Node, "link", "set", "p2", "up")
			c.WaitUp(2, true)
			flows("it has its share again", 1, 2, 3)
			IP(t, c.Node, "link", "set", "p4", "down")
			c.WaitUp(4, false)
			c.are(false, "members are not held for an uplink that is down", c.members...)
			IP(t, c.Node, "link", "set", "p4", "up")
			c.WaitUp(4, true)
			flows("all of it goes on", 1, 2, 3)
		}
		for _, stop := range stops {
			stop()
		}
		c.nobodyHeld()
		c.NoLosslessDrops()
	})
}
