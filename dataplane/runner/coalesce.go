package runner

// After a round with few frames, a worker waits a little, so that the next round has more frames. A round costs as much
// for one frame as for several. And each look at a ring slot takes the slot's cache line from the CPU that fills it.
const (
	coalesceFew   = 32    // frames of a round
	coalesceTime  = 2_000 // ns
	coalesceRelax = 8     // pauses of the processor between two looks at the clock
)

// coalesce waits where the round that has ended found few frames and took all of them. A worker with delay lines does
// not wait: frames in a delay line must leave on time.
func (w *worker) coalesce() {
	if w.framesThisRound == 0 || w.framesThisRound >= coalesceFew || w.burstWasFull || len(w.lines) > 0 || !w.manyCPUs {
		return
	}
	for from := Now(); Now()-from < coalesceTime; {
		relax(coalesceRelax)
	}
}
