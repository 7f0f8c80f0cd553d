package config

import "testing"

// Loopback is this machine's own.
func TestReachable(t *testing.T) {
	for _, tt := range []struct {
		m    Metrics
		want bool
	}{
		{Metrics{Listen: "127.0.0.1:9808"}, false},
		{Metrics{Listen: "127.9.9.9:9808"}, false},
		{Metrics{Listen: "[::1]:9808"}, false},
		{Metrics{Listen: "localhost:9808"}, false},
		{Metrics{}, false},
		{Metrics{Listen: ":9808"}, true},
		{Metrics{Listen: "0.0.0.0:9808"}, true},
		{Metrics{Listen: "[::]:9808"}, true},
		{Metrics{Listen: "192.0.2.1:9808"}, true},
		{Metrics{Listen: "leaf1.example:9808"}, true},
	} {
		if got := tt.m.Reachable(); got != tt.want {
			t.Errorf("%+v: reachable %v, want %v", tt.m, got, tt.want)
		}
	}
	if listen := defaults().Metrics; listen.Reachable() {
		t.Errorf("others reach the default %s", listen.Listen)
	}
}
