package linkcheck

import (
	"context"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// look is how long the link is waited for before it is seen whether that is to end.
const pollInterval = 100 * time.Millisecond

// Answer answers the other end until ctx ends, within an EchoResponder's bounds. It returns how many questions it has answered, and
// how many came too fast.
func Answer(ctx context.Context, format *macctl.MeasurementFormat, w Wire) (answered, refused uint64) {
	var e macctl.EchoResponder
	var b []byte
	for ctx.Err() == nil {
		h, ok := w.Receive(w.Now() + int64(pollInterval))
		if !ok || !format.RecognizesEcho(h.Data) {
			continue
		}
		f, reason := format.ParseEcho(h.Data, w.Address())
		if reason != macctl.ReasonNone {
			continue
		}
		e.HandleRequest(&f, h.PartialChecksum, h.Stamp, w.Now())
		if b, ok = e.Append(b[:0], format, w.Address(), w.Now()); ok {
			_, _, _ = w.Send(b, frame.VnetHeader{}) // one that the kernel does not take is asked for again
		}
	}
	return e.Answered, e.Refused
}
