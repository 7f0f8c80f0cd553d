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
	rxOperational: {"wait-port-operational", (*Agent).forgetAll, (*Agent).afterOperational},
	rxInitialize:  {"initialize", (*Agent).forgetAll, (*Agent).afterReceiveInitialize},
	rxWait:        {"wait-for-frame", func(*Agent) {}, (*Agent).afterWait},
	rxFrame:       {"frame", (*Agent).process, (*Agent).afterFrame},
	rxDelete:      {"delete-info", (*Agent).deleteInfo, func(*Agent) (int, string) { return rxWait, "deleted" }},
	rxUpdate:      {"update-info", (*Agent).updateInfo, func(*Agent) (int, string) { return rxWait, "stored" }},
	rxAged:        {"delete-aged-info", (*Agent).age, func(*Agent) (int, string) { return rxWait, "deleted" }},
}

type receiver struct {
	machine
	frame []byte // the frame that has just come, else nil

	source [6]byte
	pdu    *PDU // of the frame in state rxFrame, nil where it was discarded
	raw    string
}

func (a *Agent) afterOperational() (int, string) {
	if a.linkUp {
		return rxInitialize, reasonUp
	}
	return rxOperational, ""
}

func (a *Agent) afterReceiveInitialize() (int, string) {
	switch {
	case !a.linkUp:
		return rxOperational, reasonDown
	case a.enabled():
		return rxWait, reasonOn
	}
	return rxInitialize, ""
}

func (a *Agent) afterWait() (int, string) {
	switch {
	case !a.linkUp:
		return rxOperational, reasonDown
	case !a.enabled():
		return rxInitialize, reasonOff
	case a.neighbours.next() <= a.now:
		return rxAged, "time to live is over"
	case a.rx.frame != nil:
		return rxFrame, "frame received"
	}
	return rxWait, ""
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

func (a *Agent) afterFrame() (int, string) {
	p := a.rx.pdu
	switch {
	case p == nil:
		return rxWait, "discarded"
	case p.TTL == 0:
		return rxDelete, "time to live 0"
	case a.neighbours.refresh(p.MSAP(), a.rx.source, a.rx.raw, a.now):
		return rxWait, "the same again"
	}
	return rxUpdate, "news"
}

func (a *Agent) deleteInfo() {
	if n := a.neighbours.remove(a.rx.pdu.MSAP()); n != nil {
		a.log.add(EventShutdown, n, a.now)
	}
}

func (a *Agent) updateInfo() {
	n, isNew := a.neighbours.store(*a.rx.pdu, a.rx.source, a.rx.raw, a.now)
	switch {
	case n == nil:
		a.stats.NotStored++
		a.log.add(EventTooMany, &Neighbour{PDU: *a.rx.pdu}, a.now)
	case isNew:
		a.log.add(EventNew, n, a.now)
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
