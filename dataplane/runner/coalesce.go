package runner

// After a round with few frames while more come, a worker waits a little, so that the next round has more of them:
// each look at a slot that the kernel is about to fill takes its cache line from the CPU that fills it, and a round
// costs as much for one frame as for some.
const (
	coalesceFew   = 32    // frames of a round
	coalesceTime  = 2_000 // ns
	coalesceRelax = 8     // pauses of the processor between two looks at the clock
)

// coalesce waits where the round that has ended took few frames, and as many as there were. A worker with delay lines
// does not: a cable is never late.
func (w *worker) coalesce() {
	if w.got == 0 || w.got >= coalesceFew || w.full || len(w.lines) > 0 || !w.schedule.coalesce {
		return
	}
	for from := Now(); Now()-from < coalesceTime; {
		relax(coalesceRelax)
	}
}
