package dcbx

// A feature is the feature state machine of CEE and CIN for one feature:
//
//	INIT ──▶ LISTEN: what the peer tells leads to one of the states below, the first that fits
//
// In featureStates each has a function that tells whether it fits, and one for what is done then. In CEE and CIN no address
// decides: two ends that are both willing, or both not, must want the same.
type feature struct {
	kind    Kind
	version Version
	own     Feature // as it is to be told, Error included

	seq    uint32 // under which own is told
	synced bool   // the peer has acknowledged that

	state featureState
	data  string // in force
	on    bool   // it operates
}

// A featureState is where the exchange about a feature has led. They stand in the order in which they are asked whether they fit.
type featureState uint8

const (
	featureInit      featureState = iota
	featureNoTLV                  // the peer does not tell it
	featureWait                   // the peer has not acknowledged, or speaks another version of the feature
	featureDuplicate              // the peer tells it twice
	featureOff                    // one end has disabled it
	featurePeer                   // own end willing, peer not
	featureOwn                    // peer willing, own end not
	featureSame                   // both willing or both not, and they want the same
	featureDiffers                // and they do not
)

// init tells own anew.
func (f *feature) init(c *control) {
	f.own.Error = false
	f.seq, f.synced = c.next(), false
	f.state, f.data, f.on = featureInit, f.own.Data, false
}

// peerFeature is what the peer tells of a feature, nil where it does not, and whether it tells it twice.
type peerFeature struct {
	*Feature
	duplicate bool
}

// featureStates has, for each state, whether what the peer tells leads there, and what is done then.
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

// receive takes what the peer tells.
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

// compatible tells whether both ends want the same. The groups of CEE never contradict each other: each end schedules
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

// noTLV is an error in CEE, which has every feature told.
func (f *feature) noTLV(peerFeature) { f.on, f.own.Error = false, f.version == VersionCEE }

func (f *feature) fail(peerFeature)      { f.on, f.own.Error = false, true }
func (f *feature) stop(peerFeature)      { f.on, f.own.Error = false, false }
func (f *feature) operate(x peerFeature) { f.on, f.own.Error = !x.Error, false }

// adopt operates with what the peer wants.
func (f *feature) adopt(x peerFeature) {
	f.operate(x)
	f.data = x.Data
}
