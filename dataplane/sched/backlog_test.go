package sched

import (
	"math"
	"testing"

	"pfcswitch/dataplane/assert"
)

// A receiver that takes 8 bits a microsecond is full from 128 KiB on, until 64 KiB are left.
func TestBacklog(t *testing.T) {
	var b Backlog
	b.Add(1<<30, 0)
	assert.True(t, !b.Full && b.FreeAt() == math.MaxInt64, "without a rate frames wait")
	b.Start(8_000_000, 1_000)
	b.Add(128<<10-1, 1_000)
	assert.True(t, !b.Full, "it is full one octet early")
	b.Add(2, 2_000)
	assert.True(t, b.Full, "it is not full after 1 µs, in which it took one octet of two more")
	free := int64(2_000 + 64<<10*1_000)
	assert.Equal(t, b.FreeAt(), free+1, "it is free again")
	b.Update(free - 1)
	assert.True(t, b.Full, "it is free early")
	b.Update(free + 1)
	assert.True(t, !b.Full && b.FreeAt() == math.MaxInt64, "it stays full")
	b.Update(hour)
	b.Add(128<<10, hour)
	assert.True(t, b.Full, "time without frames makes room for more")
	b.Start(0, hour)
	b.Update(hour)
	assert.True(t, !b.Full, "it is full though frames are taken as they come")
}
