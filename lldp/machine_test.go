package lldp

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
)

// TestTransitions lists what the machines do from the start to the end of a link, with reason and second.
func TestTransitions(t *testing.T) {
	r := record(t)
	for _, step := range []struct {
		name  string
		do    func()
		until int64 // s
		want  []string
	}{
		{"start", func() { r.a.SetLink(true, r.now) }, 2, []string{
			"0 receive: wait-port-operational to initialize, link up",
			"0 receive: initialize to wait-for-frame, enabled",
			"0 transmit: initialize to idle, enabled",
			"0 timer: initialize to idle, enabled",
			"0 timer: idle to expires, time is up",
			"0 timer: expires to signal, a frame is due",
			"0 timer: signal to idle, signalled",
			"0 transmit: idle to info-frame, a frame is to leave",
			"0 transmit: info-frame to idle, sent",
		}},
		{"fast start", func() { r.receive(announcement(spine, 9)) }, 3, []string{
			"2 receive: wait-for-frame to frame, frame received",
			"2 receive: frame to update-info, news",
			"2 receive: update-info to wait-for-frame, stored",
			"2 timer: idle to fast-start, new neighbour",
			"2 timer: fast-start to expires, greeting",
			"2 timer: expires to signal, a frame is due",
			"2 timer: signal to idle, signalled",
			"2 transmit: idle to info-frame, a frame is to leave",
			"2 transmit: info-frame to idle, sent",
			"3 timer: idle to expires, time is up",
			"3 timer: expires to signal, a frame is due",
			"3 timer: signal to idle, signalled",
			"3 transmit: idle to info-frame, a frame is to leave",
			"3 transmit: info-frame to idle, sent",
		}},
		{"the rest of the greeting", func() {}, 5, []string{
			"4 timer: idle to expires, time is up",
			"4 timer: expires to signal, a frame is due",
			"4 timer: signal to idle, signalled",
			"4 transmit: idle to info-frame, a frame is to leave",
			"4 transmit: info-frame to idle, sent",
			"5 timer: idle to expires, time is up",
			"5 timer: expires to signal, a frame is due",
			"5 timer: signal to idle, signalled",
			"5 transmit: idle to info-frame, a frame is to leave",
			"5 transmit: info-frame to idle, sent",
		}},
		{"the same again", func() { r.receive(announcement(spine, 9)) }, 6, []string{
			"5 receive: wait-for-frame to frame, frame received",
			"5 receive: frame to wait-for-frame, the same again",
		}},
		{"ageing", func() {}, 20, []string{
			"14 receive: wait-for-frame to delete-aged-info, time to live is over",
			"14 receive: delete-aged-info to wait-for-frame, deleted",
		}},
		{"a frame that is none", func() { r.receive(announcement(spine, 9)[:20]) }, 20, []string{
			"20 receive: wait-for-frame to frame, frame received",
			"20 receive: frame to wait-for-frame, discarded",
		}},
		{"own data", func() { r.a.SetOrganization([]Organization{{}}, r.now) }, 20, []string{
			"20 timer: idle to signal, own data changed",
			"20 timer: signal to idle, signalled",
			"20 transmit: idle to info-frame, a frame is to leave",
			"20 transmit: info-frame to idle, sent",
		}},
		{"the neighbour says goodbye", func() { r.receive(announcement(spine, 0)) }, 20, []string{
			"20 receive: wait-for-frame to frame, frame received",
			"20 receive: frame to delete-info, time to live 0",
			"20 receive: delete-info to wait-for-frame, deleted",
		}},
		{"shutdown", func() { r.a.SetOn(false, r.now) }, 30, []string{
			"20 receive: wait-for-frame to initialize, disabled",
			"20 timer: idle to initialize, disabled",
			"20 transmit: idle to shutdown-frame, disabled",
			"22 transmit: shutdown-frame to initialize, silence is over",
		}},
		{"on again", func() { r.a.SetOn(true, r.now) }, 30, []string{
			"30 receive: initialize to wait-for-frame, enabled",
			"30 transmit: initialize to idle, enabled",
			"30 timer: initialize to idle, enabled",
			"30 timer: idle to expires, time is up",
			"30 timer: expires to signal, a frame is due",
			"30 timer: signal to idle, signalled",
			"30 transmit: idle to info-frame, a frame is to leave",
			"30 transmit: info-frame to idle, sent",
		}},
		{"link down", func() { r.a.SetLink(false, r.now) }, 100, []string{
			"30 receive: wait-for-frame to wait-port-operational, link down",
			"30 timer: idle to initialize, link down",
			"30 transmit: idle to initialize, link down",
		}},
	} {
		before := r.a.transitions
		step.do()
		r.run(step.until * second)
		var got []string
		for _, x := range r.a.Transitions() {
			if x.number > before {
				got = append(got, fmt.Sprintf("%d %s: %s to %s, %s", x.At/second, x.Machine, x.From, x.To, x.Cause))
			}
		}
		assert.Same(t, got, step.want, "%s", step.name)
	}
}

// A peer that sends all the time neither makes the log of transitions grow nor hides the other machines' transitions.
func TestTransitionsAreBounded(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	frame := announcement(spine, 9)
	r.receive(frame)
	for range 1000 {
		r.receive(frame)
	}
	of := map[string]int{}
	for _, x := range r.a.Transitions() {
		of[x.Machine]++
	}
	assert.True(t, of["receive"] == TransitionsKept && of["timer"] == 8 && of["transmit"] == 5, "kept %v", of)
	assert.True(t, r.a.Transitions()[0].Machine != "receive", "the oldest one is of the peer that talks")
}
