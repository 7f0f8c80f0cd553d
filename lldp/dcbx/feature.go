package dcbx

// A feature is the feature state machine of CEE and CIN for one feature:
//
//	INIT ──▶ LISTEN: what the peer tells leads to one of the states below, the first that fits
//
// Each has a method that tells whether it fits. In CEE and CIN no address decides: two ends that are both willing, or
// both not, must want the same.
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

// A featureState is where the exchange about a feature has led.
type featureState uint8

const (
	featureInit    featureState = iota
	featureNoTLV                // the peer does not tell it
	featureWait                 // the peer has not acknowledged, or speaks another version of the feature
	featureTwice                // the peer tells it twice
	featureOff                  // one end has disabled it
	featurePeer                 // own end willing, peer not
	featureOwn                  // peer willing, own end not
	featureAlike                // both willing or both not, and they want the same
	featureDiffers              // and they do not
)

// init tells own anew.
func (f *feature) init(c *control) {
	f.own.Error = false
	f.seq, f.synced = c.next(), false
	f.state, f.data, f.on = featureInit, f.own.Data, false
}

// hear takes what the peer tells.
func (f *feature) hear(peer *Legacy, c *control) {
	remote := peer.Features[f.kind]
	f.state = f.listen(remote, peer.Twice[f.kind], c)
	wrong := f.own.Error
	f.data = f.own.Data
	switch f.state {
	case featureWait:
		return
	case featureNoTLV:
		f.on, f.own.Error = false, f.version == VersionCEE
	case featureTwice:
		f.on, f.own.Error = false, true
	case featureOff:
		f.on, f.own.Error = false, false
	case featureDiffers:
		f.on, f.own.Error = false, true
	default:
		f.on, f.own.Error = !remote.Error, false
		if f.state == featurePeer {
			f.data = remote.Data
		}
	}
	if f.own.Error != wrong {
		f.seq, f.synced = c.next(), false
	}
}

// listen finds the state.
func (f *feature) listen(remote *Feature, twice bool, c *control) featureState {
	if remote == nil && !twice {
		return featureNoTLV
	}
	if !f.synced && c.acked != f.seq {
		return featureWait
	}
	f.synced = true
	switch {
	case twice:
		return featureTwice
	case remote.Oper != 0:
		return featureWait
	case !f.own.Enable || !remote.Enable:
		return featureOff
	case f.own.Willing && !remote.Willing:
		return featurePeer
	case !f.own.Willing && remote.Willing:
		return featureOwn
	case f.compatible(remote):
		return featureAlike
	}
	return featureDiffers
}

// compatible tells whether both ends want the same. The groups of CEE never contradict each other: each end schedules
// what it sends.
func (f *feature) compatible(remote *Feature) bool {
	switch {
	case f.kind == KindGroups && f.version == VersionCEE:
		return true
	case f.kind == KindPFC:
		return f.own.Data[0] == remote.Data[0]
	}
	return f.own.Data == remote.Data
}
