package daemon

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
)

// What only a restart can change is refused with the value of before, whatever that is, and what to restart.
func TestOnlyARestartChanges(t *testing.T) {
	parse := func(metrics string) *config.Config {
		c, _, err := config.Parse("x.yaml", []byte("preset: roce\nports: {p1: {speed: 1G}}\nmetrics: {"+metrics+"}\n"))
		must(t, err)
		return c
	}
	const key, hosts = "web_config: /etc/web.yml", "hosts: [leaf1.example, leaf2.example]"
	for _, tt := range []struct{ old, new, want string }{
		{"", key, "metrics.web_config: /etc/web.yml: cannot change while the switch runs (it is off): restart the switch, or keep the value"},
		{key, "", "metrics.web_config: off: cannot change while the switch runs (it is /etc/web.yml): restart the switch, or keep the value"},
		{"", hosts, "metrics.hosts: [leaf1.example leaf2.example]: cannot change while the switch runs (it is []): restart the switch, or keep the value"},
		{hosts, "", "metrics.hosts: []: cannot change while the switch runs (it is [leaf1.example leaf2.example]): restart the switch, or keep the value"},
		{"listen: off", "listen: '127.0.0.1:1'", "metrics.listen: 127.0.0.1:1: cannot change while the switch runs (it is off): restart the switch, or keep the value"},
		{"listen: '127.0.0.1:1'", "listen: off", "metrics.listen: off: cannot change while the switch runs (it is 127.0.0.1:1): restart the switch, or keep the value"},
		{hosts, hosts, ""},
	} {
		err := (&Daemon{cfg: parse(tt.old)}).checkRestartKeys(parse(tt.new))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want)) {
			t.Errorf("{%s} to {%s}: %v\nwant %q", tt.old, tt.new, err, tt.want)
		}
	}
}
