// Package deadlock finds egress queues that PFC or PAUSE has locked up for good, by a cycle of switches that wait for each
// other or by a peer that never stops pausing, and breaks the lock. It does no I/O and reads no clock: the caller says what
// time it is and when a queue got stuck, and passes on what is ordered. A queue meets the files in this order:
//
//	config.go    what is watched, how often, and what is done
//	switch.go    what the watchdog sees of the switch, and what it orders there
//	watchdog.go  Watchdog: ports that come, go and change; looks that are due
//	look.go      one queue: is it blocked? from the first suspicion to detection
//	storm.go     from detection to recovery
//	slow.go      a deadlock that keeps coming back
//	event.go     every transition, with its reason
//	status.go    everything there is to see
//
// Fast detection: a queue that holds frames and is paused is looked at every period. It is blocked when it still holds
// frames, has sent none since the last look, and was paused for the whole time between, as the pause timers count it. N
// blocked looks in a row are a deadlock. Each of the three conditions spares the innocent: an idle queue holds nothing, a
// queue that trickles sends, a peer that throttles by short pauses does not pause for the whole time.
//
// Counts, states and orders are kept per queue: a deadlock in one priority leaves the other seven watched and obeyed. The
// rules are those of hardware with PFC deadlock detection (detection period, count, recovery, threshold); the SONiC
// project's pfcwd has the same parts under the names detection time, restoration time and poll interval.
//
// A queue that is idle or flows costs nothing: looks are due only while a queue is suspected or a storm lasts.
package deadlock
