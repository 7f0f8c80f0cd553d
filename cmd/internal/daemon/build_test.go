package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
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
