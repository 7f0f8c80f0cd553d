package main

import (
	"pfcswitch/dataplane/assert"
	"testing"
	"time"
)

// Flows and intervals of the command line are refused, or in their ranges.
func FuzzFlags(f *testing.F) {
	for _, text := range []string{"3", "0:octets=128,rate=10M", "7:weight=2,every=9,large=1514", "500ms", "1.5", "NaN",
		"-Inf", "3:rate"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		flows, err := parseFlows([]string{text})
		assert.True(t, err != nil || (len(flows) == 1 && flows[0].Priority <= 7 && flows[0].Rate >= 0),
			"%q: %+v", text, flows)
		d, err := parseInterval(text)
		assert.True(t, err != nil || (d >= 100*time.Millisecond && d <= 24*time.Hour), "%q: %v", text, d)
	})
}
