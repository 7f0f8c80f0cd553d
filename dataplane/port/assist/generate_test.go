package assist

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"pfcswitch/dataplane/assert"
)

// The objects are of the source beside them. What the compiler makes of it, "scripts/test.sh generate" compares.
func TestObjectsAreOfTheSource(t *testing.T) {
	source := assert.Got(os.ReadFile("assist.bpf.c")).Must(t)
	recorded := assert.Got(os.ReadFile("program.sha256")).Must(t)
	if want, _, _ := strings.Cut(string(recorded), " "); fmt.Sprintf("%x", sha256.Sum256(source)) != want {
		t.Error("assist.bpf.c has changed since the objects were made: go generate ./dataplane/port/assist, and " +
			"commit what it writes")
	}
}

// A frame that nothing stands before costs one write to the stack in each program, of the number of the CPU: without
// CAP_PERFMON the kernel puts a fence behind each. Functions that are called are for other frames.
func TestFastPathStaysOffTheStack(t *testing.T) {
	for name, p := range assert.Got(loadProgram()).Must(t).Programs {
		writes := 0
		for _, i := range p.Instructions {
			if sub := i.Symbol(); sub != "" && sub != p.Name {
				break
			}
			if i.OpCode.Class().IsStore() && i.Dst == asm.R10 {
				writes++
			}
		}
		assert.Equal(t, writes, 1, "writes of %s to the stack", name)
	}
}
