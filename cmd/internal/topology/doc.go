// Package topology brings labs up that outlive the command that made them, and takes them down again.
//
//	Up ──▶ Hold (a process of its own: the keeper) ──▶ load, lab.New, nodes, links, switches
//	Down ──▶ the keeper ends, and all that it made with it
//
//	up.go       starts the keeper and prints how to enter the lab
//	hold.go     the keeper: builds the lab and keeps it until a signal comes
//	build.go    nodes, links and switches of a topology
//	part.go     one machine's part of a lab, and its tunnels to the others
//	down.go     ends a lab, and removes what a killed keeper left
//	exec.go     a program inside a node
//	restart.go  one switch, started again
//	revive.go   what the keeper does for a switch whose process has ended
//	use.go      a lab for a run: one that is up, or one of its own
//	state.go    the state file of a lab
//	list.go     all labs of this user
//
// A lab is up as long as its keeper lives. The keeper holds the lock of the lab's state file and is the parent of its
// switches, which the kernel kills when the keeper dies. Where the lock is free, everything of the lab is a leftover.
package topology
