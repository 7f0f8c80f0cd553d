package dataplane

import (
	"bytes"
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A frame of a lossless priority is never flooded as lossless.
func TestLosslessIsNeverFloodedLossless(t *testing.T) {
	rows := []struct {
		name     string
		port     func(int) PortConfig
		network  uint8
		demote   bool
		prio     uint8
		queue    int // that the copies wait in; -1: dropped
		wantDrop DropReason
	}{
		{"demoted to priority 0", testPort, 1 << lossless, true, lossless, 0, 0},
		{"demoted to the lowest lossy priority", testPort, 1<<lossless | 0b011, true, lossless, 2, 0},
		{"all priorities lossless", testPort, 0xff, true, lossless, -1, DropUnknownLossless},
		{"drop", testPort, 1 << lossless, false, lossless, -1, DropUnknownLossless},
		{"a lossy priority is no matter", testPort, 1 << lossless, false, 5, 5, 0},
		{"PAUSE: every priority is lossless at the port", pausePort, 1 << lossless, true, 5, 0, 0},
		{"PAUSE: drop", pausePort, 1 << lossless, false, 5, -1, DropUnknownLossless},
	}
	for _, dst := range []uint64{frame.Broadcast, 0x03_00_00_00_00_01, 0x02_00_00_00_99_99} {
		for _, row := range rows {
			t.Run(fmt.Sprintf("%s %012x", row.name, dst), func(t *testing.T) {
				cfg := testConfig(3)
				cfg.Lossless, cfg.Demote = row.network, row.demote
				r := newRig(t, cfg, row.port(0), row.port(1), row.port(2))
				want := ether(dst, host(0), tci(row.prio, 0), experimental, 9, 500)
				r.offer(0, want)
				v := r.snapshot()
				used := v.Buffer.Lossless.Used
				assert.True(t, used.Private.Persistent+used.Shared.Persistent+used.Headroom.Persistent == 0,
					"the lossless pool was used: %+v", used)
				r.balanced()
				if row.queue < 0 {
					assert.Equal(t, r.count(0).Drops[row.prio][row.wantDrop], 1, "drops for %v", row.wantDrop)
					assert.Equal(t, faults(v), 0, "a decision is counted as a lossless loss")
					r.empty()
					return
				}
				for _, i := range []int{1, 2} {
					if got := r.count(i).QueueBytes[row.queue]; got != 500 {
						t.Errorf("port %d: %d octets in queue %d, want 500: %v", i, got, row.queue,
							r.count(i).QueueBytes)
					}
					assert.Equal(t, v.Buffer.Ports[i].Egress[row.queue].Used.Now, 2*cell,
						"port %d: octets charged to the lossy queue", i)
					got := r.send(i, 64)
					assert.True(t, len(got) == 1 && bytes.Equal(got[0], want), "port %d sent %x, want %x", i, got, want)
				}
				r.empty()
			})
		}
	}
}

// Under PAUSE all priorities are one ingress queue: they fill it together, and one PAUSE frame stops them all.
func TestPausePortIsOneQueue(t *testing.T) {
	r := newRig(t, testConfig(2), pausePort(0), pausePort(1))
	r.pause(1, 0xffff)
	for prio := range uint8(NumPriorities) {
		r.offer(0, several(0, 1, prio, alone/NumPriorities, small)...)
	}
	b := r.tell(0)
	assert.MustBeTrue(t, b == nil, "XOFF below the threshold: %x", b)
	r.offer(0, data(0, 1, 6, 0, small))
	f, reason := macctl.Parse(r.tell(0), [6]byte{})
	assert.MustBeTrue(t, reason == macctl.ReasonNone && f.Opcode == macctl.OpcodePause && f.Pause == 0xffff,
		"sent %+v (%v), want one PAUSE", f, reason)
	q := r.snapshot().Buffer.Ports[0].Ingress
	assert.True(t, q[0].Used.Shared.Now == alone*cell && q[0].Used.Headroom.Now == cell && !q[6].Lossless,
		"queue 0 holds %+v", q[0].Used)
	r.pause(1, 0)
	assert.Equal(t, len(r.drain(1, r.now+second)), alone+1, "frames left")
	f, _ = macctl.Parse(r.tell(0), [6]byte{})
	assert.True(t, f.Opcode == macctl.OpcodePause && f.Pause == 0, "sent %+v, want PAUSE 0", f)
	r.empty()
}

// Where flow control is off nothing is lossless.
func TestModeOffIsLossy(t *testing.T) {
	port := testPort(0)
	port.Mode, port.Lossless = macctl.ModeOff, 0
	r := newRig(t, testConfig(2), port, testPort(1))
	r.offer(0, data(0, 1, lossless, 0, 100))
	v := r.snapshot()
	assert.True(t, v.Buffer.Lossless.Used.Shared.Now == 0 && v.Buffer.Ports[1].Egress[lossless].Used.Now == cell,
		"charged %+v and %+v, want the lossy egress queue", v.Buffer.Lossless.Used, v.Buffer.Ports[1].Egress[lossless])
	r.drain(1, second)
	r.empty()
}
