package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/config"
)

// Every policy that a file may name has a threshold.
func TestThresholdsOfPolicies(t *testing.T) {
	config.NewSchema().Walk(func(path string, s *config.Schema) {
		if path != "buffer.policy" {
			return
		}
		for _, policy := range s.Enum {
			if thresholds[config.Policy(policy.(string))] == nil {
				t.Errorf("thresholds lacks %v", policy)
			}
		}
		if len(s.Enum) != len(thresholds) {
			t.Errorf("%d thresholds for the policies %v", len(thresholds), s.Enum)
		}
	})
}
