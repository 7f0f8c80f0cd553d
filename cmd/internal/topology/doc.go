// Package topology brings labs up that outlive the command that made them, and takes them down again.
//
//	Up ──▶ Hold (a process of its own: the keeper) ──▶ config.LoadTopology, lab.New, nodes, links, switches
//	Down ──▶ the keeper ends, and all that it made with it
//
//	up.go     starts the keeper, and tells how to get into the lab
//	hold.go   the keeper: builds the lab, keeps it until it is told to end
//	build.go  nodes, links and switches of a topology
//	down.go   ends a lab, a killed one too
//	clean.go  removes what a killed one left
//	exec.go   a program inside a node
//	state.go  where a lab that is up is written down
//
// A lab is up as long as its keeper lives: the keeper holds the lock of the lab's state file and is the parent of its
// switches, which the kernel kills when it dies. So nothing has to be guessed: where the lock is free, what is left of
// a lab is a leftover.
package topology
