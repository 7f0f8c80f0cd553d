package simulation

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/dataplane/frame"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// An LLDP is what a port of a switch found out by LLDP and DCBX before the flows began, in the words of show lldp.
type LLDP struct {
	Switch       string           `json:"switch"`
	Port         string           `json:"port"`
	DCBX         api.DCBX         `json:"dcbx"`
	Neighbor     *string          `json:"neighbor"` // its system name; null: there is none
	NeighborPort *string          `json:"neighbor_port"`
	NeighborPFC  *api.NeighborPFC `json:"neighbor_pfc"` // null: it sends none
	NotFollowed  string           `json:"not_followed"` // why what it asks for is not in force; "": it is
}

// A speaker is LLDP and DCBX on one port of a switch.
type speaker struct {
	s           *labSwitch
	number      int // of the port
	agent       lldp.Config
	machine     dcbx.Config
	x           *dcbx.Exchange
	link        *spokenLink // nil: none
	notFollowed error       // what the neighbour asks for does not fit

	free int64       // when the wire takes the next frame
	wire []lldpFrame // in the order in which they come to the other end
}

// An lldpFrame is on its way.
type lldpFrame struct {
	comes  int64
	octets []byte
}

// A spokenLink is a link on which at least one end speaks LLDP. What is said on one link changes nothing on others: so
// each has a clock of its own.
type spokenLink struct {
	ends [2]*speaker // nil: a host, or a port that speaks no LLDP
	now  int64
}

// negotiate has the switches speak LLDP and DCBX, and puts in force what follows, as package daemon does.
func (f *fabric) negotiate() {
	for n, s := range f.switches {
		for i := range s.config.Ports {
			if s.config.LLDP.Agent {
				s.speakers = append(s.speakers, newSpeaker(n, s, i))
			}
		}
	}
	for i := range f.topology.Links {
		f.speakOn(f.topology.Links[i].Ends)
	}
	for again := true; again; { // who no longer follows says so, and then the neighbour may have to change
		again = false
		for _, s := range f.switches {
			for _, v := range s.speakers {
				again = v.follow() || again
			}
		}
	}
}

// portMAC is the address of port i of the n-th switch.
func portMAC(n, i int) [6]byte {
	return [6]byte{0x02, 0xff, byte(n >> 8), byte(n), byte(i >> 8), byte(i)}
}

func newSpeaker(n int, s *labSwitch, i int) *speaker {
	p, mac := &s.config.Ports[i], portMAC(n, i)
	v := &speaker{s: s, number: i, agent: daemon.LLDPConfig(s.config, p, portMAC(n, 0), mac, i+1),
		machine: daemon.DCBXConfig(s.config, p, mac, false)}
	v.x = dcbx.NewExchange(v.agent, v.machine)
	return v
}

// speakOn has the ends of a link speak.
func (f *fabric) speakOn(ends [2]config.LabEnd) {
	l := &spokenLink{}
	for e, end := range ends {
		if s, _ := f.port(end); s != nil && s.config.LLDP.Agent {
			v := s.speakers[s.numbers[end.Interface]]
			v.link, l.ends[e] = l, v
		}
	}
	l.do(func(v *speaker) { v.x.SetLink(true, 0) })
	l.settle()
}

// do runs something for each end that speaks.
func (l *spokenLink) do(something func(v *speaker)) {
	for _, v := range l.ends {
		if v != nil {
			something(v)
		}
	}
}

// settled is after how many quiet times ends that never agree are left as they are.
const settled = 20

// settle lets the ends speak until what is in force has not changed for a quiet time: the fast start, and the longest
// hold-down.
func (l *spokenLink) settle() {
	quiet := int64(0)
	l.do(func(v *speaker) { quiet = max(quiet, v.machine.Hold) })
	quiet += int64((lldp.FastInit + 1) * lldp.FastInterval * time.Second)
	l.carry()
	before, changed := l.outcomes(), l.now
	for latest := l.now + settled*quiet; l.next() <= min(changed+quiet, latest); {
		l.now = l.next()
		l.carry()
		if is := l.outcomes(); is != before {
			before, changed = is, l.now
		}
	}
}

// outcomes are what is in force at both ends.
func (l *spokenLink) outcomes() (all [2]dcbx.Outcome) {
	for e, v := range l.ends {
		if v != nil {
			all[e] = v.x.Outcome()
		}
	}
	return all
}

// next is when something happens: a timer is due, or a frame comes.
func (l *spokenLink) next() int64 {
	next := int64(math.MaxInt64)
	l.do(func(v *speaker) {
		next = min(next, v.x.Next())
		if len(v.wire) > 0 {
			next = min(next, v.wire[0].comes)
		}
	})
	return next
}

// carry does what is due, and puts the frames that are to leave on the wire.
func (l *spokenLink) carry() {
	for e, v := range l.ends {
		if v == nil {
			continue
		}
		v.x.Advance(l.now)
		for peer := l.ends[1-e]; peer != nil && len(peer.wire) > 0 && peer.wire[0].comes <= l.now; {
			v.x.Receive(peer.wire[0].octets, l.now)
			peer.wire = peer.wire[1:]
		}
	}
	for e, v := range l.ends {
		if v != nil {
			v.send(l.now, l.ends[1-e] != nil)
		}
	}
}

// send puts frames on the wire, one after the other, each for as long as it takes at the speed of the port. Nobody
// hears those to a host.
func (v *speaker) send(now int64, heard bool) {
	p := &v.s.config.Ports[v.number]
	for b := v.x.Transmit(); b != nil; b = v.x.Transmit() {
		v.free = max(v.free, now) + (int64(frame.WireOctets(len(b)))*8*int64(time.Second)+p.Speed-1)/p.Speed
		if heard {
			v.wire = append(v.wire, lldpFrame{v.free + int64(p.Delay), b})
		}
	}
}

// follow puts what the port has agreed on in force. Where that does not fit, the port tells its neighbour that it
// follows no longer, and follow returns true.
func (v *speaker) follow() (changed bool) {
	p := &v.s.config.Ports[v.number]
	want := daemon.Negotiated(v.s.config, p, v.x.Outcome())
	if reflect.DeepEqual(want, p.Negotiated) {
		return false
	}
	c, err := daemon.WithNegotiated(v.s.config, p.Name, want)
	if err == nil {
		v.s.config = c
		return false
	}
	changed = v.notFollowed == nil
	if changed {
		v.notFollowed, v.machine = err, daemon.DCBXConfig(v.s.config, p, v.agent.MAC, true)
		v.x.Configure(v.agent, v.machine, v.link.now)
		v.link.settle()
	}
	return changed
}

// addLLDP adds what the ports of a switch agreed on.
func (f *fabric) addLLDP(r *Report, s *labSwitch) {
	for _, v := range s.speakers {
		p := &s.config.Ports[v.number]
		d := daemon.DescribeLLDP(p.Name, v.x, &v.machine, 0)
		d.DCBX.LosslessPriorities = api.Priorities(s.config.LosslessOf(p))
		row := LLDP{Switch: s.name, Port: p.Name, DCBX: d.DCBX}
		if len(d.Neighbors) > 0 { // a cable has one
			n := &d.Neighbors[0]
			row.Neighbor, row.NeighborPort, row.NeighborPFC = n.SystemName, &n.PortID, n.PFC
		}
		if v.notFollowed != nil {
			row.NotFollowed = fmt.Sprintf("%s: %v", daemon.NotFollowed, f.topology.InSwitch(s.name, v.notFollowed))
		}
		r.LLDP = append(r.LLDP, row)
	}
}

// lldpText writes what the ports agreed on: of too many, first those that differ from their configuration.
func (r *Report) lldpText(out io.Writer) error {
	const head = "LLDP and DCBX before the flows.\n" +
		"PORT\tDCBX\tLOSSLESS\tWHY\tMISMATCH\tNEIGHBOR\tITS PORT\tPFC\tWILLING"
	shown, hidden := r.LLDP, 0
	if len(shown) > mostRows {
		shown, hidden = slices.Clone(shown), len(shown)-mostRows
		slices.SortStableFunc(shown, func(a, b LLDP) int { return a.rank() - b.rank() })
		shown = shown[:mostRows]
	}
	yes := map[bool]string{true: "yes", false: "no"}
	err := section(out, head, shown, hidden, func(w io.Writer, v LLDP) {
		pfc, willing := "-", "-"
		if v.NeighborPFC != nil {
			pfc, willing = api.JoinPriorities(v.NeighborPFC.Priorities), yes[v.NeighborPFC.Willing]
		}
		fmt.Fprintf(w, "%s:%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.Switch, v.Port, v.DCBX.Version,
			api.JoinPriorities(v.DCBX.LosslessPriorities), v.DCBX.Reason, yes[v.DCBX.Mismatch], orNone(v.Neighbor),
			orNone(v.NeighborPort), pfc, willing)
	})
	for _, v := range r.LLDP {
		if v.NotFollowed != "" {
			fmt.Fprintf(out, "%s:%s: %s\n\n", v.Switch, v.Port, v.NotFollowed)
		}
	}
	return err
}

// rank is 0 where a port differs from its configuration, or from its neighbour.
func (v *LLDP) rank() int {
	if v.DCBX.Mismatch || v.NotFollowed != "" || v.DCBX.Reason == dcbx.ReasonPeer.String() ||
		v.DCBX.Reason == dcbx.ReasonTiePeer.String() || v.DCBX.ETSAdopted {
		return 0
	}
	return 1
}

func orNone(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}
