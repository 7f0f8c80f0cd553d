package dcbx

import "pfcswitch/lldp"

// Config is the configuration of a Machine.
type Config struct {
	Mode       Mode
	Willing    bool
	HigherWins bool // where both ends are willing, the one with the higher MAC address decides (IEEE)
	// The bits that say "supports automatic headroom measurement": one of mask 0x30 of the IEEE PFC flags, one of mask
	// 0x1F of the PFC feature's flags in CEE and CIN. With 0 the bit is neither sent nor believed.
	IEEEBit, LegacyBit uint8
	Hold               int64 // least ns between two changes of the outcome

	MAC    [6]byte
	CanPFC bool   // the port's flow control is PFC
	PFC    uint8  // priorities that are lossless by the configuration; 0 where it is not PFC
	Queues Queues // by the configuration
	Apps   []App
}

// A Machine is DCBX on one port.
type Machine struct {
	cfg       Config
	version   Version
	control   control
	feature   [NumKinds]feature
	announced [NumKinds]Feature // under control.seq
	holdDown  holdDown
}

// NewMachine returns a Machine without a peer.
func NewMachine(c Config) *Machine {
	m := &Machine{}
	m.configure(c)
	m.holdDown.set(m.cfg.localOutcome(m.version, m.cfg.noPeerReason()))
	return m
}

// Configure changes the configuration. The outcome follows at the next Update without hold-down, which is for peers
// that change their mind. Sequence numbers go on, so that no old acknowledgement counts for the new announcement.
func (m *Machine) Configure(c Config) {
	m.holdDown.free = 0
	if !m.version.legacy() || !c.Mode.allows(m.version) {
		m.configure(c)
		return
	}
	m.cfg, m.holdDown.gap = c, c.Hold
	for k := range m.feature {
		f := &m.feature[k]
		now, before := m.own(f.kind), f.own
		if before.Error = false; now != before {
			f.own = now
			f.init(&m.control)
		}
	}
	m.announce()
}

func (m *Machine) configure(c Config) {
	m.cfg, m.holdDown.gap = c, c.Hold
	m.setVersion(c.Mode.initialVersion())
}

// noPeerReason returns why the configuration is in force without a peer.
func (c *Config) noPeerReason() Reason {
	if c.Mode == ModeOff {
		return ReasonOff
	}
	return ReasonNoPeer
}

// setVersion begins to speak a version.
func (m *Machine) setVersion(v Version) {
	m.version = v
	m.control = control{seq: m.control.seq, acked: m.control.seq}
	if !v.legacy() {
		return
	}
	for k := range m.feature {
		f := &m.feature[k]
		*f = feature{kind: Kind(k), version: v, own: m.own(Kind(k))}
		f.init(&m.control)
	}
	m.announce()
}

// own returns a feature by configuration.
func (m *Machine) own(k Kind) Feature {
	c := &m.cfg
	own := Feature{Enable: true, Willing: c.Willing}
	switch k {
	case KindGroups:
		own.Data = c.Queues.groupsOf(m.version)
	case KindPFC:
		own.Willing, own.Enable, own.Reserved = c.willingPFC(), c.CanPFC, c.LegacyBit&reservedFeature
		own.Data = pfcData(m.version, c.PFC)
	default:
		own.Data = appData(c.Apps)
	}
	return own
}

// announce announces changed features, once the announcement before is acknowledged.
func (m *Machine) announce() {
	if !m.control.advance(&m.feature) {
		return
	}
	for k := range m.feature {
		m.announced[k] = m.feature[k].own
	}
}

func (m *Machine) announces(k Kind) bool {
	return m.version.types()[k] != 0 && (k != KindApplication || len(m.feature[k].own.Data) > 0)
}

// Update follows the neighbour n of the port; nil is none, or several of which none counts. The same again changes
// nothing.
func (m *Machine) Update(n *lldp.Neighbour, several bool, now int64) {
	m.holdDown.propose(m.decide(n, several), now)
}

func (m *Machine) decide(n *lldp.Neighbour, several bool) Outcome {
	switch {
	case m.cfg.Mode == ModeOff:
		return m.cfg.localOutcome(m.version, ReasonOff)
	case n == nil && several:
		return m.cfg.localOutcome(m.version, ReasonSeveral)
	case n == nil:
		if m.version != m.cfg.Mode.initialVersion() || m.control.ack != 0 || m.control.acked != 0 {
			m.control = control{} // the peer that has acknowledged numbers is gone
			m.setVersion(m.cfg.Mode.initialVersion())
		}
		return m.cfg.localOutcome(m.version, ReasonNoPeer)
	}
	if v := m.cfg.Mode.detect(m.version, n.Organization); v != m.version {
		m.setVersion(v)
	}
	if m.version.legacy() {
		return m.decideLegacy(n)
	}
	o := m.cfg.localOutcome(m.version, ReasonNoPeer)
	if peer := ParseIEEE(n.Organization); peer != nil {
		o.Peer = true
		m.cfg.decideIEEE(peer, n.Source, &o)
	}
	return o
}

func (m *Machine) decideLegacy(n *lldp.Neighbour) Outcome {
	o := m.cfg.localOutcome(m.version, ReasonNoPeer)
	peer := ParseLegacy(n.Organization, m.version)
	if peer == nil || !m.control.receive(peer.Control) {
		return o
	}
	o.Peer = true
	for k := range m.feature {
		if m.announces(Kind(k)) {
			m.feature[k].receive(peer, &m.control)
		}
	}
	m.announce()
	o.setPFC(m.legacyPFC(peer.Features[KindPFC]))
	if f := peer.Features[KindPFC]; f != nil {
		o.Measures = f.Reserved&m.cfg.LegacyBit != 0
	}
	before := &m.holdDown.inForce
	if f := &m.feature[KindGroups]; f.state == featureWait && f.own.Willing && before.ETSAdopted &&
		before.Version == m.version {
		o.Queues, o.ETSAdopted = before.Queues, true // until the peer has acknowledged
	} else if f.on && f.state == featurePeer {
		if q, ok := parseGroupsOf(m.version, f.data); ok {
			o.Queues, o.ETSAdopted = q, true
		}
	}
	return o
}

// legacyPFC decides which priorities are lossless. In CEE and CIN, PFC does not operate between incompatible ends. Here
// it operates for the priorities that both have, as in the IEEE version.
func (m *Machine) legacyPFC(remote *Feature) pfcDecision {
	f := &m.feature[KindPFC]
	alone := func(why Reason) pfcDecision { return pfcDecision{enable: m.cfg.PFC, reason: why} }
	switch f.state {
	case featureInit, featureWait:
		if o := &m.holdDown.inForce; f.own.Willing && o.Reason == ReasonPeer && o.Version == m.version {
			return pfcDecision{enable: o.PFC, reason: ReasonPeer} // until the peer has acknowledged
		}
		return alone(ReasonWaiting)
	case featureNoTLV:
		return alone(ReasonNoTLV)
	case featureDuplicate:
		return alone(ReasonDuplicate)
	case featureOff:
		return pfcDecision{reason: ReasonDisabled, mismatch: m.cfg.PFC != 0 || remote.Enable && remote.Data[0] != 0}
	case featureDiffers:
		return pfcDecision{enable: m.cfg.PFC & remote.Data[0], reason: ReasonMismatch, mismatch: true}
	}
	switch {
	case !f.on:
		return pfcDecision{enable: m.cfg.PFC & remote.Data[0], reason: ReasonPeerError, mismatch: true}
	case f.state == featurePeer:
		return pfcDecision{enable: f.data[0], reason: ReasonPeer}
	}
	return alone(ReasonOwn)
}

// measures reports whether this end announces that it can measure headroom.
func (m *Machine) measures() bool {
	switch {
	case m.version == VersionNone:
		return false
	case m.version.legacy():
		return m.cfg.LegacyBit != 0
	}
	return m.cfg.IEEEBit != 0
}

// Next returns when Update has to be called at the latest, math.MaxInt64 where nothing is due.
func (m *Machine) Next() int64 { return m.holdDown.next() }

// Outcome returns what is in force.
func (m *Machine) Outcome() Outcome { return m.holdDown.inForce }

// Organization returns the TLVs to announce.
func (m *Machine) Organization() []lldp.Organization {
	switch {
	case m.version == VersionNone:
		return nil
	case m.version.legacy():
		return []lldp.Organization{m.organizationLegacy()}
	}
	return m.organizationIEEE()
}

// organizationIEEE returns the configuration, or what was adopted from the peer.
func (m *Machine) organizationIEEE() []lldp.Organization {
	c, o := &m.cfg, &m.holdDown.inForce
	ets := c.Queues.ets(c.Willing)
	recommend := ets
	if o.ETSAdopted && o.Version == VersionIEEE {
		ets = o.ets
		ets.Willing = c.Willing
	}
	pfc := PFC{Willing: c.willingPFC(), Reserved: c.IEEEBit & reservedPFC, Cap: 8, Enable: c.PFC}
	if o.Reason == ReasonPeer || o.Reason == ReasonTiePeer {
		pfc.Enable = o.PFC
	}
	all := []lldp.Organization{ets.organization(subtypeETS), recommend.organization(subtypeRecommendation),
		pfc.organization()}
	if len(c.Apps) > 0 {
		all = append(all, organizationApps(c.Apps))
	}
	return all
}

// organizationLegacy returns the configuration, whatever the peer has: in CEE and CIN an end does not repeat what it
// adopted.
func (m *Machine) organizationLegacy() lldp.Organization {
	x := Legacy{Version: m.version, Control: &Control{Seq: m.control.seq, Ack: m.control.ack}}
	for k := range m.feature {
		if m.announces(Kind(k)) {
			x.Features[k] = &m.announced[k]
		}
	}
	return x.organization()
}
