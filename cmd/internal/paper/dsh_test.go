package paper

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// With 16 senders DSH absorbs at least the paper's 4 times of what static headroom does, and no more than the shared
// segments allow: 13.5 of 2.6 MB.
func TestSharedHeadroom(t *testing.T) {
	t.Parallel()
	static := assert.Got(dshPublished.largest(t.Context(), 1, "dt", 16)).Must(t)
	dynamic := assert.Got(dshPublished.largest(t.Context(), 1, "dsh", 16)).Must(t)
	const reserved, eta = dshPorts * 7 * 3072, dshPorts * 56_840
	most := float64(dshBuffer-reserved-eta) / (dshBuffer - reserved - 7*eta)
	if times := float64(dynamic) / float64(static); times < dshPaper || times > most {
		t.Errorf("DSH absorbs %d octets, static headroom %d: %.2f times, want %v to %.2f", dynamic, static, times,
			dshPaper, most)
	}
}
