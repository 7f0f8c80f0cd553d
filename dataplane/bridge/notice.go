package bridge

import "time"

// NoticeKind is what a Notice is about.
type NoticeKind uint8

// The kinds of a Notice.
const (
	NoNotice      NoticeKind = iota
	PortFull                 // a port has as many stations as it may: those that were silent for longest are forgotten
	TableFull                // the table is full: stations of the port that has most are forgotten
	StationHeld              // a station moved too often between Port and Home, and is held at Home
	SourceDropped            // the source guard drops a station's frames at Port, since it is at Home; -1: nowhere
	PortStorm                // a port floods more than its storm limit
	numNotices
)

// A Notice is something about the filtering database that a person should know.
type Notice struct {
	Kind     NoticeKind
	Port     int
	Stations int // learned at the port

	Home int // of StationHeld and SourceDropped, as are the next two
	MAC  uint64
	VID  uint16
	Hold time.Duration // of StationHeld, as is the next one

	Neighbour bool // the station is the LLDP neighbour at Home, so that its first move begins the hold
}

// noticeInterval is the least time between two notices of one kind about one port.
const noticeInterval = int64(10 * time.Second)

// TakeNotice returns the notice that Forward has left, if any.
func (b *Bridge) TakeNotice() (Notice, bool) {
	if b.fdb.notice.Kind == NoNotice {
		return Notice{}, false
	}
	n := b.fdb.notice
	b.fdb.notice = Notice{}
	return n, true
}

// tell leaves a notice, unless there was one of its kind about that port a short time ago, or the same frame has left
// another one.
func (f *fdb) tell(n Notice, now int64) {
	if quietUntil := &f.stations[n.Port].quietUntil[n.Kind]; now >= *quietUntil && f.notice.Kind == NoNotice {
		*quietUntil, f.notice = now+noticeInterval, n
	}
}
