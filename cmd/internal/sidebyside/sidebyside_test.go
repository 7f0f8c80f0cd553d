package sidebyside

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/dataplane/assert"
)

// Each task is done once, and no two with the same worker at a time.
func TestOn(t *testing.T) {
	for workers := 1; workers < 5; workers++ {
		for tasks := range 20 {
			done, busy := make([]atomic.Int64, tasks), make([]atomic.Bool, workers)
			On(workers)(tasks, func(worker, task int) {
				assert.True(t, !busy[worker].Swap(true), "worker %d does two tasks at a time", worker)
				done[task].Add(1)
				busy[worker].Store(false)
			})
			for i := range done {
				n := done[i].Load()
				assert.True(t, n == 1, "%d workers did task %d of %d %d times", workers, i, tasks, n)
			}
		}
	}
}

// A fabric that is large enough for many shards gives the same report with one CPU and with several.
func TestManyShardsSameReport(t *testing.T) {
	for _, spread := range []string{"number", "flow"} {
		t.Run(spread, func(t *testing.T) { sameReport(t, spread) })
	}
}

func sameReport(t *testing.T, spread string) {
	file := filepath.Join(t.TempDir(), "k8.yaml")
	err := os.WriteFile(file, []byte(`name: k8
fabric: {fat-tree: {k: 8}, links: {speed: 100G, cable: 100m}, switches: {preset: roce, watchdog: {action: drop}},
  spread: `+spread+`}
traffic:
  all: {permutation: on, priority: 3, octets: 1518, rate: 90G, duration: 10us}
  in: {incast: h1, priority: 3, octets: 1518, duration: 10us}
faults: {s: {slow: h1, rate: 10G, duration: 10us}}
`), 0o600)
	assert.Must(t, err)
	var reports []string
	for _, workers := range []int{1, 3} {
		calls := 0
		r, err := simulation.Run(t.Context(), file, simulation.Options{Seed: 1, Workers: workers,
			Together: func(tasks int, do func(worker, task int)) {
				calls++
				On(workers)(tasks, do)
			}})
		assert.True(t, calls != 0, "nothing ran side by side: the test proves nothing")
		assert.Must(t, err)
		text := assert.Got(json.Marshal(r)).Must(t)
		reports = append(reports, string(text))
	}
	assert.True(t, reports[0] == reports[1], "with one worker\n%s\nwith three\n%s", reports[0], reports[1])
}
