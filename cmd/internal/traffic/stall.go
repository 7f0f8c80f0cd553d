package traffic

// stalls watches how late a sender is, from when it is to look what may go until it does: nothing let it run, or the kernel kept it.
type stalls struct {
	due     int64 // when it is to look next
	longest int64
}

// begin is the beginning of the load.
func (s *stalls) begin(now int64) { *s = stalls{due: now} }

// look notes how late the sender is, which is due again at once.
func (s *stalls) look(now int64) {
	s.longest = max(s.longest, now-s.due)
	s.due = now
}
