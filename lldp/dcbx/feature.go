package dcbx

// A feature is the feature state machine of CEE and CIN for one feature: the peer's announcement leads to the first
// featureState that fits. In CEE and CIN no address decides: two ends that are both willing, or both not, must want the
// same.
type feature struct {
	kind    Kind
	version Version
	own     Feature // as announced, Error included

	seq    uint32 // under which own is announced
	synced bool   // the peer has acknowledged own

	state featureState
	data  string // in force
	on    bool   // the feature operates
}

// A featureState is where the exchange about a feature has led. The states are tried in this order.
type featureState uint8

const (
	featureInit      featureState = iota
	featureNoTLV                  // the peer does not announce the feature
	featureWait                   // the peer has not acknowledged, or speaks another version of the feature
	featureDuplicate              // the peer announces the feature twice
	featureOff                    // one end has disabled it
	featurePeer                   // own end willing, peer not
	featureOwn                    // peer willing, own end not
	featureSame                   // both willing or both not, and they want the same
	featureDiffers                // both willing or both not, and they want different things
)

// init announces own anew.
func (f *feature) init(c *control) {
	f.own.Error = false
	f.seq, f.synced = c.next(), false
	f.state, f.data, f.on = featureInit, f.own.Data, false
}

// receive takes the peer's announcement.
func (f *feature) receive(peer *Legacy, c *control) {
	x, twice := peer.Features[f.kind], peer.Duplicate[f.kind]
	announced := x != nil || twice
	if c.acked == f.seq { // of the whole announcement, whether or not the peer announces the feature
		f.synced = true
	}
	wrong := f.own.Error
	f.data = f.own.Data
	switch {
	case !announced: // an error in CEE, where every feature has to be announced
		f.enter(featureNoTLV, false, f.version == VersionCEE)
	case !f.synced || !twice && x.Oper != 0:
		f.state = featureWait // all else stays
	case twice:
		f.enter(featureDuplicate, false, true)
	case !f.own.Enable || !x.Enable:
		f.enter(featureOff, false, false)
	case f.own.Willing && !x.Willing:
		f.enter(featurePeer, !x.Error, false)
		f.data = x.Data
	case !f.own.Willing && x.Willing:
		f.enter(featureOwn, !x.Error, false)
	case f.compatible(x):
		f.enter(featureSame, !x.Error, false)
	default:
		f.enter(featureDiffers, false, true)
	}
	if f.own.Error != wrong {
		f.seq, f.synced = c.next(), false
	}
}

func (f *feature) enter(s featureState, on, wrong bool) { f.state, f.on, f.own.Error = s, on, wrong }

// compatible reports whether both ends want the same. The groups of CEE never contradict each other: each end schedules
// what it sends.
func (f *feature) compatible(x *Feature) bool {
	switch {
	case f.kind == KindGroups && f.version == VersionCEE:
		return true
	case f.kind == KindPFC:
		return f.own.Data[0] == x.Data[0]
	}
	return f.own.Data == x.Data
}

// A control is the control state machine of CEE and CIN. Each announcement has a sequence number. The next one follows
// only after the peer has acknowledged the one before.
type control struct {
	seq   uint32 // of this end's announcement
	ack   uint32 // the peer's number that this end acknowledges
	acked uint32 // this end's number that the peer acknowledges
}

// receive takes the peer's control TLV. It returns false where the peer operates in another version than 0, the only
// one.
func (c *control) receive(peer *Control) bool {
	if peer == nil || peer.Oper != 0 {
		return false
	}
	c.acked, c.ack = peer.Ack, peer.Seq
	return true
}

// next returns the number under which the next change is announced.
func (c *control) next() uint32 { return c.seq + 1 }

// advance takes the next number where a feature has changed and no announcement is unacknowledged. It returns whether
// it did.
func (c *control) advance(features *[NumKinds]feature) bool {
	if c.seq != c.acked {
		return false
	}
	for i := range features {
		if f := &features[i]; !f.synced && f.seq == c.next() {
			c.seq++
			return true
		}
	}
	return false
}
