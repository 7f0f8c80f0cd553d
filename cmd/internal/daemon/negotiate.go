package daemon

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// configureLLDP starts, changes or stops LLDP on a port, as the configuration says.
func (d *Daemon) configureLLDP(p *portLink) {
	if p.socket == nil || p.tap != nil || !d.cfg.LLDP.Agent { // behind a TAP is this host, and its wire speaks for it
		d.warn(p.cfg.Name, "closing the LLDP socket", p.stopLLDP())
		return
	}
	agent, machine := d.lldpConfig(p), d.dcbxConfig(p)
	if p.speaker != nil {
		p.speaker.configure(agent, machine)
		return
	}
	s, err := d.openSpeaker(p, agent, machine)
	if err != nil {
		d.warn(p.cfg.Name, "the port speaks no LLDP", err)
		return
	}
	p.speaker = s
	s.setLink(p.up)
	d.renegotiate.Store(true) // the settings in force may come from an earlier neighbour
	d.kick()
}

func (d *Daemon) openSpeaker(p *portLink, agent lldp.Config, machine dcbx.Config) (*speaker, error) {
	socket, err := port.OpenLLDP(p.cfg.Netns, p.at.link)
	if err != nil {
		return nil, err
	}
	number := p.number
	return startSpeaker(p.cfg.Name, socket, agent, machine, d.handleUpdate,
		func(out bool, frame []byte, now int64) { d.runner.CaptureBesideRings(number, out, frame, now) })
}

// stopLLDP sends a goodbye and stops LLDP on the port.
func (p *portLink) stopLLDP() error {
	if p.speaker == nil {
		return nil
	}
	err := p.speaker.close()
	p.speaker = nil
	return err
}

// chooseChassis settles the chassis ID: the address of the first port that exists. The ID stays while the switch runs,
// and is the same after a restart.
func (d *Daemon) chooseChassis(c *config.Config, places map[string]place) {
	for i := range c.Ports {
		at, ok := places[c.Ports[i].Name]
		if ok && c.Ports[i].Kind != config.KindTAP && d.chassis == [6]byte{} {
			d.chassis = at.link.MAC
		}
	}
}

// lldpConfig is what a port tells of itself. If no port existed at the start, the first port that opens gives the
// chassis ID.
func (d *Daemon) lldpConfig(p *portLink) lldp.Config {
	if d.chassis == [6]byte{} {
		d.chassis = p.at.link.MAC
	}
	return LLDPConfig(d.cfg, p.cfg, d.chassis, p.at.link.MAC, p.at.link.Index)
}

func (d *Daemon) dcbxConfig(p *portLink) dcbx.Config {
	return DCBXConfig(d.cfg, p.cfg, p.at.link.MAC, p.unwilling)
}

// negotiated returns the settings that differ from configuration c because of DCBX, by port name.
func (d *Daemon) negotiated(c *config.Config) map[string]config.Negotiated {
	all := map[string]config.Negotiated{}
	for i := range c.Ports {
		p := d.ports[c.Ports[i].Name]
		if p == nil || p.speaker == nil || !c.LLDP.Agent {
			continue
		}
		if e := Negotiated(c, &c.Ports[i], p.speaker.inForce()); e != nil {
			all[p.cfg.Name] = *e
		}
	}
	return all
}

// negotiate puts the results of DCBX in force, port by port, so that a failure at one port does not stop the others. A
// change that the buffer is too full for is retried.
func (d *Daemon) negotiate(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	wanted := d.negotiated(d.cfg)
	for _, c := range d.cfg.Ports { // each change replaces d.cfg
		var want *config.Negotiated
		if e, ok := wanted[c.Name]; ok {
			want = &e
		}
		var err error
		if !reflect.DeepEqual(want, c.Negotiated) {
			err = d.applyNegotiated(ctx, c.Name, want)
		}
		d.reportNegotiated(d.ports[c.Name], err)
	}
}

// reportNegotiated handles the outcome of a change by DCBX at one port.
func (d *Daemon) reportNegotiated(p *portLink, err error) {
	pending := p.dcbxPending
	p.dcbxPending = errors.Is(err, buffer.ErrBusy)
	switch {
	case err == nil:
	case !p.dcbxPending:
		d.warn(p.cfg.Name, NotFollowed, err)
		p.unwilling = true
		d.configureLLDP(p)
	default:
		if d.renegotiate.Store(true); !pending {
			d.warn(p.cfg.Name, "what DCBX has changed is not in force yet, and is tried again until it is", err)
		}
	}
}

// applyNegotiated puts the negotiated settings of one port in force; nil means none.
func (d *Daemon) applyNegotiated(ctx context.Context, name string, want *config.Negotiated) error {
	resolved, err := WithNegotiated(d.cfg, name, want)
	if err != nil {
		return err
	}
	return d.putInForce(ctx, resolved)
}

// handleUpdate reports an update of a speaker, and starts what follows from it.
func (d *Daemon) handleUpdate(n lldpUpdate) {
	for _, e := range n.events {
		text := fmt.Sprintf("%s, port %s, %v", e.Name, e.Port, e.Kind)
		d.log.Info("LLDP", "port", n.port, "event", text)
		d.addPeerEvent(dataplane.EventLLDP, n.port, e.Source, text)
	}
	for _, text := range n.sentences() {
		d.log.Info("DCBX", "port", n.port, "event", text)
		d.addPeerEvent(dataplane.EventDCBX, n.port, n.neighMAC, text)
	}
	if n.outcome != nil {
		d.renegotiate.Store(true)
		d.kick()
	}
	if n.agreed {
		d.kickHeadroom()
	}
}

func (d *Daemon) addPeerEvent(kind dataplane.EventKind, name string, peer [6]byte, text string) {
	d.runner.Note(dataplane.Event{Kind: kind, Port: name, Priority: -1, Peer: frame.Address(peer[:]), Text: text})
}

// sentences describes the outcome of the exchange.
func (n *lldpUpdate) sentences() (texts []string) {
	if n.status != nil {
		texts = append(texts, n.status.text(n.pfc))
	}
	if text, _ := outcomeSentence(n); text != "" {
		texts = append(texts, text)
	}
	return texts
}

// outcomeSentence describes a changed outcome, "" if there is nothing to report. why tells whether the sentence gives
// the reason.
func outcomeSentence(n *lldpUpdate) (text string, why bool) {
	o := n.outcome
	switch {
	case o == nil:
		return "", false
	case o.Mismatch && (!n.before.Mismatch || n.before.PFC != o.PFC || n.before.Reason != o.Reason):
		return fmt.Sprintf("PFC does not agree with %s (%v): it has priorities %v, and only %v stay lossless here: "+
			"give both ends the same, or write lldp.willing: true at one",
			n.neighbour, o.Reason, api.Priorities(n.peerPFC), api.Priorities(o.PFC)), true
	case o.Reason == dcbx.ReasonSeveral && n.before.Reason != o.Reason:
		return "several neighbours speak on one link, and none of them is known: none is followed, " +
			"and the configuration holds", true
	case (o.Reason == dcbx.ReasonPeer || o.Reason == dcbx.ReasonTiePeer) && (n.before.Reason != o.Reason ||
		n.before.PFC != o.PFC):
		return fmt.Sprintf("the port follows %s: priorities %v are lossless", n.neighbour, api.Priorities(o.PFC)), true
	case n.before.Mismatch && !o.Mismatch, n.before.PFC != o.PFC:
		return fmt.Sprintf("priorities %v are lossless (%v)", api.Priorities(o.PFC), o.Reason), true
	case n.before.ETSAdopted != o.ETSAdopted:
		return "the shares of the egress queues follow " + map[bool]string{true: "the neighbour",
			false: "the configuration"}[o.ETSAdopted], false
	}
	return "", false
}

// retryNegotiation lets ports follow their neighbours again after a new configuration, and puts the result in force.
func (d *Daemon) retryNegotiation(ctx context.Context) {
	for _, p := range d.ports {
		if p.unwilling {
			p.unwilling = false
			d.configureLLDP(p)
		}
	}
	d.negotiate(ctx)
}

// A dcbxStatus is the state of an exchange: the version that the port speaks, and the reason for its lossless
// priorities.
type dcbxStatus struct {
	version dcbx.Version
	reason  dcbx.Reason
}

func dcbxStatusOf(o *dcbx.Outcome) dcbxStatus { return dcbxStatus{o.Version, o.Reason} }

// A statusChange is a change of the dcbxStatus that has to be reported.
type statusChange struct{ from, to dcbxStatus }

// addStatusChange adds the status change to an update, beside the sentence on the outcome. A peer that changes often is
// reported at a limited rate. A suppressed change is reported later if it still holds and no sentence has covered it.
func (s *speaker) addStatusChange(n *lldpUpdate, now int64) {
	if _, why := outcomeSentence(n); why {
		s.reported.reason = s.outcome.Reason
	}
	n.status, n.pfc = s.nextStatusChange(now), s.outcome.PFC
}

// nextStatusChange returns the change since the last report, nil if there is none.
func (s *speaker) nextStatusChange(now int64) *statusChange {
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
		why = fmt.Sprintf("priorities %v are lossless, now because %s (%v)", api.Priorities(lossless),
			reasonTexts[r.to.reason], r.to.reason)
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
