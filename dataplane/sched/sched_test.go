package sched

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func weights(w map[int]int, strict ...int) [NumQueues]Queue {
	var q [NumQueues]Queue
	for i := range q {
		q[i].Weight = 1
	}
	for i, v := range w {
		q[i].Weight = v
	}
	for _, i := range strict {
		q[i].Strict = true
	}
	return q
}

// serve picks n times with all of ready always occupied and returns the octets that each queue sent.
func serve(c *Config, s *State, ready uint8, head [NumQueues]int64, n int) (sent [NumQueues]int64) {
	for range n {
		q := c.Pick(s, ready, ready, &head)
		sent[q] += head[q]
	}
	return sent
}

func TestStrictBeforeWeighted(t *testing.T) {
	c := NewConfig(weights(map[int]int{0: 50, 3: 50}, 6, 7), 1538)
	head := [NumQueues]int64{1538, 0, 0, 1538, 0, 0, 84, 84}
	for _, tt := range []struct {
		ready uint8
		want  int
	}{
		{0b1100_1001, 7}, {0b0100_1001, 6}, {0b0000_1000, 3}, {0b0000_0001, 0}, {0, -1},
	} {
		var s State
		assert.Equal(t, c.Pick(&s, tt.ready, tt.ready, &head), tt.want, "Pick(ready %08b)", tt.ready)
	}
}

func TestEqualWeightsAlternate(t *testing.T) {
	c := NewConfig(weights(map[int]int{0: 50, 3: 50}), 1538)
	head := [NumQueues]int64{1538, 0, 0, 1538}
	var s State
	var got []int
	for range 6 {
		got = append(got, c.Pick(&s, 0b1001, 0b1001, &head))
	}
	for i := 1; i < len(got); i++ {
		assert.MustBeTrue(t, got[i] != got[i-1], "picks %v, want queues 0 and 3 in turn", got)
	}
}

func TestSharesFollowWeights(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    map[int]int
		head [NumQueues]int64
	}{
		{"three to one", map[int]int{1: 3, 2: 1}, [NumQueues]int64{0, 1538, 1538}},
		{"long against short frames", map[int]int{1: 1, 2: 1}, [NumQueues]int64{0, 1538, 84}},
		{"fifty to one", map[int]int{1: 50, 2: 1}, [NumQueues]int64{0, 1538, 1538}},
		{"three queues", map[int]int{1: 5, 2: 3, 4: 2}, [NumQueues]int64{0, 500, 1538, 0, 84}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewConfig(weights(tt.w), 1538)
			ready, total := uint8(0), 0
			for q, w := range tt.w {
				ready |= 1 << q
				total += w
			}
			var s State
			sent := serve(&c, &s, ready, tt.head, 50000)
			var sum int64
			for _, n := range sent {
				sum += n
			}
			for q, w := range tt.w {
				want := float64(w) / float64(total)
				got := float64(sent[q]) / float64(sum)
				assert.True(t, got >= want-0.002 && got <= want+0.002,
					"queue %d has %.4f of the octets, want %.4f", q, got, want)
			}
		})
	}
}

// A queue that was empty starts without credit, and a paused queue keeps its credit.
func TestIdleQueueEarnsNothing(t *testing.T) {
	c := NewConfig(weights(map[int]int{1: 1, 2: 1}), 1538)
	head := [NumQueues]int64{0, 1000, 1000}
	var s State
	serve(&c, &s, 0b010, head, 1000)
	sent := serve(&c, &s, 0b110, head, 20)
	d := sent[1] - sent[2]
	assert.True(t, d >= -2000 && d <= 2000,
		"after an idle time queue 1 sent %d octets and queue 2 %d, want equal within two frames", sent[1], sent[2])
}

// Over any backlogged interval the shares of two queues differ from their weights by at most one round and one frame
// (Shreedhar & Varghese 1995, deficit round robin).
func TestFairnessBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := [2]int{rapid.IntRange(1, 100).Draw(t, "w1"), rapid.IntRange(1, 100).Draw(t, "w2")}
		c := NewConfig(weights(map[int]int{1: w[0], 2: w[1]}), 1538)
		var s State
		var sent [NumQueues]int64
		for range rapid.IntRange(1, 2000).Draw(t, "frames") {
			head := [NumQueues]int64{0, rapid.Int64Range(84, 1538).Draw(t, "h1"),
				rapid.Int64Range(84, 1538).Draw(t, "h2")}
			q := c.Pick(&s, 0b110, 0b110, &head)
			sent[q] += head[q]
		}
		a, b := float64(sent[1])/float64(w[0]), float64(sent[2])/float64(w[1])
		light := float64(min(w[0], w[1]))
		bound := (2*1538 + 1538) / light * 1.01
		if d := a - b; d > bound || d < -bound {
			t.Fatalf("normalized service %.1f and %.1f differ by more than %.1f", a, b, bound)
		}
	})
}

// A queue that has been empty begins anew: what a round has left it is gone, that of the others is not.
func TestEmptyQueueLosesItsDeficit(t *testing.T) {
	c := NewConfig(weights(nil), 1538)
	head := [NumQueues]int64{1538, 100, 0, 100}
	var s State
	c.Pick(&s, 0b1011, 0b1011, &head)
	c.Pick(&s, 0b1011, 0b1011, &head)
	left := s.deficit[1]
	assert.Equal(t, c.Pick(&s, 0b0011, 0b0001, &head), 0, "the ready queue")
	assert.True(t, s.deficit[3] == 0 && s.deficit[1] == left && left != 0,
		"deficits %v, want 0 for queue 3, and %d for queue 1", s.deficit, left)
}

func TestPickDoesNotAllocate(t *testing.T) {
	c := NewConfig(weights(map[int]int{0: 50, 3: 1}), 1538)
	head := [NumQueues]int64{1538, 0, 0, 1538}
	var s State
	assert.Equal(t, testing.AllocsPerRun(100, func() { c.Pick(&s, 0b1001, 0b1001, &head) }), 0, "allocations of Pick")
}

func BenchmarkPick(b *testing.B) {
	c := NewConfig(weights(map[int]int{0: 50, 3: 50}), 1538)
	head := [NumQueues]int64{1538, 0, 0, 1538}
	var s State
	b.ReportAllocs()
	for b.Loop() {
		c.Pick(&s, 0b1001, 0b1001, &head)
	}
}
