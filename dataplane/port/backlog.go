package port

import (
	"bytes"
	"os"
	"strconv"
)

// BacklogDrops adds up column 2 of a file such as /proc/net/softnet_stat: frames that the kernel dropped on any CPU before a
// socket saw them, since the machine started. It is 0 where the file cannot be read.
func BacklogDrops(softnetStat string) (dropped uint64) {
	b, err := os.ReadFile(softnetStat)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) > 1 {
			if n, err := strconv.ParseUint(string(f[1]), 16, 64); err == nil {
				dropped += n
			}
		}
	}
	return dropped
}
