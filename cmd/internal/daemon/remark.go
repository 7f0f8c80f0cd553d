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

// remarkOn adds to the news what is to be said of the standing beside the sentence on the outcome. A peer that changes its mind all
// the time is spoken of now and then: what was kept back is said later, if it is still so and no sentence has told it.
func (s *speaker) remarkOn(n *news, now int64) {
	if _, why := sentence(n); why {
		s.stood.reason = s.outcome.Reason
	}
	n.remark, n.pfc = s.remark(now), s.outcome.PFC
}

// remark returns what has changed since the standing was last told, nil for nothing.
func (s *speaker) remark(now int64) *remark {
	is := standingOf(&s.outcome)
	if is == s.stood || !s.remarks.Take(now) {
		return nil
	}
	r := &remark{s.stood, is}
	s.stood = is
	return r
}

// text says a remark; lossless is what is in force.
func (r *remark) text(lossless uint8) string {
	var version, why string
	if r.was.version != r.is.version {
		version = fmt.Sprintf("the port speaks DCBX in version %v now, no longer in %v", r.is.version, r.was.version)
	}
	if r.was.reason != r.is.reason {
		why = fmt.Sprintf("priorities %s are lossless, now because %s (%v)", priorityList(lossless), reasonTexts[r.is.reason], r.is.reason)
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
