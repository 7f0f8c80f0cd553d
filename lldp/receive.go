package lldp

import "errors"

// The receive state machine, IEEE 802.1AB 9.2.8:
//
//	WAIT_OPERATIONAL ──link up──▶ INITIALIZE ──on──▶ WAIT_FRAME ──frame──▶ FRAME ──▶ WAIT_FRAME
//	                                                  │                      ├─TTL 0──▶ DELETE ──▶ WAIT_FRAME
//	                                                  │                      └─news──▶ UPDATE ──▶ WAIT_FRAME
//	                                                  └──time to live is over──▶ DELETE_AGED ──▶ WAIT_FRAME
//
// From everywhere a link that goes down leads to WAIT_OPERATIONAL.
const (
	rxOperational = iota
	rxInitialize
	rxWait
	rxFrame
	rxDelete
	rxUpdate
	rxAged
)

var rxStates = [...]state{
	rxOperational: {"wait-port-operational", (*Agent).forgetAll, []edge{{up, rxInitialize, reasonUp}}},
	rxInitialize: {"initialize", (*Agent).forgetAll, []edge{
		{down, rxOperational, reasonDown},
		{(*Agent).enabled, rxWait, reasonOn},
	}},
	rxWait: {"wait-for-frame", nil, []edge{
		{down, rxOperational, reasonDown},
		{off, rxInitialize, reasonOff},
		{func(a *Agent) bool { return a.neighbours.next() <= a.now }, rxAged, "time to live is over"},
		{func(a *Agent) bool { return a.rx.frame != nil }, rxFrame, "frame received"},
	}},
	rxFrame: {"frame", (*Agent).process, []edge{
		{func(a *Agent) bool { return a.rx.pdu == nil }, rxWait, "discarded"},
		{func(a *Agent) bool { return a.rx.pdu.TTL == 0 }, rxDelete, "time to live 0"},
		{(*Agent).refresh, rxWait, "the same again"},
		{nil, rxUpdate, "news"},
	}},
	rxDelete: {"delete-info", (*Agent).deleteInfo, []edge{{nil, rxWait, "deleted"}}},
	rxUpdate: {"update-info", (*Agent).updateInfo, []edge{{nil, rxWait, "stored"}}},
	rxAged:   {"delete-aged-info", (*Agent).age, []edge{{nil, rxWait, "deleted"}}},
}

type receiver struct {
	machine
	frame []byte // the frame that has just come, else nil

	source [6]byte
	pdu    *PDU // of the frame in state rxFrame, nil where it was discarded
	raw    string
}

// process reads a frame, and counts its errors.
func (a *Agent) process() {
	frame, s := a.rx.frame, &a.stats
	a.rx.frame, a.rx.pdu = nil, nil
	s.FramesReceived++
	source, raw, err := ParseFrame(frame)
	if err != nil {
		s.FramesDiscarded++
		return
	}
	p, discarded, err := ParsePDU(raw)
	s.TLVsDiscarded += uint64(discarded.Malformed)
	s.TLVsUnrecognized += uint64(discarded.Reserved)
	if err != nil {
		s.FramesDiscarded++
	}
	if errors.Is(err, ErrPDU) || discarded.Malformed > 0 {
		s.FramesInErrors++
	}
	if err == nil && p.MSAP() != a.cfg.Local.MSAP() { // an own frame that came back has no neighbour
		a.rx.source, a.rx.pdu, a.rx.raw = source, &p, string(raw)
	}
}

// refresh prolongs the neighbour if the frame announces the same as before, and reports whether it does.
func (a *Agent) refresh() bool {
	return a.neighbours.refresh(a.rx.pdu.MSAP(), a.rx.source, a.rx.raw, a.now)
}

func (a *Agent) deleteInfo() {
	if n := a.neighbours.remove(a.rx.pdu.MSAP()); n != nil {
		a.log.add(EventShutdown, n, a.now)
	}
}

func (a *Agent) updateInfo() {
	n, isNew, forgotten := a.neighbours.store(*a.rx.pdu, a.rx.source, a.rx.raw, a.now)
	if forgotten != nil {
		a.stats.NotStored++
		a.log.add(EventTooMany, forgotten, a.now)
	}
	if isNew {
		kind := EventNew
		if len(a.neighbours.list) > 1 {
			kind = EventAnother
		}
		a.log.add(kind, n, a.now)
		a.timer.newNeighbour = true
	}
}

// age deletes expired neighbours.
func (a *Agent) age() {
	for _, n := range a.neighbours.expire(a.now) {
		a.stats.Ageouts++
		a.log.add(EventAged, n, a.now)
	}
}

func (a *Agent) forgetAll() {
	for _, n := range a.neighbours.clear() {
		a.log.add(EventGone, n, a.now)
	}
}
