package config

import "testing"

// Loopback is this machine's own; whoever may be asked for a password is none of the warning's business.
func TestExposed(t *testing.T) {
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
		{Metrics{Listen: "192.0.2.1:9808", WebConfig: "/etc/web.yml"}, false},
	} {
		if got := tt.m.Exposed(); got != tt.want {
			t.Errorf("%+v: exposed %v, want %v", tt.m, got, tt.want)
		}
	}
	if listen := defaults().Metrics; listen.Exposed() {
		t.Errorf("the default %s is exposed", listen.Listen)
	}
}
