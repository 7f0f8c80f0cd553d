package port_test

import (
	"testing"

	"pfcswitch/dataplane/frame"
)

// The stamp of a frame lies between the call of SendStamped and its return. The frame arrives like any other.
func TestSendStamped(t *testing.T) {
	w := newWire(t)
	for seq := range 20 {
		// has no stamp to be mistaken for the next one's
		if err := w.port.SendControl(control(100+seq, 60)); err != nil {
			t.Fatal(err)
		}
		from := now()
		stamp, err := w.port.SendStamped(control(seq, 60))
		if err != nil || stamp < from || stamp > now() {
			t.Fatalf("frame %d: stamp %d, %v; want one from %d on", seq, stamp, err, from)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = w.port.SendStamped(stampedFrame) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

var stampedFrame = craft(nil, frame.TypeMACControl, 1, 60)
