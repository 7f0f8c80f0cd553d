// Package acceptance has the tests of a whole switch on real links: hosts in network namespaces send frames through it,
// and judge what comes. They use the switch as a program does, by its exported names and its control socket.
//
//	rig.go      Rig: a switch and its hosts, each in its own network namespace
//	station.go  Station: a host that sends numbered frames, obeys pauses, and counts what comes
//	frames.go   frames of every kind
//	process.go  the switch as a process of its own
//
// Tests of package daemon that need its private names use the same rig.
package acceptance
