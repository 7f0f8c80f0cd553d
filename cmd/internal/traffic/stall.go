package traffic

// A Stall is a time for which a sender stood still though it was to look what may go: nothing let it run, or the kernel kept it.
type Stall struct {
	At   int64 `json:"at_ns"` // since the load began
	Time int64 `json:"time_ns"`
}

// mostStalls is how many stalls a sender keeps: the longest.
const mostStalls = 64

// stalls watches how late a sender is, from when it is to look what may go until it does.
type stalls struct {
	begun   int64
	due     int64 // when it is to look next
	longest int64
	all     []Stall // by time
}

// begin is the beginning of the load.
func (s *stalls) begin(now int64) { *s = stalls{begun: now, due: now} }

// look notes how late the sender is, which is due again at once. What flows make up for is no stall.
func (s *stalls) look(now int64) {
	late := now - s.due
	s.longest = max(s.longest, late)
	if late > int64(catchUp) {
		s.keep(Stall{At: s.due - s.begun, Time: late})
	}
	s.due = now
}

// keep adds a stall; where there are too many the shortest goes.
func (s *stalls) keep(n Stall) {
	s.all = append(s.all, n)
	if len(s.all) <= mostStalls {
		return
	}
	shortest := 0
	for i := range s.all {
		if s.all[i].Time < s.all[shortest].Time {
			shortest = i
		}
	}
	s.all = append(s.all[:shortest], s.all[shortest+1:]...)
}
