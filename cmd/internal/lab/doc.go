// Package lab builds small networks inside one machine, for demos and tests: network namespaces, veth links between
// them and processes in them, for root and for ordinary users alike, without any program but the project's own.
//
//	Enter ──▶ New ──▶ Lab.Node ──▶ Lab.Link ──▶ Node.Start ──▶ Lab.Close
//
//	enter.go      the rights of a lab, as root or in a user namespace; Detach starts a process that outlives this one
//	lab.go        the lab as a whole
//	leftovers.go  what labs of dead processes left behind
//	node.go       a network namespace, Do
//	link.go       interfaces: veth pairs, addresses, counters, carrier
//	tunnel.go     VXLAN tunnels to nodes of other machines
//	process.go    programs inside a node, the thread that forks them
//	cpu.go        how long their threads waited for a CPU, and the use of the machine's CPUs
//	labtest/      the same for Go tests
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
// When the process dies of SIGKILL or of a panic in another goroutine, the kernel kills its children: each of them has
// asked for SIGKILL on its parent's death. In a user namespace the kernel then removes the namespaces and links. Root's
// namespaces have names, which the next New removes: a live lab holds a file lock, a dead one does not. Only a
// grandchild that outlives its parent stays.
//
// # Threads
//
// A network namespace belongs to a thread, and so does the death signal of a parent. Each lab therefore owns one
// thread, which forks all its processes, each in the namespace of its node. Do uses a new thread for each call.
package lab
