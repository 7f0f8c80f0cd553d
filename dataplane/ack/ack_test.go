package ack

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// A window closes with its last frame, opens with an acknowledgement, and never closes by an older one.
func TestWindow(t *testing.T) {
	s := Sender{Window: 3}
	open := func(sent uint64, want bool) {
		t.Helper()
		assert.Equal(t, s.Open(sent), want, "after %d frames", sent)
	}
	open(2, true)
	open(3, false)
	s.Acknowledged(2)
	s.Acknowledged(1)
	open(4, true)
	open(5, false)
	s = Sender{}
	open(1<<40, true)
}

// One acknowledgement is queued for all frames that come before it leaves.
func TestOneAcknowledgementForAll(t *testing.T) {
	var r Receiver
	first, second := r.Came(), r.Came()
	r.Leaves()
	assert.True(t, first && !second && r.Came(), "queued: %v, then %v", first, second)
}
