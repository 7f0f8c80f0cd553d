package dcbx

// A feature is the feature state machine of CEE and CIN for one feature:
//
//	INIT ──▶ LISTEN: the peer's announcement leads to the first state below that fits
//
// featureStates has two functions for each state: whether it fits, and what is done then. In CEE and CIN no address
// decides: two ends that are both willing, or both not, must want the same.
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

// A peerFeature is the peer's announcement of a feature, nil where there is none, and whether there are two.
type peerFeature struct {
	*Feature
	duplicate bool
}

// featureStates has, for each state, whether the peer's announcement leads there, and what is done then.
var featureStates = [...]struct {
	fits  func(f *feature, x peerFeature) bool
	enter func(f *feature, x peerFeature)
}{
	featureInit:      {(*feature).never, (*feature).keep}, // init leads there
	featureNoTLV:     {(*feature).missing, (*feature).noTLV},
	featureWait:      {(*feature).waits, (*feature).keep},
	featureDuplicate: {(*feature).duplicate, (*feature).fail},
	featureOff:       {(*feature).disabled, (*feature).stop},
	featurePeer:      {(*feature).follows, (*feature).adopt},
	featureOwn:       {(*feature).leads, (*feature).operate},
	featureSame:      {(*feature).compatible, (*feature).operate},
	featureDiffers:   {(*feature).always, (*feature).fail},
}

// receive takes the peer's announcement.
func (f *feature) receive(peer *Legacy, c *control) {
	x := peerFeature{peer.Features[f.kind], peer.Duplicate[f.kind]}
	if !f.missing(x) && c.acked == f.seq {
		f.synced = true
	}
	f.state = featureInit
	for !featureStates[f.state].fits(f, x) {
		f.state++
	}
	wrong := f.own.Error
	f.data = f.own.Data
	featureStates[f.state].enter(f, x)
	if f.own.Error != wrong {
		f.seq, f.synced = c.next(), false
	}
}

func (f *feature) never(peerFeature) bool     { return false }
func (f *feature) always(peerFeature) bool    { return true }
func (f *feature) missing(x peerFeature) bool { return x.Feature == nil && !x.duplicate }

func (f *feature) waits(x peerFeature) bool { return !f.synced || !x.duplicate && x.Oper != 0 }

func (f *feature) duplicate(x peerFeature) bool { return x.duplicate }
func (f *feature) disabled(x peerFeature) bool  { return !f.own.Enable || !x.Enable }
func (f *feature) follows(x peerFeature) bool   { return f.own.Willing && !x.Willing }
func (f *feature) leads(x peerFeature) bool     { return !f.own.Willing && x.Willing }

// compatible reports whether both ends want the same. The groups of CEE never contradict each other: each end schedules
// what it sends.
func (f *feature) compatible(x peerFeature) bool {
	switch {
	case f.kind == KindGroups && f.version == VersionCEE:
		return true
	case f.kind == KindPFC:
		return f.own.Data[0] == x.Data[0]
	}
	return f.own.Data == x.Data
}

// keep leaves all as it is.
func (f *feature) keep(peerFeature) {}

// noTLV is an error in CEE, where every feature has to be announced.
func (f *feature) noTLV(peerFeature) { f.on, f.own.Error = false, f.version == VersionCEE }

func (f *feature) fail(peerFeature)      { f.on, f.own.Error = false, true }
func (f *feature) stop(peerFeature)      { f.on, f.own.Error = false, false }
func (f *feature) operate(x peerFeature) { f.on, f.own.Error = !x.Error, false }

// adopt operates with what the peer wants.
func (f *feature) adopt(x peerFeature) {
	f.operate(x)
	f.data = x.Data
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
