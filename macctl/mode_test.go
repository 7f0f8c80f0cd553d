package macctl

import "testing"

func TestModeString(t *testing.T) {
	for m, name := range []string{"off", "pause", "pfc", "unknown"} {
		if got := Mode(m).String(); got != name {
			t.Errorf("Mode(%d) = %q, want %q", m, got, name)
		}
	}
}
