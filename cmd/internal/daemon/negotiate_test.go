package daemon

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// What a person is told of an outcome; nothing where all is as it was and should be.
func TestSentence(t *testing.T) {
	alone := dcbx.Outcome{PFC: 0x08, Reason: dcbx.ReasonNoPeer}
	same := dcbx.Outcome{Peer: true, PFC: 0x08, Reason: dcbx.ReasonOwn}
	mismatch := dcbx.Outcome{Peer: true, PFC: 0x08, Reason: dcbx.ReasonMismatch, Mismatch: true}
	follows := dcbx.Outcome{Peer: true, PFC: 0x30, Reason: dcbx.ReasonPeer}
	several := dcbx.Outcome{PFC: 0x08, Reason: dcbx.ReasonSeveral}
	shares := same
	shares.ETSAdopted = true
	for _, tt := range []struct {
		name    string
		was, is dcbx.Outcome
		want    string
	}{
		{"the same at both ends", alone, same, ""},
		{"mismatch", alone, mismatch, "PFC does not agree with spine (mismatch): it has priorities [3 4], and only [3] stay lossless here"},
		{"still", mismatch, mismatch, ""},
		{"mismatch is over", mismatch, same, "priorities [3] are lossless (own)"},
		{"follows", alone, follows, "the port follows spine: priorities [4 5] are lossless"},
		{"follows no more", follows, alone, "priorities [3] are lossless (no-peer)"},
		{"several", same, several, "several neighbours speak on one link"},
		{"shares", same, shares, "the shares of the egress queues follow the neighbour"},
		{"own shares", shares, same, "the shares of the egress queues follow the configuration"},
	} {
		got := sentence(&news{was: tt.was, outcome: &tt.is, neighbour: "spine", peerPFC: 0x18})
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAgreementIsTold(t *testing.T) {
	var told []lldp.Agreement
	d := &Daemon{agreed: func(a lldp.Agreement) { told = append(told, a) }}
	want := lldp.Agreement{Port: "p1", Own: true, Peer: true, Neighbour: "spine"}
	d.heard(news{port: "p1", agreement: &want})
	d.heard(news{port: "p1"})
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %+v", told)
	}
}

// RoCEv2 has the priority of its DSCP where that is lossless, else the lowest lossless one.
func TestRocePriority(t *testing.T) {
	var p config.Priorities
	if _, ok := rocePriority(&p); ok {
		t.Error("nothing is lossless, and RoCEv2 has a priority")
	}
	p.Lossless, p.DSCP[roceDSCP] = 0x30, 3
	if prio, ok := rocePriority(&p); !ok || prio != 4 {
		t.Errorf("got %d", prio)
	}
	p.DSCP[roceDSCP] = 5
	if prio, ok := rocePriority(&p); !ok || prio != 5 {
		t.Errorf("got %d", prio)
	}
}
