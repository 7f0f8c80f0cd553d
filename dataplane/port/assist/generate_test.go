package assist

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

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
