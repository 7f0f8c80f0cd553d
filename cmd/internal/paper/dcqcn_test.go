package paper

import (
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
)

// PFC alone gives the near sender as much as the three far ones together; DCQCN gives all the same within a quarter and
// hardly pauses; without PFC frames are lost.
func TestCongestionControl(t *testing.T) {
	t.Parallel()
	found := map[controlCase]*controlled{}
	for _, c := range controlCases {
		f := assert.Got(c.run(t.Context(), 1)).Must(t)
		if found[c] = f; c.pfc == (f.lost > 0) || !c.pfc && f.xoffs > 0 {
			t.Errorf("%v: %d of %d lost, %d XOFFs", c, f.lost, f.sent, f.xoffs)
		}
	}
	alone, both := found[controlCase{pfc: true}], found[controlCase{true, true}]
	r := alone.near / alone.far
	assert.True(t, r >= 2.9 && r <= 3.1, "PFC alone: the near sender gets %.2f of a far one's rate", r)
	if r := both.near / both.far; r < 0.75 || r > 1.25 || 100*both.xoffs > alone.xoffs || 10*both.p50 > alone.p50 {
		t.Errorf("with DCQCN the near sender gets %.2f of a far one's rate; %d XOFFs, alone %d; median %v, alone %v", r,
			both.xoffs, alone.xoffs, both.p50, alone.p50)
	}
	if cc := found[controlCase{dcqcn: true}]; 10*cc.lost > found[controlCase{}].lost {
		t.Errorf("DCQCN alone loses %d, neither %d", cc.lost, found[controlCase{}].lost)
	}
}

// What waits in a switch is what all segments of both pools hold.
func TestWaiting(t *testing.T) {
	var b buffer.Snapshot
	for i, l := range []*buffer.Level{&b.Lossless.Used.Private, &b.Lossless.Used.Shared, &b.Lossless.Used.Headroom,
		&b.Lossy.Used.Shared} {
		l.Now = 1000 << i
	}
	got := waiting(&b)
	assert.True(t, got == 15, "%v kB wait, want 15", got)
}
