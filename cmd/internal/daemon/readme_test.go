package daemon

import (
	"os"
	"strings"
	"testing"
)

// README names the keys that a running switch refuses to change, all of them and no others.
func TestReadmeNamesRefusedKeys(t *testing.T) {
	b, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(b), " are refused: they need a restart.")
	if !found {
		t.Fatal("README.md does not say which keys need a restart")
	}
	said := map[string]bool{}
	for i, part := range strings.Split(before[strings.LastIndex(before, ". ")+2:], "`") {
		if i%2 == 1 {
			said[part] = true
		}
	}
	for _, c := range bridgeChanges {
		if c.refused == "cannot change while the switch runs" {
			if !said[c.path] {
				t.Errorf("README.md does not say that %s is refused", c.path)
			}
			delete(said, c.path)
		}
	}
	for key := range said {
		t.Errorf("README.md says that %s is refused, and it is not", key)
	}
}
