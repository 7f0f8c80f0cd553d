package traffic

import (
	"runtime"
	"sync"
)

var processors sync.Mutex // guards the change of GOMAXPROCS

// ownThread gives the calling goroutine a thread of its own, as the switch's workers have, and one more to GOMAXPROCS, which it may
// hold while it sleeps, until the returned function is called.
func ownThread() (giveBack func()) {
	runtime.LockOSThread()
	addProcessors(1)
	return func() {
		addProcessors(-1)
		runtime.UnlockOSThread()
	}
}

func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}
