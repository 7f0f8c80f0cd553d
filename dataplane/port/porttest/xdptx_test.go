package porttest

import (
	"testing"

	"pfcswitch/dataplane/port"
)

// A verdict is a test that only notes how it ends.
type verdict struct {
	testing.TB
	skipped, failed bool
}

func (v *verdict) Helper()               {}
func (v *verdict) Skipf(string, ...any)  { v.skipped = true }
func (v *verdict) Fatalf(string, ...any) { v.failed = true }

// An old kernel is an excuse even where namespaces are required; anything else is none there.
func TestRequireExpress(t *testing.T) {
	const old = "setsockopt XDP_MAX_TX_SKB_BUDGET: protocol not available (needs " + port.XDPNeeds + ")"
	for _, tt := range []struct {
		require         string
		way             port.TxPath
		skipped, failed bool
	}{
		{"1", port.TxPath{XDP: true}, false, false},
		{"1", port.TxPath{Why: old}, true, false},
		{"1", port.TxPath{Why: "the configuration says so"}, false, true},
		{"", port.TxPath{XDP: true}, false, false},
		{"", port.TxPath{Why: old}, true, false},
		{"", port.TxPath{Why: "the configuration says so"}, true, false},
	} {
		t.Setenv("REQUIRE_NETNS", tt.require)
		v := &verdict{}
		if RequireXDP(v, tt.way); v.skipped != tt.skipped || v.failed != tt.failed {
			t.Errorf("%+v: skipped %v, failed %v", tt, v.skipped, v.failed)
		}
	}
}
