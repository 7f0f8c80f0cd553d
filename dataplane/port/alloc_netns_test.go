package port_test

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Receiving allocates nothing on any path: as a copy, in the slot, with the tag put back, through the oversize queue.
func TestReceiveAllocatesNothing(t *testing.T) {
	const warm, runs = 4, 16
	w := newWire(t)
	var frames [warm]port.Frame
	for name, send := range map[string]func(seq int){
		"small":    func(seq int) { w.send(frame.VnetHeader{}, craft(tci(2, 7), experimental, seq, 64)) },
		"slot":     func(seq int) { w.send(frame.VnetHeader{}, craft(nil, experimental, seq, 1514)) },
		"tagged":   func(seq int) { w.send(frame.VnetHeader{}, craft(tci(2, 7), experimental, seq, 1514)) },
		"oversize": func(seq int) { b, v := gsoFrame(tci(2, 7), seq, 30_000); w.send(v, b) },
	} {
		for seq := range warm + 1 + runs {
			send(seq)
		}
		w.awaitBacklog(port.Other, warm+1+runs)
		assert.MustEqual(t, w.port.Receive(port.Other, frames[:], 1<<20), warm, "%s: frames", name)
		w.port.Release(port.Other, warm)
		missing := 0
		allocs := testing.AllocsPerRun(runs, func() {
			if n := w.port.Receive(port.Other, frames[:1], 1<<20); n != 1 || frames[0].Truncated {
				missing++
			}
			w.port.Rewind(port.Other)
			w.port.Release(port.Other, w.port.Receive(port.Other, frames[:1], 1<<20))
		})
		assert.True(t, allocs == 0 && missing <= 0, "%s: %v allocations a frame, %d frames missing", name, allocs,
			missing)
	}
}

// A TAP allocates nothing when it reads, with and without inserting a tag, and when it writes.
func TestTAPAllocatesNothing(t *testing.T) {
	const runs, burst = 20, 20 // a burst in each, because a TAP reads several frames at once
	h := newTAP(t, port.QueueRule{Tags: true})
	var frames [1]port.Frame
	for name, socket := range map[string]int{"as it is": 0, "with a tag": 5} {
		all := make([][]byte, (1+runs)*burst)
		for i := range all {
			all[i] = craft(nil, experimental, i, 1000)
		}
		h.send(socket, all...)
		missing := 0
		allocs := testing.AllocsPerRun(runs, func() {
			for range burst {
				n := h.Receive(port.Lossless, frames[:], 1<<20)
				if n != 1 {
					missing++
				}
				h.Release(port.Lossless, n)
			}
		})
		assert.True(t, allocs == 0 && missing <= 0, "%s: %v allocations for %d frames received, %d frames missing",
			name, allocs, burst, missing)
	}
	b := port.NewBatch()
	for seq := range port.BatchFrames {
		add(b, frame.VnetHeader{}, craft(nil, experimental, seq, 1000), 600)
	}
	failed := 0
	allocs := testing.AllocsPerRun(runs, func() {
		if n, err := h.Send(b); n != b.Len() || err != nil {
			failed++
		}
	})
	assert.True(t, allocs == 0 && failed <= 0, "%v allocations a batch sent, %d not taken", allocs, failed)
}
