package paper

import (
	"math"
	"pfcswitch/dataplane/assert"
	"testing"
)

// Each queue holds αB/(1+Nα) and leaves B/(1+Nα) free. Where a frame did not fit, a queue lacks less than that frame.
// One that leaves then raises the threshold by α frames and shortens the queue by another: 2+α frames. Of what all
// queues lack, each may take α again: 1+2/α frames stay free.
func TestDynamicThreshold(t *testing.T) {
	t.Parallel()
	const frame = 6 * 256
	for _, alpha := range []float64{0.5, 2} {
		rows, _, err := dtRun(t.Context(), 1, alpha)
		assert.Must(t, err)
		for i := range rows {
			r := &rows[i]
			length, free := r.wants()
			assert.True(t, (math.Abs(r.length-length) <= (2+alpha)*frame && math.Abs(r.free-free) <= (1+2/alpha)*frame),
				"α %v, %d queues: %.0f each, the paper says %.0f; free %.0f, the paper says %.0f", alpha, r.queues,
				r.length, length, r.free, free)
		}
	}
}
