package demo

import (
	"context"
	"slices"
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// The report has the load's time, which is longer than the user's where notifications are seldom. Each of the two
// phases leaves results though its ends have sent nothing.
func TestCongestionSeconds(t *testing.T) {
	labtest.Require(t)
	r := assert.Got(DCQCN(context.Background(), Options{Seconds: 0.1, Speed: 100_000_000})).Must(t)
	assert.True(t, r.Seconds == 0.4 && len(r.Congestion) == 2, "a load of %v s, and %+v", r.Seconds, r.Congestion)
}

// Only the senders and the receiver of the second phase know DCQCN.
func TestCongestionEnds(t *testing.T) {
	labtest.Require(t)
	for _, p := range congestionPhases(short) {
		assert.Must(t, p.open(context.Background(), "dcqcn."+p.name))
		for _, e := range p.endpoints() {
			assert.True(t, slices.Contains(e.args(), "dcqcn") == (p.name == "b"), "phase %s, %s: %q", p.name, e.name,
				e.args())
		}
		assert.Must(t, p.close())
	}
}
