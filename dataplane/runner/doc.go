// Package runner puts a dataplane.Switch on real ports: it owns the goroutines, the lock, the clock and the waiting.
//
//	run.go         Runner: stopping the workers for a change, and changing what they run
//	attach.go      ports get their sockets and their workers
//	task.go        the receive and transmit task of one port
//	worker.go      a worker's round, spinning and sleeping
//	receive.go     the receive task of a port
//	turns.go       which members of a trunk have frames in their rings
//	transmit.go    the transmit task of a port
//	police.go      how many MAC Control frames of a port are obeyed one by one
//	mtu.go         frames that are longer than the interface takes now
//	refresh.go     what is held, and sent again, at a port whose worker gets no CPU
//	refresher.go   the threads that do that
//	standstill.go  whether such a worker hangs, or only gets no CPU
//	delay.go       the delay line of a port
//	giveup.go      frames that the kernel or the link never takes
//	contention.go  whether other threads wait for the CPU that a worker spins on
//	coalesce.go    waiting for more frames
//	moderate.go    interrupt moderation: rings that are not polled under load
//	tick.go        losses and stopped rings, ageing, the tx path: once a second, more rarely if no frame comes
//	change.go      changes of a running port, and what goes wrong after one
//	replace.go     other sockets for a port that stays up
//	enlarge.go     larger rings for a port that is in use
//	alive.go       whether the workers still work: when they looked at their ports
//	capture.go     what workers capture
//	assist.go      programs in the kernel: what they have done, and which frames may take the fast path
//	snapshot.go    one consistent picture of switch and ports
//
// Every port has a receive task and a transmit task. A worker is a goroutine that runs the tasks of its ports. No other
// goroutine touches their sockets, but for the Refresher, which may send XOFF and looks whether frames wait. A frame
// whose queue is empty and not paused is sent from its receive ring slot. A frame that must wait is copied into the
// packet memory, so that a paused priority never blocks a ring.
//
// One mutex (Runner.mu) guards the Switch. A worker copies and sends outside of it. A round that receives one burst
// for one port takes the mutex three times: to admit the frames and choose what leaves, after the send call, and to
// look which ports are due. The round reads the clock five times. TestLocksOfABurst counts. Between two ports, and
// between every few MAC Control frames of a port, it yields the mutex, because another worker may have XOFF to send.
package runner
