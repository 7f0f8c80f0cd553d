package paper

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// At a load of 90 % a switch uses a quarter of its headroom at most for 99 % of the time, and some at times: else the
// load would prove nothing.
func TestHeadroomUse(t *testing.T) {
	t.Parallel()
	u := assert.Got(useOf(t.Context(), 1, 0.9)).Must(t)
	if used := u.at(0.99); used > usePaper || u.at(1) == 0 || u.xoffs == 0 || u.lost {
		t.Errorf("%.3f of the headroom is used for 99 %% of the time, want %v at most; %.3f at most, want more than "+
			"0; %d XOFFs; lost: %v", used, usePaper, u.at(1), u.xoffs, u.lost)
	}
}
