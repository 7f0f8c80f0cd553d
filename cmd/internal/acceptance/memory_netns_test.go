package acceptance

import (
	"fmt"
	"os"
	"pfcswitch/dataplane/assert"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// An idle switch of four slow ports, whose peers a program in the kernel holds, takes little memory for receive rings
// and keeps few threads: README of dataplane/port, Measured.
func TestIdleSwitchIsSmall(t *testing.T) {
	needAssist(t)
	r := NewRig(t, 4)
	p := r.StartProcess(Setup{Keys: Lossless3, Each: "speed: 100M"})
	n := ringOctets(t, p.Pid())
	assert.True(t, n >= 256<<10 && n <= 1<<20, "rings of %d KiB, want 1 MiB at most", n>>10)
	eventually(t, "the threads of the start are gone", func() bool {
		all := assert.Got(os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Pid()))).Must(t)
		return len(all) <= 20
	})
	must(t, p.Stop(syscall.SIGTERM, Timeout))
}

// ringOctets adds up what a process has mapped of sockets.
func ringOctets(t *testing.T, pid int) (octets int64) {
	b := assert.Got(os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))).Must(t)
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "socket:[") {
			continue
		}
		from, to, _ := strings.Cut(strings.Fields(line)[0], "-")
		begin := assert.Got(strconv.ParseInt(from, 16, 64)).Must(t)
		end := assert.Got(strconv.ParseInt(to, 16, 64)).Must(t)
		octets += end - begin
	}
	return octets
}
