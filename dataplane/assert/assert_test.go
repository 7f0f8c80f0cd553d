package assert

import (
	"errors"
	"fmt"
	"testing"
)

// A recorder notes what a test would print, and whether it would go on.
type recorder struct{ said, ended string }

func (r *recorder) Helper()                           {}
func (r *recorder) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.ended += fmt.Sprintf(format, args...) }

func TestWhatIsSaid(t *testing.T) {
	tests := map[string]struct {
		check func(tb TB)
		want  recorder
	}{
		"equal": {func(tb TB) { Equal(tb, 1, 1, "frames") }, recorder{}},
		"not equal": {func(tb TB) { Equal(tb, 1, 2, "frames of %q", "p1") },
			recorder{said: "frames of \"p1\"\n got 1\nwant 2"}},
		"texts": {func(tb TB) { Equal(tb, "", "100 %", "note") }, recorder{said: "note\n got \"\"\nwant \"100 %\""}},
		"texts of many lines": {func(tb TB) { Equal(tb, "a\nb", "a", "table") },
			recorder{said: "table\n got \na\nb\nwant \na"}},
		"must be equal": {func(tb TB) { MustEqual(tb, true, true, "up") }, recorder{}},
		"must be equal, and is not": {func(tb TB) { MustEqual(tb, false, true, "up") },
			recorder{ended: "up\n got false\nwant true"}},
		"it holds":         {func(tb TB) { True(tb, true, "%d frames", 3) }, recorder{}},
		"it does not hold": {func(tb TB) { True(tb, false, "%d frames", 3) }, recorder{said: "3 frames"}},
		"it has to hold":   {func(tb TB) { MustBeTrue(tb, true, "%d frames", 3) }, recorder{}},
		"it has to hold, and does not": {func(tb TB) { MustBeTrue(tb, false, "%d frames", 3) },
			recorder{ended: "3 frames"}},
		"the same": {func(tb TB) { Same(tb, nil, []int{}, "order") }, recorder{}},
		"not the same": {func(tb TB) { Same(tb, []string{"a"}, nil, "order") },
			recorder{said: "order\n got [\"a\"]\nwant []"}},
		"must be the same": {func(tb TB) { MustBeSame(tb, []int{1, 2}, []int{1, 2}, "order") }, recorder{}},
		"must be the same, and is not": {func(tb TB) { MustBeSame(tb, []byte{1, 0xab}, []byte{2}, "frame") },
			recorder{ended: "frame\n got 01ab\nwant 02"}},
		"a part": {func(tb TB) { Contains(tb, "p1: up", "up", "state") }, recorder{}},
		"no part": {func(tb TB) { Contains(tb, "p1: up", "down", "state") },
			recorder{said: "state\n got p1: up\nwant \"down\" in it"}},
		"it fails": {func(tb TB) { Fails(tb, errors.New("no p9"), "p9", "port") }, recorder{}},
		"otherwise": {func(tb TB) { Fails(tb, errors.New("no p9"), "p1", "port") },
			recorder{said: "port\n got no p9\nwant \"p1\" in it"}},
		"not at all": {func(tb TB) { Fails(tb, nil, "p9", "port") },
			recorder{said: "port\n got <nil>\nwant \"p9\" in it"}},
		"no error":           {func(tb TB) { Must(tb, nil) }, recorder{}},
		"no error, in words": {func(tb TB) { NoError(tb, nil, "open %s", "p1") }, recorder{}},
		"an error, in words": {func(tb TB) { NoError(tb, errors.New("no p1"), "open %s", "p1") },
			recorder{said: "open p1: no p1"}},
		"an error that ends": {func(tb TB) { MustNoError(tb, errors.New("no p1"), "open %s", "p1") },
			recorder{ended: "open p1: no p1"}},
		"no error that ends": {func(tb TB) { MustNoError(tb, nil, "open %s", "p1") }, recorder{}},
		"priorities": {func(tb TB) { Equal(tb, uint8(3), 0, "held") },
			recorder{said: "held\n got 3 (00000011)\nwant 0 (00000000)"}},
		"an error":              {func(tb TB) { Must(tb, errors.New("100 %d")) }, recorder{ended: "100 %d"}},
		"a value":               {func(tb TB) { Equal(tb, Got(7, nil).Must(tb), 7, "value") }, recorder{}},
		"a value with an error": {func(tb TB) { Got(7, errors.New("no p1")).Must(tb) }, recorder{ended: "no p1"}},
	}
	for name, tt := range tests {
		var got recorder
		if tt.check(&got); got != tt.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, tt.want)
		}
	}
}

// Tests compare millions of values, in loops that must not allocate.
func TestNoAllocationWhereEqual(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Equal(t, 1, 1, "frames") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
