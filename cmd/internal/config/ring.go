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
	Outage time.Duration // survived standstill; default: see defaultOutage
	Frame  int64         // octets of the frames that it is sized for; default: MTU + 14
	Max    int64         // bytes of the lossless ring at most
	Other  int           // slots of the ring of everything else; 0: automatic
	Small  int           // slots for frames of up to classify.SmallFrame octets; 0: automatic
}

func defaultRing() Ring { return Ring{Max: 32 << 20} }

// minSlots is the number of frames that a lossless ring takes by default. A slow port needs little memory for a long
// outage.
const minSlots = 512

// defaultOutage is 60 ms, and on a slow port the time of minSlots frames.
func (p *Port) defaultOutage() time.Duration {
	const usual, most = 60 * time.Millisecond, 10 * time.Second
	if p.Speed == 0 {
		return usual
	}
	frames := minSlots * (p.Ring.Frame + headroom.WireOverhead) * 8
	lasts := time.Duration(float64(frames) / float64(p.Speed) * float64(time.Second))
	return min(most, max(usual, lasts.Round(time.Millisecond)))
}

func (r *Ring) fields() []field {
	return []field{
		key("outage", &r.Outage, duration(time.Millisecond, 10*time.Second)),
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

// arriving is how many of the frames that the rings are sized for arrive in a time.
func (p *Port) arriving(in time.Duration) int64 {
	return headroom.BitsIn(p.Speed, in) / ((p.Ring.Frame + headroom.WireOverhead) * 8)
}

// OtherSlots is the number of slots of the ring of everything else: by default the frames that arrive in 25 ms, within
// bounds.
func (p *Port) OtherSlots() int64 {
	const usual, least, most = 25 * time.Millisecond, 256, 2048
	if p.Ring.Other > 0 {
		return int64(p.Ring.Other)
	}
	return max(least, min(p.arriving(usual), most))
}

// SmallSlots is the number of slots for frames of up to classify.SmallFrame octets beside the lossless ring.
func (p *Port) SmallSlots() int64 {
	if p.Ring.Small > 0 {
		return int64(p.Ring.Small)
	}
	return int64(port.SmallSlots(int(p.LosslessSlots()), int(p.Ring.Frame), classify.SmallFrame))
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
