package daemon

import (
	"fmt"

	"pfcswitch/lldp/dcbx"
)

// A standing is how an exchange stands: which version the port speaks, and why its lossless priorities are what they are.
type standing struct {
	version dcbx.Version
	reason  dcbx.Reason
}

func standingOf(o *dcbx.Outcome) standing { return standing{o.Version, o.Reason} }

// A remark is that the standing has changed.
type remark struct {
	was, is standing
}

// remark returns what is to be said of the standing, nil for nothing. A peer that changes its mind all the time is spoken of now and
// then: what was kept back is said later, if it is still so.
func (s *speaker) remark(now int64) *remark {
	is := standingOf(&s.outcome)
	if is == s.stood || !s.remarks.Take(now) {
		return nil
	}
	r := &remark{s.stood, is}
	s.stood = is
	return r
}

// text says a remark, without the reason where that has been said; lossless is what is in force. It is "" where nothing is left.
func (r *remark) text(lossless uint8, reason bool) string {
	var version, why string
	if r.was.version != r.is.version {
		version = fmt.Sprintf("the port speaks DCBX in version %v now, no longer in %v", r.is.version, r.was.version)
	}
	if reason && r.was.reason != r.is.reason {
		why = fmt.Sprintf("priorities %s are lossless as before, now because %s (%v)", priorityList(lossless), reasonTexts[r.is.reason], r.is.reason)
	}
	if version != "" && why != "" {
		return version + "; " + why
	}
	return version + why
}

// reasonTexts say each reason as the end of a sentence.
var reasonTexts = map[dcbx.Reason]string{
	dcbx.ReasonOff:       "DCBX is switched off",
	dcbx.ReasonNoPeer:    "no neighbour speaks DCBX in this version",
	dcbx.ReasonSeveral:   "several neighbours speak on one link",
	dcbx.ReasonNoTLV:     "the neighbour tells nothing of PFC",
	dcbx.ReasonTwice:     "the neighbour tells PFC twice, which is void",
	dcbx.ReasonWaiting:   "the neighbour has not acknowledged yet what it was told",
	dcbx.ReasonOwn:       "the neighbour has the same, or follows",
	dcbx.ReasonPeer:      "the port follows the neighbour",
	dcbx.ReasonTieOwn:    "both ends would follow, and the address of this one decides",
	dcbx.ReasonTiePeer:   "both ends would follow, and the neighbour's address decides",
	dcbx.ReasonDisabled:  "one end has switched PFC off",
	dcbx.ReasonMismatch:  "the ends differ, and neither follows",
	dcbx.ReasonPeerError: "the neighbour says that the ends do not fit together",
}
