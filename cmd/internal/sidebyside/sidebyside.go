// Package sidebyside does the tasks of a state machine, which has no goroutines of its own, on several CPUs.
package sidebyside

import (
	"sync"
	"sync/atomic"
)

// On returns what does each of so many tasks once, on so many goroutines. Each begins with its own part of the tasks,
// the same each time, and then helps the others. No two tasks with the same worker, a number from 0 on, run at a time.
func On(workers int) func(tasks int, do func(worker, task int)) {
	return func(tasks int, do func(worker, task int)) {
		begun := make([]atomic.Int64, workers) // tasks of each part
		part := (tasks + workers - 1) / workers
		var all sync.WaitGroup
		for worker := range workers {
			all.Go(func() {
				for k := range workers {
					of := (worker + k) % workers
					for {
						i := int(begun[of].Add(1)) - 1
						if i >= part || of*part+i >= tasks {
							break
						}
						do(worker, of*part+i)
					}
				}
			})
		}
		all.Wait()
	}
}
