package capture

import "sync/atomic"

// MaxAside is the longest frame that PutAside takes, in octets: MAC Control frames without FCS have 60.
const MaxAside = 64

// asideSlots is how many records wait for the lock at most.
const asideSlots = 64

// Aside are records of who must not wait for the Recorder's lock. Who unlocks it next takes them.
type aside struct {
	slots   [asideSlots]asideSlot
	begun   atomic.Uint64 // number of records
	waiting atomic.Int32  // records that are complete
}

// An asideSlot belongs to who has moved its state on from free, or from ready.
type asideSlot struct {
	state  atomic.Uint32
	number uint64
	record Record
	note   [MaxNote]byte
	data   [MaxAside]byte
}

// States of an asideSlot.
const (
	asideFree = iota
	asideFilled
	asideReady
)

// PutAside records a frame b of at most MaxAside octets without Lock: it never waits, also where the holder of the lock
// has no CPU. The frame counts as missed where too many wait already.
func (r *Recorder) PutAside(rec *Record, b []byte) {
	s := r.aside.free()
	if s == nil {
		r.Missed(rec.Port, 1)
		return
	}
	s.number = r.aside.begun.Add(1)
	s.record = Record{Port: rec.Port, Out: rec.Out, Time: rec.Time, Length: rec.Length,
		Note: s.note[:copy(s.note[:], rec.Note)], Data: s.data[:copy(s.data[:], b)]}
	s.state.Store(asideReady)
	r.aside.waiting.Add(1)
	if r.mu.TryLock() {
		r.Unlock()
	}
}

// free returns a slot to fill, nil where there is none.
func (a *aside) free() *asideSlot {
	for i := range a.slots {
		if a.slots[i].state.CompareAndSwap(asideFree, asideFilled) {
			return &a.slots[i]
		}
	}
	return nil
}

// first returns the slot of the oldest complete record.
func (a *aside) first() (oldest *asideSlot) {
	for i := range a.slots {
		if s := &a.slots[i]; s.state.Load() == asideReady && (oldest == nil || s.number < oldest.number) {
			oldest = s
		}
	}
	return oldest
}

// takeAside moves the records that wait into the ring. The Recorder is locked.
func (r *Recorder) takeAside() {
	for r.aside.waiting.Load() > 0 {
		s := r.aside.first()
		r.aside.waiting.Add(-1)
		copy(r.Put(&s.record), s.record.Data)
		s.state.Store(asideFree)
	}
}
