package buffer

import "errors"

// QueueID names an ingress queue.
type QueueID struct {
	Port  int
	Queue uint8 // the priority; 0 on a port with ModePause
}

// A Threshold is the policy that says how much of the lossless pool's shared segment a queue may hold. Every arrival
// that needs the shared segment calls Limit, which must not allocate.
type Threshold interface {
	// Limit returns T in bytes, never negative, for a queue while free bytes of the shared segment are unused.
	// T must not fall when free rises: a frame that fits now has to fit into an emptier buffer.
	Limit(id QueueID, c QueueConfig, free int64) int64
	// Check returns what c lacks for this policy, with the remedy.
	Check(c QueueConfig) error
}

// DynamicThreshold is T = α·free: the fuller the segment, the less each queue may hold. A queue alone stops at
// α/(1+α) of the segment, the rest stays free for newcomers.
//
// α is a float64. Free is below 2^40, so the product is exact for every α of up to 13 significant bits, among them all
// powers of two. IEEE 754 rounding and truncation are monotone, so T is too.
type DynamicThreshold struct{}

// Limit implements Threshold.
func (DynamicThreshold) Limit(_ QueueID, c QueueConfig, free int64) int64 {
	return dynamicLimit(c.Alpha, free)
}

// Check implements Threshold.
func (DynamicThreshold) Check(QueueConfig) error { return nil }

func dynamicLimit(alpha float64, free int64) int64 { return int64(alpha * float64(max(free, 0))) }

// StaticThreshold is T = xoff, however full the segment is. The sum of all xoff may exceed the segment, since admission
// checks the free bytes as well.
type StaticThreshold struct{}

// Limit implements Threshold.
func (StaticThreshold) Limit(_ QueueID, c QueueConfig, _ int64) int64 { return c.Xoff }

// Check implements Threshold.
func (StaticThreshold) Check(c QueueConfig) error {
	if c.Xoff <= 0 {
		return errors.New("policy static needs xoff: set xoff, or policy: dt")
	}
	return nil
}
