package daemon

import (
	"fmt"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/lldp/dcbx"
)

// A dcbxStatus is the state of an exchange: the version that the port speaks, and the reason for its lossless
// priorities.
type dcbxStatus struct {
	version dcbx.Version
	reason  dcbx.Reason
}

func dcbxStatusOf(o *dcbx.Outcome) dcbxStatus { return dcbxStatus{o.Version, o.Reason} }

// A statusChange is a change of the dcbxStatus that has to be reported.
type statusChange struct {
	from, to dcbxStatus
}

// addStatusChange adds the status change to an update, beside the sentence on the outcome. A peer that changes often is
// reported at a limited rate. A suppressed change is reported later if it still holds and no sentence has covered it.
func (s *speaker) addStatusChange(n *lldpUpdate, now int64) {
	if _, why := outcomeSentence(n); why {
		s.reported.reason = s.outcome.Reason
	}
	n.status, n.pfc = s.takeStatusChange(now), s.outcome.PFC
}

// takeStatusChange returns the change since the last report, nil if there is none.
func (s *speaker) takeStatusChange(now int64) *statusChange {
	is := dcbxStatusOf(&s.outcome)
	if is == s.reported || !s.reportAllowance.Allow(now) {
		return nil
	}
	r := &statusChange{s.reported, is}
	s.reported = is
	return r
}

// text describes the change; lossless holds the priorities in force.
func (r *statusChange) text(lossless uint8) string {
	var version, why string
	if r.from.version != r.to.version {
		version = fmt.Sprintf("the port speaks DCBX in version %v now, no longer in %v", r.to.version, r.from.version)
	}
	if r.from.reason != r.to.reason {
		why = fmt.Sprintf("priorities %v are lossless, now because %s (%v)", api.Priorities(lossless), reasonTexts[r.to.reason], r.to.reason)
	}
	if version != "" && why != "" {
		return version + "; " + why
	}
	return version + why
}

// reasonTexts give each reason as the end of a sentence.
var reasonTexts = map[dcbx.Reason]string{
	dcbx.ReasonOff:       "DCBX is switched off",
	dcbx.ReasonNoPeer:    "no neighbour speaks DCBX in this version",
	dcbx.ReasonSeveral:   "several neighbours speak on one link",
	dcbx.ReasonNoTLV:     "the neighbour tells nothing of PFC",
	dcbx.ReasonDuplicate: "the neighbour tells PFC twice, which is void",
	dcbx.ReasonWaiting:   "the neighbour has not acknowledged yet what it was told",
	dcbx.ReasonOwn:       "the neighbour has the same, or follows",
	dcbx.ReasonPeer:      "the port follows the neighbour",
	dcbx.ReasonTieOwn:    "both ends would follow, and the address of this one decides",
	dcbx.ReasonTiePeer:   "both ends would follow, and the neighbour's address decides",
	dcbx.ReasonDisabled:  "one end has switched PFC off",
	dcbx.ReasonMismatch:  "the ends differ, and neither follows",
	dcbx.ReasonPeerError: "the neighbour says that the ends do not fit together",
}
