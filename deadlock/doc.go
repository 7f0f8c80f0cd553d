// Package deadlock finds egress queues that PFC or PAUSE has locked up for good: by a cycle of switches that wait for
// each other, or by a peer that never stops pausing. The package breaks the lock. It does no I/O and reads no clock:
// the caller gives the time, says when a queue is stuck, and carries out orders.
//
// Fast detection polls a queue every period while it holds frames and is paused. The queue is blocked when it still
// holds frames, has sent none since the last poll, and was paused for the whole time between, by the pause timers. N
// blocked polls in a row are a deadlock. Each condition prevents a false alarm: an idle queue holds nothing, a slow
// queue sends, and a peer that throttles by short pauses does not pause for the whole time.
//
// Counts, states and orders are kept per queue: a deadlock in one priority leaves the other seven watched and obeyed.
// The rules are those of hardware with PFC deadlock detection (detection period, count, recovery, threshold). SONiC's
// pfcwd has the same parts under the names detection time, restoration time and poll interval.
//
// A queue that is idle or flows costs nothing: polls are due only while a queue is suspected or a storm lasts.
package deadlock
