package macctl

import "testing"

func TestReasonString(t *testing.T) {
	want := []string{"none", "truncated", "destination", "opcode", "disabled", "priority", "vector", "watchdog", "unknown"}
	for r, name := range want {
		if got := Reason(r).String(); got != name {
			t.Errorf("Reason(%d) = %q, want %q", r, got, name)
		}
	}
	if NumReasons != len(want)-1 {
		t.Errorf("NumReasons = %d, want %d", NumReasons, len(want)-1)
	}
}
