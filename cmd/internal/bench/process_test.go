package bench

import (
	"strings"
	"testing"
)

// A program that has ended though it should be at work is told of, with what it said; one that works is not.
func TestAlive(t *testing.T) {
	b := &bench{ctx: t.Context(), work: t.TempDir()}
	p, err := b.start("", "sh", "-c", "echo no such address >&2; read line")
	if err != nil {
		t.Fatal(err)
	}
	q, err := b.start("", "sleep", "60")
	if err != nil {
		t.Fatal(err)
	}
	defer q.stop()
	if err := b.eventually("the first ends", patience, func() (bool, error) { return p.ended(), nil }); err != nil {
		t.Fatal(err)
	}
	if err := p.alive(); err == nil || !strings.Contains(err.Error(), "no such address") {
		t.Errorf("it ended: %v", err)
	}
	if err := q.alive(); err != nil {
		t.Errorf("it is at work: %v", err)
	}
}
