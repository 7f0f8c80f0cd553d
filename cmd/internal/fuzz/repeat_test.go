package fuzz

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane/assert"
)

// The target runs once on each input, then on mutations of all, which never reach back into the inputs.
func FuzzRepeat(f *testing.F) {
	f.Setenv("EXECUTIONS", "2000")
	f.Setenv("FUZZ_SECONDS", "1000")
	one, two := []byte("first"), bytes.Repeat([]byte("second"), 20)
	f.Add(one, "text", -1, uint8(1), false, int64(1))
	f.Add(two, "", 1<<40, uint8(255), true, int64(-1))
	executions, short, long, seen := 0, 0, 0, map[int]bool{}
	repeatFuzz(f, func(t *testing.T, b []byte, text string, n int, u uint8, yes bool, wide int64) {
		executions++
		if executions <= 2 {
			return
		}
		seen[n] = true
		switch {
		case bytes.HasPrefix(b, one):
			short++
		case bytes.HasPrefix(b, two):
			long++
		}
		assert.True(t, len(b) <= 8*64+len(two) && len(text) <= 8*64+len("text"), "%d octets and %d of text", len(b),
			len(text))
		clear(b) // a target may write to its argument
	})
	f.Cleanup(func() {
		assert.True(f, executions == 2002 && short >= 100 && long >= 100 && len(seen) >= 20,
			"%d executions, %d and %d of an input as it was, %d numbers", executions, short, long, len(seen))
	})
}
