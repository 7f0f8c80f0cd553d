package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// Every policy that a file may name has a threshold.
func TestThresholdsOfPolicies(t *testing.T) {
	config.NewSchema().Walk(func(path string, s *config.Schema) {
		if path != "buffer.policy" {
			return
		}
		for _, policy := range s.Enum {
			assert.True(t, thresholds[config.Policy(policy.(string))] != nil, "thresholds lacks %v", policy)
		}
		assert.True(t, len(s.Enum) == len(thresholds), "%d thresholds for the policies %v", len(thresholds), s.Enum)
	})
}

// Frames come by a queue only before use, where a program holds the peer, and at a veth: a NIC may take a page of the
// queue for each, so that it holds fewer than rings would.
func TestWhereQueuesSuffice(t *testing.T) {
	cfg, _, err := config.Parse("test.yaml", []byte("ports: {p1: {speed: 1G}}"))
	assert.Must(t, err)
	for _, tt := range []struct {
		kind       string
		held, used bool
		want       bool
	}{
		{"veth", true, false, true}, {"veth", false, false, false}, {"veth", true, true, false},
		{"", true, false, false}, {"tuntap", true, false, false}, {"vxlan", true, false, false},
	} {
		at := place{link: port.Link{Kind: tt.kind}}
		got := ringSizes(cfg, &cfg.Ports[0], at, tt.held, tt.used).Queued
		assert.Equal(t, got, tt.want, "queues at an interface of kind %q, held %v, used %v", tt.kind, tt.held, tt.used)
	}
}
