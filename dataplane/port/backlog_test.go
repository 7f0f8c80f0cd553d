package port

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBacklogDrops(t *testing.T) {
	file := filepath.Join(t.TempDir(), "softnet_stat")
	if got := BacklogDrops(file); got != 0 {
		t.Errorf("no file: %d", got)
	}
	if err := os.WriteFile(file, []byte("0000ffff 00000010 00000001\n00000001 00000002 0\nx\n1 zz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := BacklogDrops(file); got != 18 {
		t.Errorf("%d frames, want 18", got)
	}
}
