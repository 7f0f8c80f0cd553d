package daemon

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/deadlock"
)

// A second notification says whether anything has changed: under alert it comes though the queue is as stuck as before.
func TestTextOfRecovery(t *testing.T) {
	for _, tt := range []struct {
		event deadlock.Event
		want  string
	}{
		{deadlock.Event{Action: deadlock.Alert, Held: 66}, "still blocked after 200ms: XOFF was obeyed throughout, no frame was sent and 66 wait"},
		{deadlock.Event{Action: deadlock.Alert, Held: 66, Sent: 1}, "detection started again after 200ms"},
		{deadlock.Event{Action: deadlock.Alert}, "detection started again after 200ms"},
		{deadlock.Event{Action: deadlock.Forward, Held: 66}, "detection started again after 200ms"},
		{deadlock.Event{Action: deadlock.Drop, Dropped: 7}, "meanwhile 0 frames were sent and 7 dropped"},
	} {
		tt.event.Kind, tt.event.Lasted, tt.event.Reason = deadlock.Recovered, 200*time.Millisecond, "the recovery time is over"
		if got := describe(&tt.event); !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.event, got, tt.want)
		}
	}
}
