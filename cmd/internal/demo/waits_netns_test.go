package demo

import (
	"context"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// What a process waited for a CPU before the load says nothing of the load.
func TestWaitsBeforeTheLoad(t *testing.T) {
	labtest.Require(t)
	l, err := lab.New(context.Background(), "waits")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	n, err := l.Node("n")
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.Start(lab.Command{Name: "n", Argv: []string{"sleep", "0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if share := (waits{p: 0}).most(time.Second); share <= 0 || share >= 1 {
		t.Errorf("share since the start of the process: %v, want more than 0 and less than 1", share)
	}
	if share := waitsOf([]*lab.Process{p}).most(time.Second); share != 0 {
		t.Errorf("share since its end: %v, want 0", share)
	}
}
