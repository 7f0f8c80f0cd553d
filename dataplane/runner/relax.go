//go:build amd64 || arm64

package runner

// relax tells the processor n times that this thread only waits: another one of its core gets what it does not take.
// n is at least 1.
//
//go:noescape
func relax(n uint32)
