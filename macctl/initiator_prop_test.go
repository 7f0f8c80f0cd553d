package macctl

import (
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A modelPeer obeys whatever frames reach it, PFC and PAUSE alike, and reads them by itself.
type modelPeer struct {
	speed float64 // bit/s
	free  [8]float64
	all   float64
}

func (p *modelPeer) receive(t *rapid.T, frame []byte, now int64) {
	assert.MustEqual(t, len(frame), 60, "octets of the frame")
	until := func(offset int) float64 {
		return float64(now) + float64(binary.BigEndian.Uint16(frame[offset:]))*512/p.speed*1e9
	}
	if frame[14] == 0 {
		p.all = until(16)
		return
	}
	for prio := range p.free {
		if frame[17]>>prio&1 == 1 {
			p.free[prio] = until(18 + 2*prio)
		}
	}
}

func (p *modelPeer) paused(now int64) (vector uint8) {
	for prio, free := range p.free {
		if float64(now) < max(free, p.all) {
			vector |= 1 << prio
		}
	}
	return vector
}

// A wish is the model of the hold bits.
type wish struct {
	config InitiatorConfig
	holds  map[[2]uint8]bool // priority, cause
}

func (w *wish) set(prio uint8, c Cause, held bool) {
	if w.config.Mode == ModePause {
		prio = 0
	}
	w.holds[[2]uint8{prio, uint8(c)}] = held
}

func (w *wish) vector() (vector uint8) {
	for at, held := range w.holds {
		if held {
			vector |= 1 << at[0]
		}
	}
	switch {
	case w.config.Mode == ModePFC:
		return vector & w.config.Enabled
	case w.config.Mode == ModePause && vector != 0:
		return 0xFF
	}
	return 0
}

func drawConfig(t *rapid.T) InitiatorConfig {
	return InitiatorConfig{
		Mode:      rapid.SampledFrom([]Mode{ModePFC, ModePFC, ModePause, ModeOff}).Draw(t, "mode"),
		Enabled:   rapid.Uint8().Draw(t, "enabled"),
		Speed:     10 * giga,
		Source:    port,
		Quanta:    rapid.SampledFrom([]uint16{0, 0xFFFF, 0x8000, 100, 1}).Draw(t, "quanta"),
		Remaining: rapid.Bool().Draw(t, "remaining"),
		WakeDelay: rapid.Int64Range(0, mega).Draw(t, "wake-up delay"),
	}
}

// Holds, time, failed sends, resets and new configurations come in any mix. Once frames can be sent, few frames bring
// the peer to what is wanted.
func TestInitiatorConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &wish{config: drawConfig(t), holds: map[[2]uint8]bool{}}
		i := NewInitiator(w.config)
		peer := &modelPeer{speed: 10 * giga}
		now := int64(0)
		var last []byte // that arrived
		send := func(t *rapid.T, works bool) {
			frame, ok := i.AppendFrame(nil, now)
			assert.MustEqual(t, ok, i.Pending(now), "at %d: there is a frame, want what Pending says", now)
			if ok && works {
				peer.receive(t, frame, now)
				last = frame
				i.Sent(now)
			}
		}
		hold := func(t *rapid.T) (uint8, Cause) {
			return rapid.Uint8Range(0, 7).Draw(t, "priority"), 1 << rapid.Uint8Range(0, 3).Draw(t, "cause")
		}
		flush := func(t *rapid.T) {
			for range 2 { // XON in an old mode, then the state
				send(t, true)
			}
			assert.MustBeTrue(t, !i.Pending(now), "two frames did not tell the state")
			assert.MustEqual(t, i.XoffSent(), w.vector(), "told")
			got, want := peer.paused(now), w.vector()
			tooShort := i.refreshAt-i.sentAt <= MinRefresh // the pause told may have run out
			assert.MustBeTrue(t, got&^want == 0 && (got == want || tooShort),
				"peer is held on %#02x, want %#02x", got, want)
		}
		t.Repeat(map[string]func(*rapid.T){
			"hold":    func(t *rapid.T) { prio, c := hold(t); i.Hold(prio, c); w.set(prio, c, true) },
			"release": func(t *rapid.T) { prio, c := hold(t); i.Release(prio, c); w.set(prio, c, false) },
			"remaining": func(t *rapid.T) {
				i.SetRemaining(rapid.Uint8Range(0, 7).Draw(t, "priority"), rapid.Int64().Draw(t, "bits"))
			},
			"advance": func(t *rapid.T) { now += rapid.Int64Range(0, 2*mega).Draw(t, "ns") },
			"send":    func(t *rapid.T) { send(t, true) },
			"fail":    func(t *rapid.T) { send(t, false) },
			"again": func(t *rapid.T) { // by somebody who knows the frame only
				if last != nil {
					peer.receive(t, last, now)
					i.Refreshed(1, now, false)
				}
			},
			"reset": func(t *rapid.T) {
				i.Reset(now)
				last = nil
				*peer = modelPeer{speed: peer.speed}
			},
			"configure": func(t *rapid.T) {
				old := w.config.Mode
				if w.config = drawConfig(t); w.config.Mode != old {
					clear(w.holds)
				}
				i.Configure(w.config, now)
			},
			"flush": flush,
			"": func(t *rapid.T) {
				assert.MustEqual(t, i.XoffWanted(), w.vector(), "wanted")
				if got := i.NextRefresh(); (got == math.MaxInt64) != (i.XoffSent() == 0) {
					t.Errorf("next refresh at %d, told %#02x", got, i.XoffSent())
				}
			},
		})
		flush(t)
	})
}

// A pause that is long enough is refreshed before the peer runs free, though the refresh is late by up to four wake-up
// delays. No refresh follows a frame too soon.
func TestInitiatorNeverLetsAHeldPeerGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := InitiatorConfig{
			Mode:      rapid.SampledFrom([]Mode{ModePFC, ModePause}).Draw(t, "mode"),
			Enabled:   0xFF,
			Speed:     rapid.SampledFrom([]int64{100 * mega, giga, 10 * giga, 25 * giga, 40 * giga}).Draw(t, "speed"),
			Remaining: rapid.Bool().Draw(t, "remaining"),
			WakeDelay: rapid.Int64Range(0, 150_000).Draw(t, "wake-up delay"),
		}
		c.Quanta = rapid.Uint16Range(minRefreshQuanta(c.Speed, c.WakeDelay), 0xFFFF).Draw(t, "quanta")
		i := NewInitiator(c)
		peer := &modelPeer{speed: float64(c.Speed)}
		var now, last int64
		send := func(t *rapid.T) {
			frame, ok := i.AppendFrame(nil, now)
			if !ok {
				return
			}
			assert.True(t, i.XoffSent() != i.XoffWanted() || now >= last+MinRefresh,
				"refresh at %d, frame before at %d", now, last)
			peer.receive(t, frame, now)
			i.Sent(now)
			last = now
		}
		priority := rapid.Uint8Range(0, 7)
		t.Repeat(map[string]func(*rapid.T){
			"hold":    func(t *rapid.T) { i.Hold(priority.Draw(t, "priority"), CauseBuffer); send(t) },
			"release": func(t *rapid.T) { i.Release(priority.Draw(t, "priority"), CauseBuffer); send(t) },
			"remaining": func(t *rapid.T) {
				i.SetRemaining(priority.Draw(t, "priority"), rapid.Int64Range(0, 0x1FFFF*512).Draw(t, "bits"))
			},
			"early": func(t *rapid.T) {
				now += rapid.Int64Range(0, 20_000).Draw(t, "ns")
				send(t)
			},
			"refresh": func(t *rapid.T) {
				if due := i.NextRefresh(); due != math.MaxInt64 {
					now = max(now, due) + rapid.Int64Range(0, max(0, 4*c.WakeDelay-1)).Draw(t, "late")
					assert.MustEqual(t, peer.paused(now), i.XoffSent(),
						"at %d: what the peer is held on, want what it was told", now)
					send(t)
				}
			},
			"": func(t *rapid.T) {
				assert.MustEqual(t, i.XoffSent(), i.XoffWanted(), "told")
				assert.MustBeTrue(t, now >= i.NextRefresh() || peer.paused(now) == i.XoffSent(),
					"at %d: peer is held on %#02x, was told %#02x", now, peer.paused(now), i.XoffSent())
			},
		})
	})
}

// The Initiator of one end and the Receiver of the other agree on who was held, and for how long.
func TestInitiatorAndReceiverAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]Mode{ModePFC, ModePause}).Draw(t, "mode")
		i := NewInitiator(InitiatorConfig{Mode: mode, Enabled: 0x5A, Speed: giga, Quanta: 1000})
		r := NewReceiver(mode, 0x5A, giga, port)
		now := int64(0)
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			prio := rapid.Uint8Range(0, 7).Draw(t, "priority")
			if rapid.Bool().Draw(t, "hold") {
				i.Hold(prio, CauseTrunk)
			} else {
				i.Release(prio, CauseTrunk)
			}
			if frame, ok := i.AppendFrame(nil, now); ok && rapid.Bool().Draw(t, "works") {
				assert.MustEqual(t, r.Receive(frame, now, now), ReasonNone, "refused")
				i.Sent(now)
			}
			now += rapid.Int64Range(0, mega).Draw(t, "ns")
		}
		for prio := range uint8(8) {
			assert.Equal(t, r.PausedTime(prio, now), i.HeldTime(prio, now),
				"ns for which priority %d was paused, want those held", prio)
		}
		assert.Equal(t, r.PausedTime(WholePort, now), i.HeldTime(WholePort, now), "ns paused, want those held")
		received, sent := r.Counters(), i.Counters()
		assert.True(t, received.PFCFrames == sent.PFCFrames && received.PauseFrames == sent.PauseFrames,
			"received %v, %d, sent %v, %d", received.PFCFrames, received.PauseFrames, sent.PFCFrames, sent.PauseFrames)
	})
}
