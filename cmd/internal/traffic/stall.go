package traffic

// stalls measures how late a sender runs: the time from when it is due until it runs. It waited for a CPU or in the kernel.
type stalls struct {
	due     int64 // time of the next run
	longest int64
}

// begin starts the measurement with the load.
func (s *stalls) begin(now int64) { *s = stalls{due: now} }

// look records the lateness of this run. The sender is due again at once.
func (s *stalls) look(now int64) {
	s.longest = max(s.longest, now-s.due)
	s.due = now
}
