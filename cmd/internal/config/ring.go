package config

import (
	"time"

	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/port"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// Ring sizes the receive rings of a port. Each of the two rings has another one for small frames.
type Ring struct {
	Outage time.Duration // survived standstill
	// OutageAuto: Outage is the default, which is less where the kernel holds the peer (Assisted)
	OutageAuto bool
	Frame      int64 // octets of the frames that it is sized for; default: MTU + 14
	Max        int64 // bytes of the lossless ring at most
	Other      int   // slots of the ring of everything else; 0: automatic
	Small      int   // slots for frames of up to classify.SmallFrame octets; 0: automatic
}

func defaultRing() Ring { return Ring{OutageAuto: true, Max: 32 << 20} }

// defaultOutage is 60 ms, and on a slow port the time of 512 frames: it needs little memory for a long outage.
func (p *Port) defaultOutage() time.Duration { return p.outage(60*time.Millisecond, 512) }

// Assisted returns a port with the ring that it needs where a program in the kernel holds its peer. The program does so
// once half of the ring is unread, whatever the length of the frames. While the switch is stopped, up to assist.hold,
// each end of a pause lets the peer send for a reaction: two send calls and two frames. By default the ring holds four
// times as much as all these reactions, from 15 ms (on a slow port 128 frames) up to what other ports have. A
// port with a delay has what other ports have, because more frames are on the way there.
func (c *Config) Assisted(p *Port) *Port {
	const least, margin = 15 * time.Millisecond, 4
	a := *p
	if !p.Ring.OutageAuto || p.Delay > 0 || c.Pause.Remaining {
		return &a
	}
	frame := p.Ring.Frame + headroom.WireOverhead
	reaction := 2 * (headroom.SendLimit(p.Speed, p.Ring.Frame) + frame) * 8
	pause := headroom.BitsIn(p.Speed, p.pauseTime(c.Pause.Quanta))
	ends := (headroom.BitsIn(p.Speed, c.Assist.Hold) + pause - 1) / pause
	seconds := float64(margin*ends*reaction) / float64(macctl.SpeedOrNominal(p.Speed))
	needs := time.Duration(seconds * float64(time.Second))
	a.Ring.Outage = min(p.Ring.Outage, p.outage(max(least, needs.Round(time.Millisecond)), 128))
	return &a
}

// outage is the usual time, and on a slow port that of a least number of frames.
func (p *Port) outage(usual time.Duration, least int64) time.Duration {
	const most = 10 * time.Second
	if p.Speed == 0 {
		return usual
	}
	frames := least * (p.Ring.Frame + headroom.WireOverhead) * 8
	lasts := time.Duration(float64(frames) / float64(p.Speed) * float64(time.Second))
	return min(most, max(usual, lasts.Round(time.Millisecond)))
}

func (r *Ring) fields() []field {
	return []field{
		flagged("outage", "auto", &r.OutageAuto, &r.Outage, or(duration(time.Millisecond, 10*time.Second), "auto")),
		key("frame", &r.Frame, size(60, maxMTU+14).written(plainly)),
		key("max", &r.Max, size(64<<10, 1<<30)),
		key("other", &r.Other, orWord(number[int]("number of slots", 16, 1<<20), "auto", 0)),
		key("small", &r.Small, orWord(number[int]("number of slots", 16, 1<<22), "auto", 0)),
	}
}

// SlotBytes is the size of a slot of the lossless ring: the frame, room for a tag, and the kernel's header.
func (r Ring) SlotBytes() int64 { return int64(port.SlotOctets(int(r.Frame))) }

// LosslessSlots is the number of slots of the lossless ring: the frames that arrive in Outage at the port's speed,
// limited by Ring.Max, and at least one.
func (p *Port) LosslessSlots() int64 {
	return max(1, min(p.arriving(p.Ring.Outage), p.Ring.Max/p.Ring.SlotBytes()))
}

// Sockets is how large the rings of a port are.
func (p *Port) Sockets() port.Config {
	return port.Config{LosslessSlots: int(p.LosslessSlots()), OtherSlots: int(p.OtherSlots()),
		FrameSize: int(p.Ring.Frame), SmallFrame: classify.SmallFrame, SmallSlots: p.Ring.Small}
}

// arriving is how many of the frames that the rings are sized for arrive in a time.
func (p *Port) arriving(in time.Duration) int64 {
	return headroom.BitsIn(p.Speed, in) / ((p.Ring.Frame + headroom.WireOverhead) * 8)
}

// OtherSlots is the number of slots of the ring of everything else: by default the frames that arrive in 25 ms, within
// bounds. That is what the largest number holds at 1 Gbit/s.
func (p *Port) OtherSlots() int64 {
	const usual, least, most = 25 * time.Millisecond, 256, 2048
	if p.Ring.Other > 0 {
		return int64(p.Ring.Other)
	}
	return max(least, min(p.arriving(usual), most))
}

// SmallSlots is the number of slots for frames of up to classify.SmallFrame octets beside the lossless ring.
func (p *Port) SmallSlots() int64 {
	c := p.Sockets()
	return int64(c.Small(c.LosslessSlots))
}

// Outage is how long the lossless rings take frames of this length (octets without FCS) at the port's speed.
func (p *Port) Outage(frame int64) time.Duration {
	slots := p.LosslessSlots()
	if frame <= classify.SmallFrame {
		slots = p.SmallSlots()
	}
	bits := slots * (frame + headroom.WireOverhead) * 8
	return time.Duration(float64(bits) / float64(macctl.SpeedOrNominal(p.Speed)) * float64(time.Second))
}

// Frames whose length decides how long the rings of a port take them, in octets without FCS.
const (
	ShortFrame    = classify.SmallFrame + 1 // the shortest in the lossless ring
	SmallestFrame = 60                      // in the one for smaller frames
)

// A RingSpan is how long the lossless rings of a port take frames while the switch does not run.
type RingSpan struct {
	Port              string
	Slots, SmallSlots int64
	Bytes             int64         // memory of all rings of the port
	Queue             int64         // beside it, at most, for longer frames that wait, or all before the port is in use
	Frame             int64         // octets of the longest frames in the ring: longer ones wait in a queue
	Full              time.Duration // of such frames
	Short             time.Duration // of frames of ShortFrame octets
	Smallest          time.Duration // of frames of SmallestFrame octets
	Assisted          time.Duration // Full where a program in the kernel holds the peer; 0: the same, or none does
}

// RingSpans returns the spans of all ports that have lossless rings. The configuration must be resolved.
func (c *Config) RingSpans() (all []RingSpan) {
	for p := range c.ports() {
		if len(p.losslessPriorities(c)) == 0 || p.isTAP() {
			continue
		}
		sockets := p.Sockets()
		s := RingSpan{Port: p.Name, Slots: p.LosslessSlots(), SmallSlots: p.SmallSlots(),
			Bytes: int64(sockets.RingOctets()), Queue: int64(sockets.QueueOctets()),
			Frame: min(int64(p.MTU)+14, p.Ring.Frame), Smallest: p.Outage(SmallestFrame)}
		s.Full, s.Short = p.Outage(s.Frame), p.Outage(min(ShortFrame, s.Frame))
		if a := c.Assisted(p); !c.Assist.Off && a.Ring.Outage != p.Ring.Outage {
			s.Assisted = a.Outage(s.Frame)
		}
		all = append(all, s)
	}
	return all
}
