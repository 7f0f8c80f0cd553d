// Package lab builds small networks inside one machine, for demos and tests: network namespaces,
// veth links between them and processes in them, for root and for ordinary users alike, without any
// program but the project's own.
//
//	Enter ──▶ New ──▶ Lab.Node ──▶ Lab.Link ──▶ Node.Start ──▶ Lab.Close
//
//	enter.go, forbidden.go   get the rights: as root directly, else in a user namespace of our own; Detach: for longer than we live
//	lab.go, leftovers.go     the lab as a whole; labs whose process died are cleared away by the next New
//	node.go, thread.go       a network namespace, the thread that lives in it, Do
//	link.go                  interfaces: veth pairs, addresses, counters, carrier
//	process.go, tail.go      programs inside a node
//	schedstat.go             how long their threads waited for a CPU
//	cputimes.go              what the machine's CPUs did meanwhile
//	labtest/                 the same for Go tests
//
// # Nothing stays behind
//
// A namespace is named pfcsw-PID-LAB-NODE, so that "ip netns" and nsenter find it. Close deletes all of
// them; so does the end of the context given to New, which is how signals are served:
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	l, err := lab.New(ctx, "demo")
//	...
//	defer l.Close()
//
// Where the process dies without a word (SIGKILL, a panic in another goroutine), its children die with it,
// because every one of them asks the kernel for SIGKILL on its parent's death. In a user namespace
// the kernel then removes all the rest; root's names are removed by the next New, which knows a dead lab by
// the file lock that a living one holds. A grandchild that outlives its parent is the one thing not covered.
//
// # Threads
//
// A network namespace belongs to a thread, and so does "my parent died". Each node therefore owns one thread
// that never leaves it and forks all its processes; Do uses a fresh thread for each call, which ends with it.
package lab
